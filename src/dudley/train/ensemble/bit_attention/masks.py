"""Dropout's masks: a function of the trial's key, the step, the example and the coordinate.

An example has two words r₀, r₁ at a step: Philox-4x32-7 of (example, 0, step, DROPOUT) under the
trial's key. Coordinate number x of it is kept if 16 bits of

    hash(x) = fmix(x · 0x9E3779B1 + r₀; r₁),

MurmurHash3's finaliser keyed in the middle, are at least ⌊p 2¹⁶⌉. Row t owns S = D/2 + H numbers:
its coordinates j and j + D/2 read the low and the high half of number S t + j, and head h's weight
on token t the low half of number S t + D/2 + h. The kernels of `fused` compute the same; here it is
done in numpy.

>>> from dudley.core.philox import keys_tensor
>>> words = example_words(keys_tensor([5]), step=0, M=1000)
>>> masks = kept_rows(words[0], np.arange(3), D=64, H=16, p=0.1)
>>> masks.shape, round(float(masks.mean()), 3)
((1000, 3, 64), 0.9)
"""

from __future__ import annotations

import numpy as np

from dudley.core.backend import torch
from dudley.core.philox import Stream, philox

ROUNDS = 7  # as many as pass all statistical tests (Salmon et al. 2011)


def example_words(keys: torch.Tensor, step: int | torch.Tensor, M: int) -> np.ndarray:
    """r₀ and r₁ of every example, uint32 (E, M, 2)."""
    i = torch.arange(M)
    zero = torch.zeros_like(i)
    keys = keys.cpu()
    r0, r1, _, _ = philox(
        keys[:, :1], keys[:, 1:], i, zero, zero + int(step), zero + Stream.DROPOUT, ROUNDS
    )
    return torch.stack([r0, r1], -1).numpy().astype(np.uint32)


def threshold(p: float) -> tuple[int, float]:
    """⌊p 2¹⁶⌉, and the factor of what is kept."""
    least = round(p * 2**16)
    return least, 1 / (1 - least / 2**16)


def hash_numbers(numbers: np.ndarray, words: np.ndarray) -> np.ndarray:
    """hash(x) for every example and number: uint32 (M, *numbers.shape)."""
    r0, r1 = (words[:, j].reshape(-1, *[1] * numbers.ndim) for j in (0, 1))
    x = (numbers.astype(np.uint32) * np.uint32(0x9E3779B1))[None] + r0
    x ^= x >> 16
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> 13
    x ^= r1
    x *= np.uint32(0xC2B2AE35)
    x ^= x >> 16
    return x


def row_numbers(t: np.ndarray, D: int, H: int) -> np.ndarray:
    """The numbers of rows t, (len(t), D/2)."""
    return t[:, None] * (D // 2 + H) + np.arange(D // 2)


def kept_rows(words: np.ndarray, t: np.ndarray, D: int, H: int, p: float) -> np.ndarray:
    """Which coordinates of rows t stay: booleans (M, len(t), D)."""
    r = hash_numbers(row_numbers(t, D, H), words)
    return np.concatenate([r & 0xFFFF, r >> 16], -1) >= threshold(p)[0]


def kept_weights(words: np.ndarray, T: int, D: int, H: int, p: float) -> np.ndarray:
    """Which attention weights stay: booleans (M, H, T+1)."""
    numbers = np.arange(T + 1) * (D // 2 + H) + D // 2 + np.arange(H)[:, None]
    return (hash_numbers(numbers, words) & 0xFFFF) >= threshold(p)[0]


def row_factors(keys: torch.Tensor, step, M: int, t: int, D: int, H: int, p: float) -> torch.Tensor:
    """0 or 1/(1 − p) for every coordinate of row t of every example: (E, M, D)."""
    words = example_words(keys, step, M)
    stays = np.stack([kept_rows(one, np.array([t]), D, H, p)[:, 0] for one in words])
    return torch.from_numpy(stays).float() * threshold(p)[1]
