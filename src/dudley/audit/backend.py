"""Arrays of the searches: float64 tensors.

>>> from dudley.audit.backend import tensor
>>> tensor([1, 2]).dtype
torch.float64
"""

from __future__ import annotations

import numpy as np

from dudley.core.backend import torch


def tensor(values, device: str = "cpu"):
    """A float64 tensor: every search and every value it reports is in double precision."""
    return torch.as_tensor(np.array(values, dtype=np.float64), device=device)
