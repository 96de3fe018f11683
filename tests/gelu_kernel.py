"""The GELU of the kernel for evaluation, by itself."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from dudley.train.ensemble.kernels.fused_logits import _gelu


@triton.jit
def _kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, _gelu(tl.load(x + i, mask=i < n, other=0.0)), mask=i < n)


def gelu(x: torch.Tensor) -> torch.Tensor:
    """Of every entry of a vector."""
    out = torch.empty_like(x)
    _kernel[(triton.cdiv(len(x), 1 << 14),)](x, out, len(x), BLOCK=1 << 14)
    return out
