"""Random numbers that are a function of (key, stream, step, place) and of nothing else.

A trial has one 64-bit key; a draw is Philox-4x32-10 of a counter under that key, in integer
arithmetic: the same bits on every device, in every batch, for ever. Word i of a draw is output
i mod 4 of the counter (i // 4, 0, step, stream). What is built of the words (packed bits,
uniforms, normals, subsets, permutations) uses only operations that IEEE 754 rounds one by one
when torch runs them as written. The integers (words, bits, subsets) may also be drawn inside
``torch.compile``; normals may not, where a product and a sum may fuse into one rounding.

Salmon, Moraes, Dror, Shaw: *Parallel random numbers: as easy as 1, 2, 3*, SC 2011.

>>> keys = keys_tensor([key("and", 0, trial) for trial in range(2)])
>>> words(keys, Stream.INPUTS, step=0, count=3).shape
torch.Size([2, 3])
>>> subsets(keys, T=100, s=3)
tensor([[10, 12, 33],
        [21, 27, 88]])
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import IntEnum

from dudley.core.backend import torch
from dudley.core.canonical import canonical
from dudley.core.errors import InputError
from dudley.core.normal_quantile import normal_quantile

MASK = 0xFFFFFFFF
StepNumber = int | torch.Tensor  # a tensor of shape () or (E,)


class Stream(IntEnum):
    """What a draw is for. The numbers are part of every result: they never change."""

    INDICES = 1
    INPUTS = 2
    LABELS = 3
    WEIGHTS = 4
    ORDER = 5
    DROPOUT = 6
    HOLDOUT = 7
    VALIDATION = 8
    TEST = 9
    TOKENS = 10
    MONTE_CARLO = 11


def key(*parts: object) -> int:
    """The first 64 bits of the sha256 of the parts as canonical JSON.

    >>> hex(key("and", {"T": 100, "s": 3}, 17))
    '0xbd1f4d77b2ac9068'
    """
    text = canonical(parts, "parts of a key")
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def keys_tensor(keys: Sequence[int], device: torch.device | str | None = None) -> torch.Tensor:
    """Keys as an int64 tensor (E, 2): the low and the high 32 bits."""
    for k in keys:
        if not 0 <= k < 1 << 64:
            raise InputError("a key", "an integer in [0, 2^64)", k)
    pairs = [(k & MASK, k >> 32) for k in keys]
    return torch.tensor(pairs, dtype=torch.int64, device=device).reshape(-1, 2)


def philox(
    k0: torch.Tensor,
    k1: torch.Tensor,
    c0: torch.Tensor,
    c1: torch.Tensor,
    c2: torch.Tensor,
    c3: torch.Tensor,
    rounds: int = 10,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Four int64 tensors in [0, 2^32): Philox-4x32 of the counter c under the key k.

    Products of 32-bit words wrap modulo 2^64, as int64 does: both halves come out right.
    """
    for _ in range(rounds):
        first, second = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0 = ((second >> 32) & MASK) ^ c1 ^ k0
        c2 = ((first >> 32) & MASK) ^ c3 ^ k1
        c1, c3 = second & MASK, first & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def words(
    keys: torch.Tensor, stream: int, step: StepNumber, count: int, plane: int = 0
) -> torch.Tensor:
    """32-bit words (E, count), as int64. ``plane``: the counter's second word, for long draws."""
    if keys.ndim != 2 or keys.shape[1] != 2 or keys.dtype != torch.int64:
        raise InputError("keys", "int64 of shape (E, 2)", f"{keys.dtype} {tuple(keys.shape)}")
    if isinstance(step, int) and not 0 <= step <= MASK:
        raise InputError("step", "an integer in [0, 2^32)", step)
    if not 0 <= count <= 4 << 32:
        raise InputError("count", "an integer in [0, 2^34]", count)
    place = torch.arange(-(-count // 4), device=keys.device)
    # () or (E,) as (1, 1) or (E, 1), filled on the device: nothing is copied to it.
    steps = step if isinstance(step, torch.Tensor) else place.new_full((), step)
    zero = torch.zeros_like(place)
    four = philox(
        keys[:, :1], keys[:, 1:], place, zero + plane, steps.reshape(-1, 1) & MASK, zero + stream
    )
    return torch.stack(torch.broadcast_tensors(*four), -1).flatten(1)[:, :count]


def packed_bits(
    keys: torch.Tensor, stream: int, step: StepNumber, rows: int, T: int, p: float = 0.5
) -> torch.Tensor:
    """Independent bits that are 1 with probability p, packed: int32 (E, rows, ⌈T/32⌉).

    p is rounded to a multiple of 2^-32. A bit is the comparison of a uniform 32-bit number with
    p, made digit by digit on whole words: from p's last digit that is 1 to its first, the word
    of that digit is joined by *or* where the digit is 1 and by *and* where it is 0. So p = ½
    takes one word for 32 bits, p = ¼ two, and most p thirty-two.

    >>> packed_bits(keys_tensor([5]), Stream.INPUTS, 0, rows=2, T=40).shape
    torch.Size([1, 2, 2])
    """
    if not 0 <= p <= 1:
        raise InputError("p", "a probability", p)
    if rows < 1 or T < 1:
        raise InputError("rows and T", "at least 1", (rows, T))
    width, level = -(-T // 32), round(p * 2**32)
    used = torch.full((width,), MASK, device=keys.device)
    used[-1:].fill_((1 << (T - 32 * (width - 1))) - 1)
    bits = torch.zeros(len(keys), rows * width, dtype=torch.int64, device=keys.device)
    if level == 1 << 32:
        bits += MASK
    elif level:
        last = (level & -level).bit_length() - 1
        for digit in range(last, 32):
            fair = words(keys, stream, step, rows * width, plane=31 - digit)
            bits = bits | fair if level >> digit & 1 else bits & fair
    return as_int32(bits.reshape(len(keys), rows, width) & used)


def as_int32(word: torch.Tensor) -> torch.Tensor:
    """The same 32 bits, as the signed integers in which packed bits are kept."""
    return ((word ^ 0x80000000) - 0x80000000).to(torch.int32)


def uniform(keys: torch.Tensor, stream: int, step: StepNumber, count: int) -> torch.Tensor:
    """Uniforms (E, count), float64: the midpoints (w + ½)/2^32, exact and inside (0, 1)."""
    return (words(keys, stream, step, count).double() + 0.5) * 2.0**-32


def normal(keys: torch.Tensor, stream: int, step: StepNumber, count: int) -> torch.Tensor:
    """Standard normals (E, count), float32: quantiles of the midpoints, so within ±6.34."""
    return normal_quantile(words(keys, stream, step, count))


def below(keys: torch.Tensor, stream: int, step: StepNumber, bounds: torch.Tensor) -> torch.Tensor:
    """Integers (E, count), number i uniform on {0, …, bounds[i] − 1}, bounds below 2^31.

    ⌊64 random bits · bound / 2^64⌋: no outcome's probability is off by more than 2^-64.
    """
    high, low = words(keys, stream, step, 2 * len(bounds)).unflatten(1, (-1, 2)).unbind(-1)
    return (high * bounds + ((low * bounds) >> 32)) >> 32


def subsets(
    keys: torch.Tensor,
    T: int,
    s: int,
    stream: int = Stream.INDICES,
    step: StepNumber = 0,
    rows: int | None = None,
) -> torch.Tensor:
    """Uniform s-subsets of {0, …, T−1}, (E, s), each sorted: Floyd's algorithm.

    With ``rows``: that many independent subsets a trial, (E, rows, s).
    """
    if not 1 <= s <= T < 1 << 31:
        raise InputError("s", f"an integer from 1 to T = {T} < 2^31", s)
    tops = torch.arange(T - s, T, device=keys.device)
    drawn = below(keys, stream, step, (tops + 1).repeat(rows or 1)).unflatten(1, (-1, s))
    for j in range(1, s):
        seen = (drawn[..., :j] == drawn[..., j : j + 1]).any(-1)
        drawn[..., j] = torch.where(seen, tops[j], drawn[..., j])
    drawn = drawn.sort(-1).values
    return drawn if rows else drawn[:, 0]


def permutations(
    keys: torch.Tensor, stream: int, step: StepNumber, n: int, rows: int | None = None
) -> torch.Tensor:
    """Permutations of {0, …, n−1}, (E, n): the order of n random 64-bit numbers.

    Uniform but for a tie among the numbers, of probability below n² / 2^65. With ``rows``: that
    many independent permutations a trial, (E, rows, n).
    """
    drawn = words(keys, stream, step, 2 * n * (rows or 1))
    high, low = drawn.reshape(len(keys), rows or 1, n, 2).unbind(-1)
    order = ((high - 0x80000000) * 2**32 + low).sort(dim=-1, stable=True).indices
    return order if rows else order[:, 0]
