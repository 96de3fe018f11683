"""Bits, thirty-two to a word: bit t of a row is (word[t // 32] >> (t mod 32)) & 1, words int32.

A data set of zeros and ones takes T/8 bytes a row, and reading one column touches one word a row.

>>> words = pack(torch.tensor([[1, 0, 1, 1]]))
>>> words
tensor([[13]], dtype=torch.int32)
>>> unpack(words, 4, torch.float32)
tensor([[1., 0., 1., 1.]])
>>> column(words[None], torch.tensor([2]))      # one trial, one row, bit 2
tensor([[1]], dtype=torch.int32)
"""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.core.errors import InputError


def width(T: int) -> int:
    """⌈T/32⌉, the words of a row."""
    return -(-T // 32)


def pack(bits: torch.Tensor) -> torch.Tensor:
    """Zeros and ones (…, T) as words (…, ⌈T/32⌉); unused high bits are zero."""
    if not bool(((bits == 0) | (bits == 1)).all()):
        raise InputError("bits", "zeros and ones", "other values")
    T = bits.shape[-1]
    full = torch.nn.functional.pad(bits.long(), (0, 32 * width(T) - T)).unflatten(-1, (-1, 32))
    # Bit 31 is the sign: its place value is −2^31.
    places = 2 ** torch.arange(32, device=bits.device)
    places[31] = -places[31]
    return (full * places).sum(-1).to(torch.int32)


def unpack(words: torch.Tensor, T: int, dtype: torch.dtype) -> torch.Tensor:
    """Words (…, ⌈T/32⌉) as zeros and ones (…, T)."""
    expect_width(words, T)
    shifts = torch.arange(32, dtype=torch.int32, device=words.device)
    return ((words.unsqueeze(-1) >> shifts) & 1).flatten(-2)[..., :T].to(dtype)


def column(words: torch.Tensor, t: torch.Tensor, cell: torch.Tensor | None = None) -> torch.Tensor:
    """Bit t[e] of every row of trial e, (E, N), int32 zeros and ones.

    ``words``: (E, N, W), or (C, N, W) shared, trial e reading the rows of ``cell[e]``.
    """
    if words.dtype != torch.int32 or words.ndim != 3:
        raise InputError("packed words", "int32 (E, N, W)", f"{words.dtype} {tuple(words.shape)}")
    if cell is None:
        if len(words) != len(t):
            raise InputError("packed words", f"those of {len(t)} trials", len(words))
        cell = torch.arange(len(t), device=words.device)
    return (words[cell, :, t // 32] >> (t % 32).to(torch.int32)[:, None]) & 1


def expect_width(words: torch.Tensor, T: int) -> None:
    """Refuse words that are not those of T bits a row."""
    if words.dtype != torch.int32 or words.shape[-1] != width(T):
        expected = f"int32 with {width(T)} words a row, for T = {T}"
        raise InputError("packed words", expected, f"{words.dtype} {tuple(words.shape)}")
