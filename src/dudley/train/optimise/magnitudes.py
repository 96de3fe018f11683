"""A matrix as parts with sizes, and the sizes brought below a bound or shrunk.

Each matrix norm of ``core.norms`` is a sum or a maximum, over groups, of the sizes of parts:
entries, rows, columns, the whole matrix (ℓ2), or singular directions. The nearest matrix in a ball,
and the proximal point of a penalty, keep the parts' directions and change their sizes:

* a group with Σμ ≤ R stays; otherwise μ ← max(μ − θ, 0) with Σ max(μ − θ, 0) = R. Sorted
  μ₁ ≥ μ₂ ≥ …, the sum Σ max(μ − θ, 0) is the largest of μ₁+…+μ_k − kθ over k, so
  θ = max_k (μ₁+…+μ_k − R)/k: a sort, a running sum, a maximum;
* the proximal point of λΣμ is μ ← max(μ − λ, 0).

For entries, rows and columns this is the separable structure of the norm; for singular values it is
von Neumann's trace inequality. J. Duchi et al., ICML 2008, figure 1 (simplex); E. van den Berg and
M. Friedlander, SIAM J. Sci. Comput. 31 (2008) (groups); A. S. Lewis, J. Convex Anal. 2 (1995)
(unitarily invariant norms).

>>> from dudley.core.backend import torch
>>> threshold(torch.tensor([3.0, 1.0, 0.5]), 2.0)
tensor([1.])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dudley.core.backend import torch
from dudley.core.norms import norm_named
from dudley.core.norms.base import Group, Kind

Rebuild = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Structure:
    """A norm: the largest, over groups, of the sum of the sizes in the group."""

    kind: Kind
    group: Group

    def parts(self, X: torch.Tensor) -> tuple[torch.Tensor, Rebuild]:
        """Sizes, as a matrix (…, ·, ·), and X (…, a, b) again with other sizes."""
        if self.kind == "singular":
            U, S, Vh = torch.linalg.svd(X, full_matrices=False)
            return S[..., None, :], lambda sizes: (U * sizes) @ Vh
        sizes = self.sizes(X)
        safe = torch.where(sizes > 0, sizes, 1.0)
        return sizes, lambda new: X * (new / safe)

    def sizes(self, X: torch.Tensor) -> torch.Tensor:
        """Sizes alone, with gradients (0 at 0)."""
        match self.kind:
            case "entries":
                return X.abs()
            case "singular":
                return torch.linalg.svdvals(X)[..., None, :]
            case "rows":
                return torch.linalg.vector_norm(X, dim=-1, keepdim=True)
            case "columns":
                return torch.linalg.vector_norm(X, dim=-2, keepdim=True)
            case "whole":
                return torch.linalg.vector_norm(X, dim=(-2, -1), keepdim=True)

    def norm(self, sizes: torch.Tensor) -> torch.Tensor:
        """The norm (…) of what has these sizes."""
        return self._grouped(sizes).sum(-1).amax(-1)

    def capped(self, sizes: torch.Tensor, radius: torch.Tensor) -> torch.Tensor:
        """The nearest sizes ≥ 0 with every group's sum at most ``radius`` (broadcast to (…))."""
        μ, R = self._grouped(sizes), radius[..., None, None]
        if self.group == "each":
            return torch.minimum(sizes, R)
        left = (μ - threshold(μ, R)).clamp(min=0)
        total = left.sum(-1, keepdim=True)
        left = left * (R / torch.where(total > 0, total, 1.0)).clamp(max=1.0)
        left = left.mT if self.group == "column" else left
        return left.reshape(sizes.shape)

    def _grouped(self, sizes: torch.Tensor) -> torch.Tensor:
        """(…, groups, members)"""
        match self.group:
            case "each":
                return sizes.flatten(-2)[..., None]
            case "all":
                return sizes.flatten(-2)[..., None, :]
            case "row":
                return sizes
            case "column":
                return sizes.mT


def threshold(sizes: torch.Tensor, radius: torch.Tensor | float) -> torch.Tensor:
    """θ ≥ 0 with Σ max(μ − θ, 0) = R along the last axis (kept), 0 where Σμ ≤ R already."""
    largest = sizes.sort(dim=-1, descending=True).values
    count = torch.arange(1, sizes.shape[-1] + 1, dtype=sizes.dtype, device=sizes.device)
    return ((largest.cumsum(-1) - radius) / count).amax(-1, keepdim=True).clamp(min=0)


def structure(norm: str) -> Structure:
    """The structure of the norm of this name; a norm of another kind is refused."""
    known = norm_named(norm)
    if known.parts is None:
        raise known.lacks("parts")
    return Structure(*known.parts)
