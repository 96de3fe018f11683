"""Allocate: split a resolution between blocks so that the covers are smallest together.

If replacing block i at error ε_i moves the output by at most β_i ε_i, then covers at errors ε_i
with Σ β_i ε_i ≤ ε make a cover of the whole at ε, of log size Σ log N_i(ε_i). Every feasible
split is a valid upper bound; an optimiser can only fail to be tightest.

Closed forms (trauger2024, Lemma E.1; li2026, eq. 20): :func:`power_law`, :func:`logarithmic`.
General entropies: :class:`Allocated`, by one multiplier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from dudley.core.entropy import Entropy
from dudley.core.magnitude import Magnitude


def power_law(C, β, ε: float) -> tuple[float, np.ndarray]:
    """min Σ C_i/ε_i² subject to Σ β_i ε_i = ε, and the minimiser.

    The value is g³/ε² with g = Σ C_i^{1/3} β_i^{2/3}, at ε_i = (ε/g)(C_i/β_i)^{1/3}.
    Blocks with C_i = 0 or β_i = 0 cost nothing.

    >>> value, parts = power_law([1.0, 8.0], [1.0, 1.0], 1.0)
    >>> round(value, 9), parts.round(3)
    (27.0, array([0.333, 0.667]))
    """
    C, β = np.asarray(C, dtype=float), np.asarray(β, dtype=float)
    g = (np.cbrt(C) * np.cbrt(β) ** 2).sum()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        parts = np.where(β > 0, (ε / g if g > 0 else 0.0) * np.cbrt(C / β), math.inf)
    return float(g**3 / ε**2), parts


def logarithmic(p, β, ε: float) -> tuple[float, np.ndarray]:
    """min Σ p_i log(1/ε_i) subject to Σ β_i ε_i = ε, and the minimiser ε_i = ε p_i/(β_i Σp).

    >>> value, parts = logarithmic([1.0, 3.0], [1.0, 1.0], 0.4)
    >>> parts
    array([0.1, 0.3])
    """
    p, β = np.asarray(p, dtype=float), np.asarray(β, dtype=float)
    parts = ε * p / (β * p.sum())
    return float(-(p * np.log(np.where(p > 0, parts, 1.0))).sum()), parts


@dataclass(frozen=True, eq=False)
class Block:
    """A block of weights (or many alike) in a network.

    ``entropy`` covers the block's map on unit inputs. ``weight`` is the change of the network's
    output per unit error of that map (sensitivity times input radius), one entry for each block
    of this kind; ``copies`` says how many blocks share each entry.
    """

    name: str
    entropy: Entropy
    weight: Magnitude
    copies: int = 1

    @cached_property
    def log_reach(self) -> np.ndarray:
        """log of how far the block can move the output: weight times the radius of its map."""
        return np.ravel(np.asarray(self.weight.log, dtype=float)) + self.entropy.log_radius


# Relative resolutions x = e^{−y} at which block entropies are tabulated: these, and between them
# as many as keep the steps of log H near one percent.
_COARSE = np.concatenate([np.arange(0, 12, 0.05), 12 * 1.05 ** np.arange(190)])  # to e^{−120,000}
_STEP, _MOST = 0.01, 100
_FEASIBLE = math.log1p(-1e-9)  # the budget is kept with room for rounding
_RESOLVED = 1e-3  # how finely log λ is settled


@lru_cache(maxsize=256)
def _nodes(entropy: Entropy) -> np.ndarray:
    """Where an entropy is tabulated: finer where it grows faster."""
    log_n = math.log(1e6) if entropy.uses_points else None
    log_H = entropy.log_log(entropy.log_radius - _COARSE, log_n)
    with np.errstate(invalid="ignore"):
        growth = np.nan_to_num(np.diff(log_H), nan=0.0, posinf=_STEP * _MOST)
    pieces = np.clip(np.ceil(growth / _STEP), 1, _MOST).astype(int)
    starts = np.repeat(_COARSE[:-1], pieces)
    widths = np.repeat(np.diff(_COARSE) / pieces, pieces)
    inside = np.arange(len(starts)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.append(starts + widths * inside, _COARSE[-1])


@lru_cache(maxsize=1024)
def _table(entropy: Entropy, nodes_of: Entropy, log_n: float | None) -> np.ndarray:
    """log H of one part of an entropy, at the nodes of another."""
    return entropy.log_log(entropy.log_radius - _nodes(nodes_of), log_n)


@lru_cache(maxsize=256)
def _hull(entropy: Entropy, log_n: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices (y, log H) of the lower convex hull of H(x), x = e^{−y}, and log slopes between.

    A node above the chord of its neighbours can never be chosen by a multiplier; dropping such
    nodes until none is left leaves the hull.
    """
    parts = entropy.parts()
    tables = [_table(part, parts[0], log_n if part.uses_points else None) for part in parts]
    y, log_H = _nodes(parts[0]), np.minimum.reduce(tables)
    log_H = np.maximum.accumulate(np.where(y == 0, -math.inf, log_H))
    ends = np.append(log_H[1:] > log_H[:-1], True) & (log_H < math.inf)  # the far end of each step
    y, log_H = y[ends], log_H[ends]
    while True:
        slopes = _log_slopes(y, log_H)
        keep = np.ones(len(y), dtype=bool)
        keep[1:-1] = slopes[:-1] < slopes[1:]
        if keep.all():
            return y, log_H, slopes
        y, log_H = y[keep], log_H[keep]


def _log_slopes(y, log_H):
    """log of (H_{k+1} − H_k)/(x_k − x_{k+1})."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = log_H[1:] + np.log1p(-np.exp(np.minimum(log_H[:-1] - log_H[1:], 0.0)))
        run = -y[:-1] + np.log1p(-np.exp(y[:-1] - y[1:]))
    return rise - run


@dataclass(frozen=True, eq=False)
class Allocated(Entropy):
    """The entropy of a whole network: block entropies under the best split of ε.

    Block i at relative resolution x_i ∈ (0, 1] of its radius costs H_i(x_i) and uses w_i x_i of
    the budget. For a multiplier λ each block takes the vertex of its convex hull that minimises
    H_i + λ w_i x_i; λ is the smallest (by bisection) that keeps the budget. Blocks that share an
    entropy share one table, so ninety-six equal layers cost little more than one.

    A cover on points is asked for the number of examples rounded up to a power of two: a cover of
    more points covers fewer, log(2N+1) grows by at most log 2, and a sweep over n shares tables.
    """

    blocks: tuple[Block, ...]
    _solved: dict = field(default_factory=dict, repr=False)

    @property
    def log_radius(self) -> float:
        return float(self._total([np.zeros_like(b.log_reach) for b in self.blocks], weighted=True))

    @property
    def uses_points(self) -> bool:
        return any(b.entropy.uses_points for b in self.blocks)

    def proper(self) -> Allocated:
        return Allocated(tuple(replace(b, entropy=b.entropy.proper()) for b in self.blocks))

    def log_log(self, log_ε, log_n=None):
        log_ε = np.asarray(log_ε, dtype=float)
        key = (log_ε.tobytes(), self.rounded(log_n))
        if key not in self._solved:
            self._solved[key] = self._solve(np.atleast_1d(log_ε), key[1])[1]
            self._solved[key].flags.writeable = False
        return self._solved[key].reshape(log_ε.shape)

    def rounded(self, log_n: float | None) -> float | None:
        """log of the number of examples, rounded up to a power of two where covers need it."""
        if log_n is None or not self.uses_points:
            return None
        return float(octaves(log_n)) * math.log(2)

    def split(
        self, log_ε: float, log_n: float | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each block the log of its relative resolution x and its log log N, at one ε."""
        log_n = self.rounded(log_n)
        vertices, _ = self._solve(np.array([log_ε]), log_n)
        found = []
        for block, vertex in zip(self.blocks, vertices, strict=True):
            y, log_H, _ = _hull(block.entropy, log_n)
            found.append((-y[vertex[:, 0]], log_H[vertex[:, 0]]))
        return found

    def _solve(self, log_ε, log_n):
        """The chosen hull vertices, one array (blocks × resolutions) each, and log Σ H."""
        hulls = [_hull(block.entropy, log_n) for block in self.blocks]
        enough = log_ε >= self.log_radius
        target = np.where(enough, math.inf, log_ε + _FEASIBLE)
        low, high = self._bracket(hulls, np.where(enough, 0.0, target))
        while np.max(high - low, initial=0.0) > 1:
            middle = np.floor((low + high) / 2)
            fits = self._spent(hulls, self._vertices(hulls, middle * _RESOLVED)) <= target
            low, high = np.where(fits, low, middle), np.where(fits, middle, high)
        vertices = self._vertices(
            hulls, np.where(enough, -1e300, high * _RESOLVED)
        )  # nothing bought
        log_H = self._total_entropy(hulls, vertices)
        return vertices, np.where(self._spent(hulls, vertices) <= target, log_H, math.inf)

    def _bracket(self, hulls, target):
        """Multipliers at which nothing is bought, and at which every block fits an equal share.

        Both are multiples of the resolution of log λ, one list for all ε: so the multiplier that
        is found, the least of the list that fits, never grows with ε, and neither does Σ H.
        """
        shares = math.log(sum(b.log_reach.size * b.copies for b in self.blocks))
        low, high = np.full(len(target), math.inf), np.full(len(target), -math.inf)
        for block, (y, _, slopes) in zip(self.blocks, hulls, strict=True):
            reach = block.log_reach[np.isfinite(block.log_reach)][:, None]
            if not (reach.size and slopes.size):
                continue
            bought = np.clip(np.searchsorted(y, reach + shares - target), 1, len(slopes)) - 1
            low = np.minimum(low, slopes[0] - reach.max() - 1)
            high = np.maximum(high, (slopes[bought] - reach).max(axis=0) + 1e-6)
        low, high = np.minimum(low, high), np.where(np.isfinite(high), high, low)
        known = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(known, low, 0.0), np.where(known, high, 0.0)
        return np.floor(low / _RESOLVED), np.ceil(high / _RESOLVED)

    def _vertices(self, hulls, log_λ):
        return [
            np.searchsorted(slopes, log_λ[None, :] + block.log_reach[:, None])
            for block, (_, _, slopes) in zip(self.blocks, hulls, strict=True)
        ]

    def _spent(self, hulls, vertices):
        return self._total(
            [-y[k] for (y, _, _), k in zip(hulls, vertices, strict=True)], weighted=True
        )

    def _total_entropy(self, hulls, vertices):
        return self._total(
            [log_H[k] for (_, log_H, _), k in zip(hulls, vertices, strict=True)], weighted=False
        )

    def _total(self, logs, weighted: bool):
        """log Σ_i copies_i e^{logs_i}, each term weighted by its block's reach if asked."""
        parts = []
        for block, log in zip(self.blocks, logs, strict=True):
            reach = block.log_reach.reshape((-1,) + (1,) * (log.ndim - 1)) if weighted else 0.0
            parts.append(log + math.log(block.copies) + reach)
        return log_sum(np.concatenate(parts, axis=0))


def octaves(log_n):
    """⌈log₂ n⌉, for a log n that may be off in its last places."""
    return np.ceil(log_n / math.log(2) * (1 - 2.0**-50))


def log_sum(logs: np.ndarray) -> np.ndarray:
    """log Σ e^{logs} along the first axis; −∞ for an empty or vanishing sum."""
    peak = np.max(logs, axis=0)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.where(np.isfinite(peak), safe + np.log(np.exp(logs - safe).sum(axis=0)), peak)
