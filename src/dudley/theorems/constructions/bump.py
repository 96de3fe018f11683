"""A 3-layer ReLU network that is exactly f(x_i) on a neighbourhood of each of n points.

Lemma B.8 of Edelman, Goel, Kakade & Zhang, with points ‖x_i‖_∞ ≤ B in R^{d_f} whose sup-norm
distances are at least 4δ, and f̂(x_i + z) = f(x_i) wanted for all ‖z‖_∞ ≤ δ.

*Repaired.* With y = (x − x_0)/δ the bump

    ψ(x; x_0) = (y + 2)₊ − (y + 1)₊ − (y − 1)₊ + (y − 2)₊

is 1 for |y| ≤ 1, 0 for |y| ≥ 2 and linear between. The second layer is (Σ_j ψ_j − d_f + 1)₊, one
unit per point, and w_i = f(x_i). Proof: if ‖x − x_i‖_∞ ≤ δ then all d_f bumps of x_i are 1 and
its unit is 1; for m ≠ i some coordinate has |x − x_m| ≥ 4δ − δ > 2δ, one bump is 0, the sum is at
most d_f − 1 and the unit is 0. (So separation 3δ is enough.) Sizes: d_2 = 4nd_f, d_3 = n, largest
entries 1/δ and B/δ + 2 in layer 1, max(1, d_f − 1) in layer 2, max|f| in w. No condition on δ.
For n ≥ 2 (then 2δ ≤ B) and δ ≤ min(1, d_f/2), half of layer 1 and twice layer 2 meets the printed
norms max(1,B)/δ and d_f/δ; for large δ no network meets them (witness "bias-too-small").

*Printed.* ψ(x; x_0) = (y+2)₊ − (y+1)₊ − (−y+2)₊ + (−y+1)₊ is 0 at the centre and ±1 at ±∞: a step,
not a bump. Layer 2 has slope 1/δ and two units per point, (Σψ/δ + 1 − d_f/δ)₊ and
(Σψ/δ − d_f/δ)₊, which also with the right bump is an indicator only if δ ≤ 1.
"""

from __future__ import annotations

import numpy as np

from dudley.calculus.compose import Chain
from dudley.core.constraint import Constraint, LInf
from dudley.core.errors import InputError
from dudley.networks.pointwise import Dense

SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
# y ↦ (slope·y + offset)₊ for the four hinges of a bump
HINGES = {
    "repaired": ((1, 2), (1, 1), (1, -1), (1, -2)),
    "printed": ((1, 2), (1, 1), (-1, 2), (-1, 1)),
}


def bump_weights(
    points: np.ndarray, values: np.ndarray, δ: float, form: str = "repaired", d: int | None = None
) -> list[dict[str, np.ndarray]]:
    """The weights W_1, b_1, W_2, b_2, w; the input is padded with zero rows to width d.

    >>> weights = bump_weights(np.array([[0.0], [1.0]]), np.array([3.0, 5.0]), 0.25)
    >>> f = network_of(weights)
    >>> f.apply(weights, np.array([[0.0], [0.25], [0.9], [1.25]]))[:, 0]
    array([3., 3., 5., 5.])
    """
    if form not in HINGES:
        raise InputError("form", " or ".join(map(repr, HINGES)), form)
    if not δ > 0:
        raise InputError("tolerance of the bumps", "a number > 0", δ)
    n, d_f = points.shape
    W_1 = np.zeros((d or d_f, 4, n, d_f))
    b_1 = np.zeros((4, n, d_f))
    for h, (slope, offset) in enumerate(HINGES[form]):
        for j in range(d_f):
            W_1[j, h, :, j] = slope / δ
        b_1[h] = -slope * points / δ + offset
    per_point = np.einsum("h,im->him", SIGNS, np.eye(n))  # (4, n, n): which units feel a bump
    per_point = np.repeat(per_point[:, :, None, :], d_f, axis=2).reshape(4 * n * d_f, n)
    if form == "repaired":
        W_2, b_2, w = per_point, np.full(n, 1.0 - d_f), values
    else:
        W_2 = np.hstack([per_point, per_point]) / δ
        b_2 = np.repeat([1 - d_f / δ, -d_f / δ], n)
        w = np.concatenate([values, -values])
    return [
        {"W_1": W_1.reshape(d or d_f, -1), "b_1": b_1.reshape(1, -1)},
        {"W_2": W_2, "b_2": b_2[None, :]},
        {"w": np.asarray(w, dtype=float)[:, None]},
    ]


def network_of(weights: list[dict[str, np.ndarray]]) -> Chain:
    """The network x ↦ ((xW_1 + b_1)₊W_2 + b_2)₊w as a node, with the largest entries as norms."""
    (first, second, last) = weights
    d_1, d_2 = first["W_1"].shape
    d_3 = second["W_2"].shape[1]
    return Chain(
        (
            Dense(d_1, _ball(first["W_1"]), d_2, _ball(first["b_1"]), "relu", ("W_1", "b_1")),
            Dense(d_2, _ball(second["W_2"]), d_3, _ball(second["b_2"]), "relu", ("W_2", "b_2")),
            Dense(d_3, _ball(last["w"]), 1, names=("w", "b_w")),
        )
    )


def _ball(W: np.ndarray) -> Constraint:
    return LInf(float(np.abs(W).max()))
