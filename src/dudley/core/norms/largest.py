"""Where the largest of several numbers is: shared by norms whose extreme points are sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def at_largest(sizes: Tensor) -> Tensor:
    """1 at the largest entry of the last axis, 0 elsewhere."""
    at = sizes.argmax(-1, keepdim=True)
    return sizes.new_zeros(sizes.shape).scatter(-1, at, 1.0)
