"""torch, which the measurements need and `import dudley` does not.

>>> from dudley.measure.backend import torch
>>> torch.zeros(2).dtype
torch.float32
"""

from __future__ import annotations

from dudley.core.extras import missing

try:
    import torch
except ImportError:
    raise missing("torch", "measuring weights") from None

__all__ = ["torch"]
