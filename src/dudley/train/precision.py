"""How exactly products are computed on a GPU; on a processor nothing changes.

``ieee`` is float32. ``fast`` is TF32 for products of matrices (10 bits of mantissa, float32's
range, sums in float32) and float16 with scaled gradients, as exact and faster, inside the Triton
kernels of ensembles. Success rates under both are compared by a test on recorded runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dudley.core.backend import torch
from dudley.train.ensemble.bit_attention import choose


@contextmanager
def precision(name: str) -> Iterator[None]:
    """Within it, products are ``fast`` or ``ieee``; afterwards as before."""
    if not torch.cuda.is_available():
        yield
        return
    cublas, fused = torch.backends.cuda.matmul, choose.fused
    before = cublas.allow_tf32, fused and fused.SETTINGS.precision
    cublas.allow_tf32 = name == "fast"
    if fused:
        fused.SETTINGS.precision = "fp16" if name == "fast" else "ieee"
    try:
        yield
    finally:
        cublas.allow_tf32 = before[0]
        if fused:
            fused.SETTINGS.precision = before[1]
