"""torch, which the models need and `import dudley` does not.

>>> from dudley.models.backend import generator
>>> generator(7).initial_seed()
7
"""

from __future__ import annotations

from dudley.core.extras import missing

try:
    import torch
except ImportError:
    raise missing("torch", "a torch model") from None


def generator(seed: int | torch.Generator) -> torch.Generator:
    """A source of random numbers on the processor: a seed starts a new one."""
    return seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)
