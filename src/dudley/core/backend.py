"""torch, which `import dudley` does without: imported here once, with a clear error where absent.

What needs torch imports it from here: measured weights, the models, searches with gradients.

>>> from dudley.core.backend import torch
>>> torch.zeros(2).dtype
torch.float32
"""

from __future__ import annotations

from dudley.core.extras import missing

try:
    import torch
except ImportError:
    raise missing("torch", "what was asked for") from None

__all__ = ["torch"]
