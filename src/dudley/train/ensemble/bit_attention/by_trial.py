"""The same attention on a processor: trial after trial, so that what it works on stays in cache.

One custom gradient instead of autograd's many passes; rows are made again from the table of their
2(T+1) values, and masks from counters, in the backward pass.
"""

from __future__ import annotations

import math

import numpy as np

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention.masks import (
    example_words,
    hash_numbers,
    kept_weights,
    row_numbers,
    threshold,
)
from dudley.train.ensemble.bit_attention.plain import LN_EPS
from dudley.train.packed import unpack

LN2 = math.log(2.0)


class ByTrial(torch.autograd.Function):
    """(base, lift, K; bits, counts, keys, step) ↦ (mixed, mass); see `plain`."""

    @staticmethod
    def forward(ctx, base, lift, K, words, counts, keys, step, dropout):
        E, H, M, D = K.shape
        mixed, mass = torch.zeros_like(K), K.new_zeros(E, M, H)
        noise = example_words(keys, step, M) if max(dropout) > 0 else None
        saved = []
        for e, m in enumerate(counts.tolist()):
            if m == 0:
                saved.append(None)
                continue
            masks = _Masks(noise, e, m, D, H, dropout)
            z, rstd = _normalise(base[e], lift[e], words[e, :m], masks)
            k = K[e, :, :m].transpose(0, 1) * LN2  # (m, H, D)
            a = torch.softmax(k @ z.mT, -1)  # (m, H, T+1)
            thin = masks.weights(a)
            mixed[e, :, :m] = (thin @ z).transpose(0, 1)
            mass[e, :m] = thin.sum(-1)
            saved.append((z, rstd, k, a, thin))
        ctx.saved, ctx.words, ctx.noise, ctx.dropout = saved, words, noise, dropout
        ctx.save_for_backward(base, lift, K)
        return mixed, mass

    @staticmethod
    def backward(ctx, *grads):
        (d_mixed, d_mass), (base, lift, K) = grads, ctx.saved_tensors
        T, (_, H, _, D) = base.shape[1] - 1, K.shape
        d_base, d_lift = torch.zeros_like(base), torch.zeros_like(lift)
        d_K = torch.zeros_like(K)
        for e, of_trial in enumerate(ctx.saved):
            if of_trial is None:  # without examples
                continue
            z, rstd, k, a, thin = of_trial
            m = len(z)
            masks = _Masks(ctx.noise, e, m, D, H, ctx.dropout)
            g = d_mixed[e, :, :m].transpose(0, 1).contiguous()  # (m, H, D)
            slope = g @ z.mT
            slope += d_mass[e, :m, :, None]
            slope = masks.weights_again(slope, thin)
            slope -= (slope * a).sum(-1, keepdim=True)
            d_s = slope.mul_(a)  # (m, H, T+1)
            d_K[e, :, :m] = (d_s @ z).transpose(0, 1) * LN2
            both = torch.cat([thin, d_s], 1).mul_(rstd.mT)  # (m, 2H, T+1)
            d_z = both.mT @ torch.cat([g, k], 1)  # (m, T+1, D), over σ already
            unit = torch.ones_like(rstd)
            d_u = torch.ops.aten.native_layer_norm_backward(
                d_z,
                z,
                [z.shape[-1]],
                torch.zeros_like(rstd),
                unit,
                None,
                None,
                [True, False, False],
            )[0]
            d_u = masks.rows(d_u)
            d_base[e] = d_u.sum(0)
            ones = unpack(ctx.words[e, :m], T, d_u.dtype)
            d_lift[e] = torch.einsum("mt,mtd->d", ones, d_u[:, :-1])
        return d_base, d_lift, d_K, None, None, None, None, None


def _normalise(base, lift, words, masks):
    """ẑ (m, T+1, D) and 1/σ (m, T+1, 1)."""
    T = len(base) - 1
    table = torch.cat([base, base[:-1] + lift])  # a row for each bit and position
    ones = unpack(words, T, torch.int64)
    index = torch.arange(T + 1).expand(len(words), -1).clone()
    index[:, :-1] += ones * (T + 1)
    u = table.index_select(0, index.flatten()).view(len(words), T + 1, -1)
    z, _, rstd = torch.native_layer_norm(masks.rows(u), [u.shape[-1]], None, None, LN_EPS)
    return z, rstd


class _Masks:
    """Dropout of one trial's examples; without noise, nothing is dropped."""

    def __init__(self, noise, e: int, m: int, D: int, H: int, dropout: tuple[float, float]):
        self.words = None if noise is None else noise[e, :m]
        self.D, self.H = D, H
        self.p_rows, self.p_weights = dropout

    def rows(self, u: torch.Tensor) -> torch.Tensor:
        """u with the dropped coordinates zero and the others scaled, in place."""
        if self.words is None or self.p_rows == 0:
            return u
        least, factor = threshold(self.p_rows)
        r = hash_numbers(row_numbers(np.arange(u.shape[1]), self.D, self.H), self.words)
        out = u.mul_(factor).numpy().view(np.int32 if u.dtype == torch.float32 else np.int64)
        low = (r & 0xFFFF).view(np.int32)
        high = (r >> 16).view(np.int32)
        for half, columns in ((low, slice(0, self.D // 2)), (high, slice(self.D // 2, None))):
            np.subtract(least - 1, half, out=half)
            half >>= 31  # all ones where it stays
            out[..., columns] &= half
        return u

    def weights(self, a: torch.Tensor) -> torch.Tensor:
        if self.words is None or self.p_weights == 0:
            return a
        stays = kept_weights(self.words, a.shape[2] - 1, self.D, self.H, self.p_weights)
        return a.masked_fill(torch.from_numpy(~stays), 0.0).mul_(threshold(self.p_weights)[1])

    def weights_again(self, slope: torch.Tensor, thin: torch.Tensor) -> torch.Tensor:
        """The same mask on a gradient, in place: where the thinned weight is zero."""
        if self.words is None or self.p_weights == 0:
            return slope
        return slope.masked_fill_(thin == 0, 0.0).mul_(threshold(self.p_weights)[1])
