"""The rest of an AND classifier after attention, in training, as four Triton kernels.

From [CLS] rows and heads to logits, as `and_classifier.classify` has it:

    z₁ = cls + f₁ ⊙ (heads W_c + b_c),   z₂ = z₁ + f₂ ⊙ (gelu(LN₂(z₁) W_1 + b_1) W_2 + b_2),
    logits = LN₃(z₂) W.

Dropout's factors f₁ and f₂ are hashed where they are used, and the hidden layer, four times as wide
as z, is made again where the backward pass wants it: ẑ and 1/σ of both LayerNorms are kept, and the
backward pass adds the gradient of the MLP's branch. Rows past a member's count are not looked at:
their logits and gradients are zero.

Bytes, with r for four bytes times D of all rows and w for all weights: 4 r + w forward; 2 r + w in
and 3 r out backward; 2 r + w in and w out for the MLP's gradients; 4 r for the others. Rows padded
to the longest member add 2 r of zeros for themselves alone. For 800 members with 125 examples each
at D = 64, r = 26 MB and w = 120 MB: .9 GB.
"""

from __future__ import annotations

import triton
from torch.autograd.function import once_differentiable

from dudley.core.backend import torch
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.bit_attention.choose import join_keys
from dudley.train.ensemble.bit_attention.fused import SETTINGS
from dudley.train.ensemble.bit_attention.masks import threshold
from dudley.train.ensemble.kernels.fused_training_kernels import (
    kernel_backward,
    kernel_forward,
    kernel_mlp,
    kernel_outer,
)

CLASSES = 16  # at most; the gradient of W is a product, whose sides are at least that
SPLIT = 1024  # rows that a program for gradients of weights walks over, at most
IN_BACKWARD = (0, 2, 3, 4, 5, 6, 8, 10)  # W_c gain_2 bias_2 W_1 b_1 W_2 gain_3 W
IN_MLP = (2, 3, 4, 5, 6)
IN_OUTER = (8, 9, 10)


class TrainingTail(torch.autograd.Function):
    """(cls, heads; counts, keys, step, T, H, p; weights in `TAIL`'s order) ↦ logits (E, M, C)."""

    @staticmethod
    def forward(ctx, cls, heads, counts, keys, step, T, H, p, *weights):
        E, M, D = heads.shape
        F, C = weights[4].shape[-1], weights[-1].shape[-1]
        cls, heads = cls.contiguous(), heads.contiguous()
        weights = [W if W[0].is_contiguous() else W.contiguous() for W in weights]
        rows = [heads.new_empty(shape) for shape in ((E, M, D), (E, M)) * 2]  # ẑ and 1/σ, twice
        logits, cut = heads.new_empty(E, M, C), _cut(F)
        kernel_forward[(E * triton.cdiv(M, cut["BN"]),)](
            cls, heads, counts, keys, step, *_apart(weights), *rows, logits, M, T, *threshold(p),
            H=H, D=D, F=F, C=C, DROP=p > 0, **cut,
            maxnreg=168 if cut["DOT"] == "fp16" else None,  # three programs at a time
        )  # fmt: skip
        ctx.save_for_backward(heads, *rows, counts, keys, step, *weights)
        ctx.how = T, H, p
        return logits

    @staticmethod
    @once_differentiable
    def backward(ctx, *pulls):
        d_logits = pulls[0].contiguous()
        heads, standard_1, _, standard_2, _, *counters = ctx.saved_tensors[:8]
        rows, weights = ctx.saved_tensors[1:5], ctx.saved_tensors[8:]
        (T, H, p), (E, M, D) = ctx.how, heads.shape
        F, C = weights[4].shape[-1], weights[-1].shape[-1]
        cut, masks = _cut(F), (T, *threshold(p))
        d_cls, d_heads, d_branch = (torch.empty_like(heads) for _ in range(3))
        sizes = heads.new_empty(E, M)
        kernel_backward[(E * triton.cdiv(M, cut["BN"]),)](
            d_logits, *rows, *counters, *_apart(weights, IN_BACKWARD),
            d_cls, d_heads, d_branch, sizes, M, *masks, H=H, D=D, F=F, C=C, DROP=p > 0, **cut,
        )  # fmt: skip
        S, J = triton.cdiv(M, SPLIT), F // cut["BF"]
        grads = [heads.new_empty(E, S, *W.shape[1:]) for W in weights]
        d_W_c, d_b_c, _, _, d_W_1, d_b_1, d_W_2, d_b_2, *last = grads
        d_affine = heads.new_empty(E, S * J, 2, D)
        kernel_mlp[(E * S * J,)](
            standard_1, d_branch, sizes, counters[0], *_apart(weights, IN_MLP),
            d_W_1, d_b_1, d_W_2, d_affine, M, S, SPLIT, D=D, F=F, **cut,
        )  # fmt: skip
        cut |= {"DOT": "ieee" if cut["DOT"] == "ieee" else "tf32"}  # with float32's exponents
        del cut["BF"]
        kernel_outer[(E * S,)](
            heads, d_cls, d_branch, standard_2, d_logits, *counters, *_apart(weights, IN_OUTER),
            d_W_c, d_b_c, d_b_2, *last, M, S, SPLIT, *masks,
            H=H, D=D, C=C, K=CLASSES, DROP=p > 0, **cut,
        )  # fmt: skip
        grads = [grad[:, 0] if S == 1 else grad.sum(1) for grad in grads]
        d_gain_2, d_bias_2 = d_affine.sum(1).unbind(1)
        grads[2:4] = d_gain_2[..., None], d_bias_2[:, None]
        return d_cls, d_heads, None, None, None, None, None, None, *grads


def _cut(F: int) -> dict:
    """Rows of a program, columns of the hidden layer at a time: what registers hold at D = 64."""
    exact = SETTINGS.precision == "ieee"
    BN, BF, stages = (32, 16, 1) if exact else (64, 32, 2)
    BF = min(BF, F)
    return {"BN": BN, "BF": BF, "DOT": SETTINGS.precision, "num_warps": 4, "num_stages": stages}


def _apart(weights, which: tuple[int, ...] | None = None) -> list:
    """Some weights, or all, then how far apart a member's are from the next one's."""
    some = [weights[n] for n in which or range(len(weights))]
    return [*some, *(W.stride(0) for W in some)]


def tail(
    cls, heads, counts, noise: Noise | None, T: int, H: int, p: float, weights: list[torch.Tensor]
) -> torch.Tensor:
    """Logits (E, M, C) from [CLS] rows and heads (E, M, D), with dropout at rate ``p``.

    ``counts`` (E,) int32: the rows in use, or None where all are. Dropout's factors are those of
    rows T + 1 and T + 2 (see `bit_attention.masks`).
    """
    E, M, _ = heads.shape
    if counts is None:
        counts = torch.full((E,), M, dtype=torch.int32, device=heads.device)
    keys = step = torch.zeros(E, dtype=torch.int64, device=heads.device)  # of no noise
    if noise is not None:
        keys, step = join_keys(noise.keys).to(heads.device), noise.step
    return TrainingTail.apply(cls, heads, counts, keys, step, T, H, p, *weights)
