"""The low-rank code: every matrix is a step times a product of two integer matrices.

W = step · A B with A ∈ Z^{m×r}, B ∈ Z^{r×n}; the rank r (gamma of r + 1) and the levels of A and B
are coded. Integer products below 2^53 are exact, so the decoder's W is the same on every machine.

From weights on a grid the factors are found by lattice reduction: the rows of the integer matrix N
span a lattice of rank r; B is an LLL-reduced basis of it (Lenstra, Lenstra, Lovász 1982), and A
holds the coordinates of the rows, integers by construction.

>>> N = np.outer([1, 2, 0, -1, 3], [2, 1, 1, -2, 0])
>>> A, B = factors(N)
>>> A.shape, B.shape, np.array_equal(A @ B, N)
((5, 1), (1, 5), True)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.codes.atoms import GAMMA, STEP
from dudley.certificates.codes.base import ModelCode, code, on_grid
from dudley.certificates.codes.kinds.plain import get_levels, put_levels
from dudley.core.errors import InputError

LARGEST = 1 << 14  # entries of a matrix that is factored


@dataclass(frozen=True, eq=False)
class Product:
    """step · A B."""

    step: float
    A: np.ndarray
    B: np.ndarray


@code
class LowRankCode(ModelCode):
    """Two factors a matrix."""

    name: ClassVar[str] = "low-rank"
    prefix: ClassVar[int] = 2

    def describe(self, weights, frame):
        parts = []
        for name, _ in frame.shapes:
            grid = on_grid(weights[name])
            split = None if grid is None else factors(grid[1])
            if grid is None or split is None:
                return []
            parts.append(Product(grid[0], *split))
        return [parts]

    def weights(self, description, frame):
        made = {}
        for (name, shape), part in zip(frame.shapes, description, strict=True):
            A, B = part.A.astype(np.float64), part.B.astype(np.float64)
            largest = np.abs(A).max(initial=0) * np.abs(B).max(initial=0) * A.shape[1]
            if largest >= 2.0**53:
                raise InputError("product of factors", "integers below 2^53", largest)
            made[name] = part.step * (A @ B + 0.0) + np.zeros(shape)
        return made

    def put(self, out, description, frame):
        for part in description:
            GAMMA.put(out, part.A.shape[1] + 1)
            if part.A.shape[1]:
                STEP.put(out, part.step)
                put_levels(out, part.A)
                put_levels(out, part.B)

    def get(self, source, frame):
        parts = []
        for _, (m, n) in frame.shapes:
            r = GAMMA.get(source) - 1
            if r > min(m, n):
                raise InputError("code word", f"a rank up to {min(m, n)}", r)
            step = STEP.get(source) if r else 1.0
            A, B = (
                (get_levels(source, (m, r)), get_levels(source, (r, n)))
                if r
                else (np.zeros((m, 0), np.int64), np.zeros((0, n), np.int64))
            )
            parts.append(Product(step, A, B))
        return parts


def factors(N: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Integer A, B with N = A B and as few columns in A as the rank of N."""
    from flint import fmpz_mat as matrix

    if N.size > LARGEST:
        return None
    m, n = N.shape
    if n > m:  # reduce the shorter side
        turned = factors(N.T)
        return None if turned is None else (turned[1].T, turned[0].T)
    whole = matrix(m, n, [int(x) for x in N.ravel()])
    r = whole.rank()
    if r == 0:
        return np.zeros((m, 0), np.int64), np.zeros((0, n), np.int64)
    reduced = whole.hnf()
    basis = matrix(r, n, [int(reduced[i, j]) for i in range(r) for j in range(n)]).lll()
    rows = [[int(basis[i, j]) for j in range(n)] for i in range(r)]
    gram: Any = basis * basis.transpose()
    coordinates = (whole * basis.transpose()) * gram.inv()
    A = np.array([[int(coordinates[i, j].p) for j in range(r)] for i in range(m)], object)
    product = A.astype(np.int64), np.array(rows, object).astype(np.int64)
    return product if np.array_equal(product[0] @ product[1], N) else None
