"""Images bent and moved at random: an affine map and a smooth displacement, by one resampling.

Each image is read at A p + b + e(p), p in [−1, 1]² being a pixel. A is a rotation by at most
``rotation`` degrees after a shear of at most ``shear``, divided by scales of 1 ± ``scale`` along
both axes; b is at most ``shift`` of the width and of the height. The displacement e is a mean of
vectors at KNOTS × KNOTS knots, each at most ``elastic`` of width and height, with Gaussian weights
that add up to 1. All draws are uniform. Whatever lies outside an image is 0.

>>> images = torch.zeros(2, 8, 8)
>>> images[:, 2:6, 2:6] = 1
>>> bool((warped(images, 0, 0, 0, 0, 0) - images).abs().max() < 1e-5)
True
"""

from __future__ import annotations

import math
from functools import lru_cache

from dudley.core.backend import torch

KNOTS = 5


def warped(
    images: torch.Tensor, rotation: float, shear: float, scale: float, shift: float, elastic: float
) -> torch.Tensor:
    """Random warps of float images (n, h, w); draws come from the generator of their device."""
    n, h, w = images.shape
    points, across, down = _grid(h, w, str(images.device))
    draw = torch.rand(n, 6, device=images.device) * 2 - 1
    angle, slope = draw[:, 0] * math.radians(rotation), draw[:, 1] * shear
    sizes = 1 + scale * draw[:, 2:4]
    cos, sin = torch.cos(angle), torch.sin(angle)
    # A = R(angle) · [[1, slope], [0, 1]] / sizes, column by column, and b: n × 3 × 2.
    first = torch.stack([cos, sin], 1) / sizes
    second = torch.stack([slope * cos - sin, slope * sin + cos], 1) / sizes
    where = points @ torch.stack([first, second, 2 * shift * draw[:, 4:6]], 1)  # n × hw × 2
    where = where.view(n, h, w, 2)
    if elastic:
        knots = (torch.rand(n, 2, KNOTS, KNOTS, device=images.device) * 2 - 1) * (2 * elastic)
        where = where + (down @ knots @ across.T).permute(0, 2, 3, 1)
    return torch.nn.functional.grid_sample(images[:, None], where, align_corners=False)[:, 0]


@lru_cache(maxsize=8)
def _grid(h: int, w: int, device: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pixels as rows (x, y, 1), and how much each knot counts along both axes."""
    x, y = ((torch.arange(size) + 0.5) * 2 / size - 1 for size in (w, h))
    rows = torch.stack([x.repeat(h), y.repeat_interleave(w), torch.ones(h * w)], 1)
    return rows.to(device), _weights(x).to(device), _weights(y).to(device)


def _weights(pixels: torch.Tensor) -> torch.Tensor:
    """Gaussian weights of the knots for each pixel of a row, adding up to 1."""
    knots = torch.linspace(-1, 1, KNOTS)
    apart = (pixels[:, None] - knots) / (1.2 / (KNOTS - 1))
    return torch.softmax(-0.5 * apart.square(), 1)
