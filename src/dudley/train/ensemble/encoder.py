"""Shallow encoders side by side: folded scores, and a wide layer that is never kept.

    f(X) = (1/T) Σ_i w · relu(z_i W_v),   Z = softmax(X W_QK Xᵀ/√d_m) X,   W_QK = W_Q W_Kᵀ.

W_Q W_Kᵀ is d×d and made once, unless d_m is smaller than d. What costs is the layer of width d_m
above rows of width d. Since relu(x) = x·[x > 0], its gradients need only which entries are
positive: with γ_i the gradient at row i, S = Σ_i γ_i z_iᵀ [z_i W_v > 0] (d×d_m),

    ∂W_v = S·diag(w),   ∂w = column sums of W_v ⊙ S,   ∂z_i = γ_i [z_i W_v > 0] (W_v diag(w))ᵀ,

three products in all, and one byte kept for each entry instead of several floats; the layer itself
is made and read a few rows at a time.

>>> from dudley.core.philox import key, keys_tensor
>>> encoders = EncoderEnsemble(d=4, d_m=32)
>>> weights = encoders.start(keys_tensor([key("mnist", trial) for trial in range(3)]))
>>> X = torch.ones(3, 5, 2, 4)  # for each trial five examples of two tokens
>>> encoders.forward(weights, X).shape
torch.Size([3, 5, 1])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.models.shallow_encoder import ShallowEncoder
from dudley.train.ensemble.base import Ensemble
from dudley.train.ensemble.registry import ENSEMBLES
from dudley.train.ensemble.rows import at_a_time, of_members, through


@dataclass(frozen=True)
class EncoderEnsemble(Ensemble):
    """Tokens (E, N, T, d), (N, T, d) for all, or `Shared` ↦ (E, N, 1)."""

    d: int  # width of a token
    d_m: int  # width of the encoder

    def __post_init__(self):
        size_of("d", self.d)
        size_of("d_m", self.d_m)

    def twin(self, e=0) -> ShallowEncoder:
        return ShallowEncoder(self.d, self.d_m)

    def forward(self, weights, inputs, noise=None):
        W_v, W_Q, W_K = (weights[f"weights.0.{name}"] for name in ("W_v", "W_Q", "W_K"))
        w, E = weights["weights.1.w"], len(W_v)
        X = of_members(inputs, 4, E)
        X = X.expand(E, *X.shape[1:])
        if self.d <= self.d_m:
            scores = through(X, W_Q @ W_K.mT) @ X.mT  # (E, N, T, T)
        else:
            scores = through(X, W_Q) @ through(X, W_K).mT
        Z = torch.softmax(scores / math.sqrt(self.d_m), -1) @ X
        return WideLayer.apply(Z, W_v, w)

    def evaluate(self, weights, inputs, alive=None):
        E = len(weights["weights.1.w"])
        X = of_members(inputs, 4, E)
        few = at_a_time(E * X.shape[2] * self.d, X)
        return torch.cat([self.forward(weights, part) for part in X.split(few, 1)], 1)

    def numbers_of_example(self, T: int) -> int:
        return T * (8 * self.d + self.d_m // 2)  # of the wide layer one byte an entry is kept


class WideLayer(torch.autograd.Function):
    """Z (E, N, T, d), W_v (E, d, d_m), w (E, d_m, 1) ↦ mean_i relu(z_i W_v) w, (E, N, 1)."""

    @staticmethod
    def forward(ctx: Any, Z, W_v, w):
        rows, (E, _, d_m) = Z.flatten(1, 2), W_v.shape
        few = at_a_time(E * d_m, Z)
        layer = rows.new_empty(E, min(few, rows.shape[1]), d_m)
        out = rows.new_empty(E, 1, rows.shape[1])
        positive = None
        if any(ctx.needs_input_grad):
            positive = rows.new_empty(E, rows.shape[1], d_m, dtype=torch.bool)
        for i in range(0, rows.shape[1], few):
            some = slice(i, i + few)
            part = rows[:, some]
            now = torch.bmm(part, W_v, out=layer[:, : part.shape[1]])
            if positive is not None:
                torch.gt(now, 0, out=positive[:, some])
            out[:, :, some] = w.mT @ now.clamp_(min=0).mT
        ctx.save_for_backward(Z, W_v, w, positive)
        return out.unflatten(2, Z.shape[1:3]).mean(3).mT

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        Z, W_v, w, positive = ctx.saved_tensors
        rows, E, d_m = Z.flatten(1, 2), *positive.shape[::2]
        few = at_a_time(E * d_m, Z)
        γ = (gradient / Z.shape[2]).repeat_interleave(Z.shape[2], 1)  # (E, N·T, 1)
        weighted = (γ * rows).mT  # (E, d, N·T)
        through_w = (W_v * w.mT).mT.contiguous()  # (E, d_m, d)
        ones = rows.new_empty(E, min(few, rows.shape[1]), d_m)
        S, at_rows = torch.zeros_like(W_v), torch.empty_like(rows)
        for i in range(0, rows.shape[1], few):
            some = slice(i, i + few)
            part = positive[:, some].view(torch.uint8)  # converted faster than truth values
            now = ones[:, : part.shape[1]].copy_(part)
            torch.baddbmm(S, weighted[..., some], now, out=S)
            at_rows[:, some] = now @ through_w
        return (at_rows * γ).view_as(Z), S * w.mT, (W_v * S).sum(1)[..., None]


@ENSEMBLES.register("shallow-encoder")
def build(keys, tasks, **sizes) -> EncoderEnsemble:
    return EncoderEnsemble(**sizes)
