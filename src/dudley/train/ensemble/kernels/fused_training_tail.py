"""The rest of an AND classifier after attention, in training, as four Triton kernels.

From [CLS] rows and heads to logits, as `and_classifier.classify` has it:

    z₁ = cls + f₁ ⊙ (heads W_c + b_c),   z₂ = z₁ + f₂ ⊙ (gelu(LN₂(z₁) W_1 + b_1) W_2 + b_2),
    logits = LN₃(z₂) W.

Dropout's factors f₁ and f₂ are hashed where they are used, and the hidden layer, four times as wide
as z, is made again where the backward pass wants it: nothing but z₁ and z₂ is kept, and in the
backward pass the gradient of the MLP's branch. Rows past a member's count are not looked at: their
logits and gradients are zero.

Each tensor of rows is read once by a kernel that needs it (z₁, twice, in the backward pass), each
matrix once for 64 rows, mostly from the cache: 0.8 GB move in a step of 800 members with
125 examples at D = 64, half of them weights and their gradients.
"""

from __future__ import annotations

import triton
from torch.autograd.function import once_differentiable

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention.fused import SETTINGS
from dudley.train.ensemble.bit_attention.masks import threshold
from dudley.train.ensemble.kernels.training_tail import (
    kernel_backward,
    kernel_forward,
    kernel_mlp,
    kernel_outer,
)

ROWS, HIDDEN = 64, 64  # rows of a program, columns of the hidden layer at a time
IN_FORWARD = tuple(range(11))
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
        z1, z2, logits = torch.empty_like(heads), torch.empty_like(heads), heads.new_empty(E, M, C)
        kernel_forward[(E * triton.cdiv(M, ROWS),)](
            cls, heads, counts, keys, step, *_at(weights, IN_FORWARD), z1, z2, logits,
            M, T, *threshold(p), H=H, D=D, F=F, C=C, BN=ROWS, BF=min(HIDDEN, F),
            DOT=SETTINGS.precision, DROP=p > 0, num_warps=4,
        )  # fmt: skip
        ctx.save_for_backward(heads, z1, z2, counts, keys, step, *weights)
        ctx.sizes = T, H, p
        return logits

    @staticmethod
    @once_differentiable
    def backward(ctx, *pulls):
        d_logits = pulls[0].contiguous()
        heads, z1, z2, counts, keys, step, *weights = ctx.saved_tensors
        T, H, p = ctx.sizes
        E, M, D = heads.shape
        F, C = weights[4].shape[-1], weights[-1].shape[-1]
        BF, DOT = min(HIDDEN, F), SETTINGS.precision
        random = M, T, *threshold(p)
        d_cls, d_heads, d_branch = (torch.empty_like(heads) for _ in range(3))
        kernel_backward[(E * triton.cdiv(M, ROWS),)](
            d_logits, z1, z2, counts, keys, step, *_at(weights, IN_BACKWARD),
            d_cls, d_heads, d_branch, *random,
            H=H, D=D, F=F, C=C, BN=ROWS, BF=BF, DOT=DOT, DROP=p > 0, num_warps=4,
        )  # fmt: skip
        grads = [torch.empty(W.shape, device=W.device) for W in weights]
        d_W_c, d_b_c, d_gain_2, d_bias_2, d_W_1, d_b_1, d_W_2, d_b_2, *last = grads
        d_affine = heads.new_empty(E, F // BF, 2, D)
        kernel_mlp[(E * F // BF,)](
            z1, d_branch, counts, *_at(weights, IN_MLP), d_W_1, d_b_1, d_W_2, d_b_2, d_affine, M,
            D=D, F=F, BN=ROWS, BF=BF, DOT=DOT, num_warps=4,
        )  # fmt: skip
        kernel_outer[(E,)](
            heads, d_cls, z2, d_logits, counts, keys, step, *_at(weights, IN_OUTER),
            d_W_c, d_b_c, *last, *random, H=H, D=D, C=C, K=max(16, triton.next_power_of_2(C)),
            BN=ROWS, DOT="ieee" if DOT == "ieee" else "tf32", DROP=p > 0, num_warps=4,
        )  # fmt: skip
        d_gain_2, d_bias_2 = d_affine.sum(1).unbind(1)
        grads[2:4] = d_gain_2[..., None], d_bias_2[:, None]
        return d_cls, d_heads, None, None, None, None, None, None, *grads


def _at(weights, which: tuple[int, ...]) -> list:
    """Some weights, then how far apart a member's are from the next one's."""
    return [weights[n] for n in which] + [weights[n].stride(0) for n in which]


def tail(cls, heads, counts, keys, step, T: int, H: int, p: float, weights) -> torch.Tensor:
    """Logits (E, M, C) from [CLS] rows and heads (E, M, D), with dropout at rate ``p``.

    ``counts`` (E,) int32: the rows in use; ``keys`` (E,) int64 and ``step``, with which rows T + 1
    and T + 2 of dropout's factors are drawn (see `bit_attention.masks`).
    """
    return TrainingTail.apply(cls, heads, counts, keys, step, T, H, p, *weights)
