"""The arithmetic of CUDA devices: the same weights again in training, float32 in prediction.

On a processor nothing is changed. On CUDA, training asks torch for deterministic algorithms, for
which cuBLAS wants the environment variable CUBLAS_WORKSPACE_CONFIG: it is set to ``:4096:8`` where
it is not set. Predictions multiply in float32, not in TF32, and attention is computed by products
and a softmax: margins then differ from a processor's by rounding alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dudley.core.backend import torch

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


@contextmanager
def deterministic(device: torch.device | str) -> Iterator[None]:
    """Deterministic algorithms on CUDA; settings of the process are put back."""
    if torch.device(device).type != "cuda":
        yield
        return
    os.environ.setdefault(WORKSPACE, ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    memory: Any = torch.utils.deterministic
    fills = memory.fill_uninitialized_memory
    try:
        # Filling fresh memory would cost a kernel each time.
        memory.fill_uninitialized_memory = False
        torch.use_deterministic_algorithms(True)
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warns)
        memory.fill_uninitialized_memory = fills


@contextmanager
def full_precision(device: torch.device | str) -> Iterator[None]:
    """Products in float32 on CUDA; settings of the process are put back."""
    if torch.device(device).type != "cuda":
        yield
        return
    from torch.nn.attention import SDPBackend, sdpa_kernel

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
