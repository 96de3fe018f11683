"""torch, which the searches need and `import dudley` does not: one clear error where it is absent.

>>> from dudley.audit.backend import tensor
>>> tensor([1, 2]).dtype
torch.float64
"""

from __future__ import annotations

import numpy as np

from dudley.core.extras import missing

try:
    import torch
except ImportError:
    raise missing("torch", "a search with gradients") from None


def tensor(values, device: str = "cpu"):
    """A float64 tensor: every search and every value it reports is in double precision."""
    return torch.as_tensor(np.array(values, dtype=np.float64), device=device)
