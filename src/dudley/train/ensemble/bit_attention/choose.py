"""Which way to attend is taken: kernels on a GPU; on a processor compiled functions, where numba is
installed (extra `compiled`), or else torch's operations trial by trial; elsewhere the formula.

All take the same masks, so a training is the same on every device up to rounding. The version of
numba, or that there is none, stands in the record of every run.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from dudley.core.backend import torch
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.bit_attention import anywhere, masks, plain
from dudley.train.ensemble.bit_attention.anywhere import factors
from dudley.train.ensemble.bit_attention.by_trial import ByTrial

try:
    from dudley.train.ensemble.bit_attention import fused
except ImportError:  # no Triton: slower on a GPU, the same elsewhere
    fused = None


def attend_heads(base, lift, q, A, B, b, words, counts, noise: Noise | None, H: int, dropout):
    """Concatenated heads (E, M, D), zero in rows past ``counts`` (E,), from queries q (E, M, D).

    Head h has the queries K_h = q_h A_hᵀ, and is mixed_h B_h + mass_h b_h: see `plain`, and
    `fused_folds`. A and B are (E, D, D), b (E, 1, D), each with its heads side by side.
    """
    if q.device.type != "cpu" and fused is not None and _fits(q, H):
        noise, dropout = _noise_of(noise, dropout, q)
        keys = join_keys(noise.keys).to(q.device)
        return fused.Fused.apply(
            base, lift, q, A, B, b, words, counts, keys, noise.step, H, dropout
        )
    by_head = (H, q.shape[-1] // H)
    q, b = (x.unflatten(2, by_head).transpose(1, 2) for x in (q, b))  # (E, H, M or 1, k)
    K = q @ A.unflatten(2, by_head).permute(0, 2, 3, 1)
    mixed, mass = attend(base, lift, K, words, counts, noise, dropout)
    heads = mixed @ B.unflatten(2, by_head).transpose(1, 2) + mass.mT[..., None] * b
    return heads.transpose(1, 2).flatten(2)


def attend(base, lift, K, words, counts, noise: Noise | None, dropout: tuple[float, float]):
    """(mixed (E, H, M, D), mass (E, M, H)), zero in rows past ``counts`` (E,). See `plain`."""
    noise, dropout = _noise_of(noise, dropout, K)
    if K.device.type == "cpu":
        compiled = compiled_for_processor() if K.dtype == torch.float32 else None
        way = compiled.Compiled if compiled else ByTrial
        return way.apply(base, lift, K, words, counts, noise.keys, noise.step, dropout)
    return _by_formula(base, lift, K, words, counts, noise, dropout)


def _noise_of(noise: Noise | None, dropout, like: torch.Tensor) -> tuple[Noise, tuple]:
    """What masks depend on, and both rates: none where there is no noise."""
    if noise is not None and max(dropout) > 0:
        return noise, dropout
    nought = torch.zeros(len(like), 2, dtype=torch.int64, device=like.device)
    return Noise(nought, nought[0, 0]), (0.0, 0.0)


@cache
def compiled_for_processor() -> ModuleType | None:
    """The compiled functions, or None: no numba, or one that was told to compile nothing.

    Asked for at the first use, since numba is slow to import.
    """
    try:
        from numba import config  # pyright: ignore[reportMissingImports]

        from dudley.train.ensemble.bit_attention import compiled
    except ImportError:
        return None
    return None if getattr(config, "DISABLE_JIT", False) else compiled


def row_factors(noise: Noise, M: int, t: int, D: int, H: int, p: float) -> torch.Tensor:
    """Dropout's factors for row t of every example, 0 or 1/(1 − p): (E, M, D)."""
    device = noise.keys.device
    if device.type == "cuda" and fused is not None and D % 2 == 0 and D & (D - 1) == 0:
        return fused.factors(join_keys(noise.keys), noise.step, M, D, H, t, p)
    if device.type != "cpu":
        return anywhere.row_factors(noise, M, t, D, H, p)
    return masks.row_factors(noise.keys, noise.step, M, t, D, H, p)


def join_keys(keys: torch.Tensor) -> torch.Tensor:
    """Keys (E, 2) as 64-bit numbers (E,)."""
    return keys[:, 0] | (keys[:, 1] << 32)


def _fits(q: torch.Tensor, H: int) -> bool:
    """Kernels are cut for float32, powers of two, and products of at least 16 by 16."""
    D = q.shape[-1]
    sizes = H >= 16 and D >= 32 and H & (H - 1) == 0 and D & (D - 1) == 0
    return q.dtype == torch.float32 and sizes


def _by_formula(base, lift, K, words, counts, noise, dropout):
    _, H, M, D = K.shape
    T = base.shape[1] - 1
    κ, μ = factors(noise, M, T, D, H, dropout)
    mixed, mass = plain.attend(base, lift, K, words, κ.to(K), μ.to(K))
    there = torch.arange(M, device=K.device) < counts[:, None]  # (E, M)
    return mixed * there[:, None, :, None], mass * there[..., None]
