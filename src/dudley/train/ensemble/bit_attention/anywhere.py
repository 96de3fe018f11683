"""Dropout's masks by torch's own operations: on any device, and no value is asked for.

The same bits as `masks` and the kernels of `fused` make, so that a CUDA graph can record them where
the kernels do not fit; slower than either.

>>> from dudley.core.philox import keys_tensor
>>> noise = Noise(keys_tensor([5]), torch.tensor(0))
>>> κ, μ = factors(noise, M=1000, T=2, D=64, H=16, dropout=(0.1, 0.5))
>>> κ.shape, round(float((κ > 0).double().mean()), 3), μ.shape, float(μ.max())
(torch.Size([1, 1000, 3, 64]), 0.9, torch.Size([1, 1000, 16, 3]), 2.0)
"""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.core.philox import MASK, Stream, philox
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.bit_attention.masks import ROUNDS, threshold


def factors(noise: Noise, M: int, T: int, D: int, H: int, dropout: tuple[float, float]):
    """κ (E, M, T+1, D) and κ' (E, M, H, T+1) in full, float64, as `plain` takes them."""
    S, device = D // 2 + H, noise.keys.device
    numbers = torch.arange((T + 1) * S, device=device).unflatten(0, (T + 1, S))
    low, high = _halves(noise, M, numbers)
    rows = torch.cat([low[..., : D // 2], high[..., : D // 2]], -1)
    return _mask_factors(rows, dropout[0]), _mask_factors(low[..., D // 2 :].mT, dropout[1])


def row_factors(noise: Noise, M: int, t: int, D: int, H: int, p: float) -> torch.Tensor:
    """0 or 1/(1 − p) for every coordinate of row t of every example: (E, M, D), float32."""
    return rows_factors(noise, M, range(t, t + 1), D, H, p)[:, :, 0]


def rows_factors(noise: Noise, M: int, rows: range, D: int, H: int, p: float) -> torch.Tensor:
    """The same for neighbouring rows, (E, M, rows, D)."""
    t = torch.arange(rows.start, rows.stop, device=noise.keys.device)
    numbers = t[:, None] * (D // 2 + H) + torch.arange(D // 2, device=t.device)
    return _mask_factors(torch.cat(_halves(noise, M, numbers), -1), p).float()


def _mask_factors(half: torch.Tensor, p: float) -> torch.Tensor:
    least, factor = threshold(p)
    return (half >= least).double() * factor


def _halves(noise: Noise, M: int, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The low and the high 16 bits of hash(x), int64 (E, M, *numbers.shape)."""
    i = torch.arange(M, device=numbers.device)
    zero = torch.zeros_like(i)
    counter = i, zero, zero + noise.step, zero + Stream.DROPOUT
    words = philox(noise.keys[:, :1], noise.keys[:, 1:], *counter, ROUNDS)[:2]
    r0, r1 = (r.reshape(*r.shape, *[1] * numbers.ndim) for r in words)
    x = (numbers * 0x9E3779B1 + r0) & MASK
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & MASK
    x = ((x ^ (x >> 13) ^ r1) * 0xC2B2AE35) & MASK
    x = x ^ (x >> 16)
    return x & 0xFFFF, x >> 16
