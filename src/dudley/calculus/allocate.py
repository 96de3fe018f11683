"""Allocate: split a resolution between blocks so that the covers are smallest together.

If replacing block i at error ε_i moves the output by at most β_i ε_i, then covers at errors ε_i
with Σ β_i ε_i ≤ ε make a cover of the whole at ε, of log size Σ log N_i(ε_i). Every feasible
split is a valid upper bound; an optimiser can only fail to be tightest.

Closed forms (trauger2024, Lemma E.1; li2026, eq. 20): :func:`power_law`, :func:`logarithmic`.
General entropies: :class:`Allocated`, by one multiplier (``calculus.solve``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dudley.calculus.hull import Hull, hull
from dudley.calculus.memory import in_company, remembered
from dudley.calculus.solve import (
    SplitProblem,
    log_sum as log_sum,
    solve,
    solve_together,
)
from dudley.calculus.splits import BlockRows
from dudley.core.entropy import Entropy
from dudley.core.magnitude import Magnitude

Hulls = tuple[Hull, ...]  # of the blocks, in their order


def power_law(C: ArrayLike, β: ArrayLike, ε: float) -> tuple[float, np.ndarray]:
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


def logarithmic(p: ArrayLike, β: ArrayLike, ε: float) -> tuple[float, np.ndarray]:
    """min Σ p_i log(1/ε_i) subject to Σ β_i ε_i = ε, and the minimiser ε_i = ε p_i/(β_i Σp).

    >>> value, parts = logarithmic([1.0, 3.0], [1.0, 1.0], 0.4)
    >>> parts
    array([0.1, 0.3])
    """
    p, β = np.asarray(p, dtype=float), np.asarray(β, dtype=float)
    parts = ε * p / (β * p.sum())
    return float(-(p * np.log(np.where(p > 0, parts, 1.0))).sum()), parts


@dataclass(frozen=True, eq=False)
class WeightBlock:
    """A block of weights (or many alike) in a network.

    ``entropy`` covers the block's map on unit inputs. ``weight`` is the change of the network's
    output per unit error of that map (sensitivity times input radius), one entry for each block
    of this kind; ``copies`` says how many blocks share each entry.
    """

    name: str
    entropy: Entropy
    weight: Magnitude
    copies: int = 1

    @property
    def log_reach(self) -> np.ndarray:
        """log of how far blocks can move the output: weight times the radius of their map."""
        return self._rows[0]

    @property
    def log_counts(self) -> np.ndarray:
        """log of how many blocks share each entry of the reach."""
        return self._rows[1]

    @property
    def places(self) -> np.ndarray:
        """The entry of the weight that each entry of the reach is: the largest, of several."""
        return self._rows[2]

    @cached_property
    def _rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reach, count and place of each row of an allocation.

        A few copies have a row each, and so have a few hundred entries. More of them are sorted
        from the top, and past the first ones each run is charged as its largest entry: a larger
        weight is safe, and of entries that fall evenly a run at place k rounds log w by a sixteenth
        of what it is below the top.
        """
        weights = np.ravel(np.asarray(self.weight.log, dtype=float))
        if self.entropy.log_radius == -math.inf:
            reach = np.full(weights.shape, -math.inf)  # one map only, whatever follows it
        else:
            reach = weights + self.entropy.log_radius
        if len(reach) * self.copies <= _APART:
            places = np.repeat(np.arange(len(reach)), self.copies)
            return reach[places], np.zeros(len(places)), places
        if len(reach) <= _ALONE:
            return reach, np.full(len(reach), math.log(self.copies)), np.arange(len(reach))
        starts, start = [], 0
        while start < len(reach):
            starts.append(start)
            start += max(1, start // _PART)
        places = np.argsort(-reach, kind="stable")[starts]
        lengths = np.diff([*starts, len(reach)])
        return reach[places], np.log(lengths) + math.log(self.copies), places

    @cached_property
    def content(self) -> tuple:
        """All that the entropy of a network depends on: not the name."""
        weights = np.asarray(self.weight.log, dtype=float)
        return self.entropy, self.copies, weights.shape, weights.tobytes()


_APART, _ALONE = 64, 256  # so many copies, and so many weights, are allocated one by one
_PART = 16  # of more weights, a run is at most this part of those before it


@dataclass(frozen=True, eq=False)
class Allocated(Entropy):
    """The entropy of a whole network: block entropies under the best split of ε.

    Block i at relative resolution x_i ∈ (0, 1] of its radius costs H_i(x_i) and uses w_i x_i of
    the budget. For a multiplier λ each block takes the vertex of its convex hull that minimises
    H_i + λ w_i x_i; λ is the smallest (by bisection) that keeps the budget. What that leaves over
    goes to the blocks that take a coarser vertex just below λ, one after the other. At coarse ε
    vertices are far apart, so splits that need no multiplier are tried as well: every split of the
    budget between a few blocks into equal parts (many blocks: one resolution for all), and one
    block that is covered while all others are one point. None of these costs more at a larger ε.
    Blocks that share an entropy share one table, so ninety-six equal layers cost little more than
    one.

    A cover on points is asked for the number of examples rounded up to a power of two: a cover of
    more points covers fewer, log(2N+1) grows by at most log 2, and a sweep over n shares tables.
    Allocations of equal blocks are equal, and share what was solved for any of them.

    Where every member stays within ``log_output`` of one fixed function (a network's outputs have
    norm at most its output radius, so 0 is such a function), that function alone is a cover from
    there on. As a member of the class it need not serve; but any member is within twice as much
    of every other one.

    >>> import dudley as du
    >>> head = du.Head(d=8, W_QK=du.L11(9.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
    >>> entropy = du.capacity(head, du.Tokens(1.0, T=4)).allocated
    >>> entropy(0.99) > 0, entropy(1.0), entropy.proper()(1.99) > 0, entropy.proper()(2.0)
    (True, 0.0, True, 0.0)
    """

    blocks: tuple[WeightBlock, ...]
    log_output: float = math.inf
    _solved: dict = field(default_factory=dict, repr=False)
    _tables: dict = field(default_factory=dict, repr=False)

    @cached_property
    def _content(self) -> tuple:
        return self.log_output, *(block.content for block in self.blocks)

    @cached_property
    def _hash(self) -> int:
        return hash(self._content)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Allocated) and self._content == other._content

    @cached_property
    def log_radius(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        return min(self._log_reach, self.log_output)

    @cached_property
    def _log_reach(self) -> float:
        """log of how far all blocks together can move the output."""
        every = [b.log_counts + b.log_reach for b in self.blocks]
        return float(log_sum(np.concatenate(every)))

    @cached_property
    def uses_points(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return any(b.entropy.uses_points for b in self.blocks)

    def proper(self) -> Allocated:
        return _first(self)._members

    @cached_property
    def _members(self) -> Allocated:
        """Made once: it remembers what it has solved."""
        blocks = tuple(replace(b, entropy=b.entropy.proper()) for b in self.blocks)
        return Allocated(blocks, self.log_output + math.log(2))

    def log_log(self, log_ε: ArrayLike, log_n: float | None = None) -> np.ndarray:
        log_ε = np.asarray(log_ε, dtype=float)
        if self.log_output < math.inf:
            return np.where(
                log_ε >= self.log_output, -math.inf, self._by_blocks.log_log(log_ε, log_n)
            )
        same = _first(self)
        hulls = same._hulls(log_n)
        scales, place = in_company(log_ε)
        key = _key(scales, hulls)
        if key not in same._solved:
            same._keep(scales, hulls, solve(same.problem(scales, hulls))[1])
        return same._solved[key][0][place].reshape(log_ε.shape)

    def _keep(self, scales: np.ndarray, hulls: Hulls, log_H: np.ndarray) -> None:
        """Remember what was solved; the hulls stay alive, so their ids stay theirs."""
        log_H.flags.writeable = False
        self._solved[_key(scales, hulls)] = (log_H, hulls)

    def problem(self, log_ε: np.ndarray, hulls: Hulls) -> SplitProblem:
        """What is to be solved at these scales."""
        rows = tuple(
            BlockRows(b.log_reach[:, None], b.log_counts, h)
            for b, h in zip(self.blocks, hulls, strict=True)
        )
        return SplitProblem(rows, log_ε, self._log_reach)

    @cached_property
    def _by_blocks(self) -> Allocated:
        """The same without the output radius: what is solved for the blocks is solved once."""
        return Allocated(self.blocks)

    def rounded(self, log_n: float | None) -> float | None:
        """log of the number of examples, rounded up to a power of two where covers need it."""
        if log_n is None or not self.uses_points:
            return None
        return float(octaves(log_n)) * math.log(2)

    def split(
        self, log_ε: float, log_n: float | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each block log of its relative resolution x and log log N, at one ε.

        Both have an entry for each one of its ``log_reach``, which stands for as many blocks as
        ``log_counts`` says. All of them together have the entropy, below the output radius.
        """
        result, _ = solve(self.problem(np.array([log_ε]), self._hulls(log_n)))
        return [(-y[:, 0], log_H[:, 0]) for y, log_H in result]

    def bought(
        self, log_ε: float, log_n: float | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Like :meth:`split`, but each x is the finest one that its price buys: where the cover of
        that price was evaluated. It uses no more of the budget.
        """
        hulls = self._hulls(log_n)
        result, _ = solve(self.problem(np.array([log_ε]), hulls))
        return [
            (-np.maximum(h.finest(log_H[:, 0]), y[:, 0]), log_H[:, 0])
            for h, (y, log_H) in zip(hulls, result, strict=True)
        ]

    def _hulls(self, log_n: float | None) -> Hulls:
        log_n = self.rounded(log_n)
        if log_n not in self._tables:
            self._tables[log_n] = tuple(
                hull(b.entropy, log_n if b.entropy.uses_points else None) for b in self.blocks
            )
        return self._tables[log_n]


def _key(scales: np.ndarray, hulls: Hulls) -> tuple:
    return (scales.tobytes(), *map(id, hulls))


@remembered(512)
def _first(entropy: Allocated) -> Allocated:
    """The first of all equal allocations: the one that remembers."""
    return entropy


def solve_ahead(questions: Iterable[tuple[Entropy, np.ndarray, float | None]]) -> None:
    """Solve side by side what allocations will be asked: log_log(log ε, log n) of each entropy."""
    ahead: dict[tuple, tuple[Allocated, np.ndarray, Hulls]] = {}
    for entropy, log_ε, log_n in questions:
        if isinstance(entropy, Allocated):
            same = _first(entropy if entropy.log_output == math.inf else entropy._by_blocks)
            hulls, scales = same._hulls(log_n), np.atleast_1d(log_ε)
            key = _key(scales, hulls)
            if key not in same._solved:
                ahead[id(same), *key] = (same, scales, hulls)
    problems = [same.problem(scales, hulls) for same, scales, hulls in ahead.values()]
    for (same, scales, hulls), log_H in zip(ahead.values(), solve_together(problems), strict=True):
        same._keep(scales, hulls, log_H)


def octaves(log_n: float | np.ndarray) -> np.ndarray:
    """⌈log₂ n⌉, for a log n that may be off in its last places."""
    return np.ceil(log_n / math.log(2) * (1 - 2.0**-50))
