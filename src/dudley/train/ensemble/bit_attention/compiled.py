"""The same attention on a processor by `compiled_kernels`: one trial to a call.

Trials are shared out among torch's threads. What a trial computes depends on none of the others,
and its sums have one order, so that it is the same bits every time and for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention import compiled_kernels
from dudley.train.ensemble.bit_attention.compiled_kernels import GROUP
from dudley.train.ensemble.bit_attention.masks import example_words, threshold


class Compiled(torch.autograd.Function):
    """(base, lift, K; bits, counts, keys, step) ↦ (mixed, mass) in float32; see `plain`."""

    @staticmethod
    def forward(ctx, base, lift, K, words, counts, keys, step, dropout):
        E, H, M, _ = K.shape
        trials = _Trials(base, lift, K, words, counts, keys, step, dropout)
        mixed = np.zeros((E, H * M * trials.width), np.float32)
        mass, most, scale = np.zeros((3, E, M * trials.heads), np.float32)

        def compute(e: int) -> None:
            compiled_kernels.forward(*trials.of(e, mixed[e], mass[e], most[e], scale[e]))

        _share_out(compute, E)
        ctx.trials, ctx.most, ctx.scale = trials, most, scale
        by_head = torch.from_numpy(mass).view(E, M, trials.heads)[..., :H]
        return trials.halves_joined(mixed, (E, H, M)), by_head.contiguous()

    @staticmethod
    def backward(ctx, *grads):
        trials: _Trials = ctx.trials
        E, H, M, T = trials.E, trials.H, trials.M, trials.T
        d_mixed = trials.halves_padded(grads[0]).reshape(E, -1)
        d_mass = np.zeros((E, M, trials.heads), np.float32)
        d_mass[..., :H] = grads[1].numpy()
        d_base = np.zeros((E, (T + 1) * trials.width), np.float32)
        d_lift = np.zeros((E, trials.width), np.float32)
        d_K = np.zeros((E, H * M * trials.width), np.float32)

        def compute(e: int) -> None:
            pulls = d_mixed[e], d_mass[e].reshape(-1), d_base[e], d_lift[e], d_K[e]
            compiled_kernels.backward(*trials.of(e, ctx.most[e], ctx.scale[e], *pulls))

        _share_out(compute, E)
        d_base = trials.halves_joined(d_base, (E, T + 1)) * trials.factors[0]
        d_lift = trials.halves_joined(d_lift, (E,)) * trials.factors[0]
        return d_base, d_lift, trials.halves_joined(d_K, (E, H, M)), *[None] * 5


class _Trials:
    """What the kernels read of every trial: flat, padded, rows times the factor of what is kept."""

    def __init__(self, base, lift, K, words, counts, keys, step, dropout):
        (self.E, self.H, self.M, self.D), self.T = K.shape, base.shape[1] - 1
        self.width = 2 * _rounded_up(-(-self.D // 2))
        self.heads = _rounded_up(self.H)
        (*self.least,), self.factors = zip(*map(threshold, dropout), strict=True)
        self.base = self.halves_padded(base * self.factors[0]).reshape(self.E, -1)
        self.lift = self.halves_padded(lift * self.factors[0])
        self.real = self.halves_padded(torch.ones(self.D))
        self.K = self.halves_padded(K).reshape(self.E, -1)
        self.words, self.counts = words.numpy(), counts.tolist()
        self.noise = example_words(keys, step, self.M).astype(np.int64)

    def of(self, e: int, *others: np.ndarray) -> tuple[Any, ...]:
        """The arguments of a kernel for trial e: the first are those of both."""
        sizes = self.T, self.D, self.H, self.M, self.width
        examples = self.words[e, : self.counts[e]], self.noise[e]
        dropout = *self.least, np.float32(self.factors[1])
        rows = self.base[e], self.lift[e], self.real, self.K[e]
        return *rows, *examples, *sizes, *dropout, *others

    def halves_padded(self, x: torch.Tensor) -> np.ndarray:
        """(…, D) as (…, width): each half of a row with zeros behind it, if it needs them."""
        x = x.detach()
        if self.width == self.D:
            return x.contiguous().numpy()
        half, out = -(-self.D // 2), torch.zeros(*x.shape[:-1], self.width)
        out[..., :half] = x[..., :half]
        out[..., self.width // 2 :][..., : self.D - half] = x[..., half:]
        return out.numpy()

    def halves_joined(self, x: np.ndarray, shape: tuple[int, ...]) -> torch.Tensor:
        """The inverse: (*shape, D)."""
        rows = torch.from_numpy(x).view(*shape, self.width)
        if self.width == self.D:
            return rows
        half, start = -(-self.D // 2), self.width // 2
        return torch.cat([rows[..., :half], rows[..., start : start + self.D - half]], -1)


def _rounded_up(n: int) -> int:
    return -(-n // GROUP) * GROUP


def _share_out(compute: Callable[[int], None], E: int) -> None:
    """``compute(e)`` for all trials; the compiled functions let other threads run."""
    threads = min(E, torch.get_num_threads())
    if threads < 2:
        _all_of(map(compute, range(E)))
        return
    with ThreadPoolExecutor(threads) as pool:
        _all_of(pool.map(compute, range(E)))


def _all_of(results: Iterable[None]) -> None:
    for _ in results:
        pass
