"""One code for numpy and torch arrays: the namespace of an array, and a few shared functions.

torch accepts numpy's ``axis`` and ``keepdims``, so most functions are called through the
namespace directly; only what is spelt differently stands here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

Array = Any  # a numpy array or a torch tensor, which need not be installed


def namespace(x: Array) -> ModuleType:
    """numpy for numpy arrays, torch for torch tensors.

    >>> import numpy as np
    >>> namespace(np.ones(2)).__name__
    'numpy'
    """
    return sys.modules[type(x).__module__.partition(".")[0]]


def transpose(x: Array) -> Array:
    """Swap the last two axes."""
    return x.swapaxes(-1, -2)


def erf(x: Array) -> Array:
    """The error function."""
    if namespace(x).__name__ == "numpy":
        from scipy.special import erf

        return erf(x)
    return namespace(x).special.erf(x)


def sorted_descending(x: Array) -> Array:
    """Sort the last axis from large to small."""
    xp = namespace(x)
    values = xp.sort(x, axis=-1) if xp.__name__ == "numpy" else xp.sort(x, dim=-1).values
    return xp.flip(values, (-1,))


def arange_like(start: int, stop: int, x: Array) -> Array:
    """start, …, stop−1 with the type and device of x."""
    xp = namespace(x)
    if xp.__name__ == "numpy":
        return xp.arange(start, stop, dtype=x.dtype)
    return xp.arange(start, stop, dtype=x.dtype, device=x.device)


def array_like(values: Sequence[float], x: Array) -> Array:
    """The values with the type and device of x."""
    xp = namespace(x)
    return xp.asarray(values, dtype=x.dtype) if xp.__name__ == "numpy" else x.new_tensor(values)
