"""Measures of the weights alone: sizes, norms, distances from the start, paths, spectra.

Larger always means that a larger gap is expected. Matrices are all weights but gains, biases and
positions; W⁰ are those at the start, P is their number of entries, m the number of examples.

| measure | formula |
|---|---|
| parameters, parameters/m | P, P/m |
| sum of squares | Σ ‖W‖_F² |
| sum of column norms | Σ Σ_j ‖W_{:,j}‖₂, and the same over √m |
| sum of entries | Σ ‖W‖₁,₁ |
| sum of spectral norms | Σ ‖W‖² |
| product of spectral, Frobenius norms | Σ log ‖W‖, Σ log ‖W‖_F |
| spectrally normalised | log Π‖W‖² (Σ (‖W‖₂,₁/‖W‖)^{2/3})³ (Bartlett et al., 2017) |
| Frobenius over spectral | log Π‖W‖² Σ ‖W‖_F²/‖W‖² (Neyshabur et al., 2018) |
| distance, squared distance/m | Σ‖W − W⁰‖_F², the same over m |
| spectral distance | Σ ‖W − W⁰‖² |
| path norm, squared path norm | Σ over paths of Π|w|, of Πw² (Neyshabur et al., 2015) |
| stable rank | mean of ‖W‖_F²/‖W‖² |
| power law | minus the mean of α, the exponent of the upper half of the eigenvalues of WᵀW |
| weighted power law | mean of α log₁₀ λ_max (Martin, Peng and Mahoney, 2021) |
| reciprocal of m, steps | 1/m, steps until the loss was reached |

A path goes through values and MLPs; attention's weights sum to 1 and are left out, gains too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from dudley.core.backend import torch
from dudley.train.ensemble.base import WeightTensors

MemberNumbers = dict[str, torch.Tensor]
OTHERS = ("gain", "bias", "P")  # weights that are no matrices of linear maps


def matrices(weights: WeightTensors) -> dict[str, torch.Tensor]:
    """The matrices, in float64, in the order of the network."""
    return {
        name: W.detach().double()
        for name, W in weights.items()
        if name.rpartition(".")[2] not in OTHERS
    }


def of_weights(weights: WeightTensors, first: WeightTensors, m: torch.Tensor) -> MemberNumbers:
    """All of them, (E,) each, for members with m (E,) examples."""
    now, start = matrices(weights), matrices(first)
    moved = {name: W - start[name] for name, W in now.items()}
    singular = {name: torch.linalg.svdvals(W) for name, W in now.items()}
    largest = torch.stack([s[:, 0] for s in singular.values()]).clamp(min=1e-12)  # (matrices, E)
    squares = torch.stack([(s**2).sum(1) for s in singular.values()]).clamp(min=1e-24)
    columns = torch.stack([W.norm(dim=1).sum(1) for W in now.values()])
    away = torch.stack([D.flatten(1).square().sum(1) for D in moved.values()]).sum(0)
    count = torch.full_like(away, sum(W[0].numel() for W in weights.values()))
    product = largest.log().sum(0)
    tails = torch.stack([power_law(s) for s in singular.values()])
    return {
        "parameters": count,
        "parameters/m": count / m,
        "sum of squares": squares.sum(0),
        "sum of column norms": columns.sum(0),
        "sum of column norms/√m": columns.sum(0) / m.sqrt(),
        "sum of entries": torch.stack([W.abs().sum((1, 2)) for W in now.values()]).sum(0),
        "sum of spectral norms": largest.square().sum(0),
        "product of spectral norms": product,
        "product of Frobenius norms": squares.log().sum(0) / 2,
        "spectrally normalised": 2 * product + 3 * ((columns / largest) ** (2 / 3)).sum(0).log(),
        "Frobenius over spectral": 2 * product + (squares / largest**2).sum(0).log(),
        "squared distance": away,
        "squared distance/m": away / m,
        "spectral distance": torch.stack(
            [torch.linalg.matrix_norm(D, 2).square() for D in moved.values()]
        ).sum(0),
        "path norm": paths(now, torch.abs),
        "squared path norm": paths(now, torch.square),
        "stable rank": (squares / largest**2).mean(0),
        "power law": -tails.nanmean(0),
        "weighted power law": (tails * largest.square().log10()).nanmean(0),
        "reciprocal of m": 1 / m,
    }


def paths(named: Mapping[str, torch.Tensor], size) -> torch.Tensor:
    """log of the sum, over all paths from an input to an output, of the products of ``size(w)``.

    Residual branches start at W_v and at W_1, and are added in a network that has an MLP.
    """
    residual = any(name.endswith("W_1") for name in named)
    rows = None
    for name, W in named.items():
        kind, V = name.rpartition(".")[2], size(W)
        if kind in ("W_QK", "W_Q", "W_K"):
            continue
        if rows is None:
            rows = V.new_ones(len(V), 1, V.shape[1])
        if kind in ("W_v", "W_1"):
            before = rows
        rows = rows @ V
        if residual and kind in ("W_c", "W_2"):
            rows = before + rows  # pyright: ignore[reportPossiblyUnboundVariable]
    assert rows is not None
    return rows.sum((1, 2)).clamp(min=1e-300).log()


def power_law(singular: torch.Tensor) -> torch.Tensor:
    """α of p(λ) ∝ λ^{−α} above the median eigenvalue λ₀: 1 + k/Σ log(λ_i/λ₀), (E,) (Hill).

    >>> round(float(power_law(torch.tensor([[4.0, 2.0, 1.0, 0.5]]))), 3)  # above 1: 16 and 4
    1.481
    """
    k = singular.shape[1] // 2
    if k == 0:
        return torch.full_like(singular[:, 0], math.nan)
    λ = singular.clamp(min=1e-12).square()
    return 1 + k / (λ[:, :k] / λ[:, k : k + 1]).log().sum(1).clamp(min=1e-12)
