"""From a trained model to one on a grid: levels, pruning and rank, searched on the training data.

Occam's bound holds for every code word at once, so the search may look at the training data as
often as it likes. The certified model is what comes out: the *quantised* one.

``compress`` takes any model: a step for every matrix, pruning by magnitude, products of low rank;
then ``prune``, a local search over levels that minimises the bound itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from dudley.certificates.base import METHODS
from dudley.certificates.codes.base import Frame, WeightArrays, cheapest, write
from dudley.certificates.codes.kinds.low_rank import LowRankCode, Product
from dudley.certificates.codes.kinds.sparse import SparseCode, SparsePart
from dudley.certificates.codes.kinds.subspace import short
from dudley.certificates.data import Dataset
from dudley.certificates.fit.forward import FitExamples
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.occam.method import checked_frame
from dudley.core.errors import DudleyError, InputError
from dudley.core.watch import Watch

LARGEST = 100_000  # weights: to write a code word takes a time that grows with their square
SparseState = dict[str, SparsePart]
Candidate = tuple[float, WeightArrays]  # about its bound, and the weights
Move = Callable[[SparsePart], SparsePart]


@dataclass(frozen=True, eq=False)
class Search:
    """Models on a grid over one network, judged on some of the training data."""

    examples: FitExamples
    frame: Frame
    n: int
    delta: float = 0.05
    watch: Watch = field(default_factory=Watch)

    def word(self, state: SparseState) -> int:
        """The length of the sparse code word."""
        return write(
            "sparse", tuple(state[name] for name, _ in self.frame.shapes), self.frame
        ).length

    def weights(self, state: SparseState) -> WeightArrays:
        """What it decodes to."""
        parts = tuple(state[name] for name, _ in self.frame.shapes)
        return SparseCode().weights(parts, self.frame)

    def value(self, state: SparseState, limit: float = math.inf) -> float:
        """About the bound; infinity at once where the bits alone exceed the limit."""
        self.watch.look()
        try:
            length = self.word(state)
        except DudleyError:
            return math.inf
        if relaxed_bound(0.0, length, self.n, self.delta) >= limit:
            return math.inf
        share = self.examples.errors(self.weights(state)) / self.examples.n
        return relaxed_bound(share, length, self.n, self.delta)

    def value_of(self, weights: WeightArrays) -> float:
        """The same for any weights that have a code."""
        self.watch.look()
        word = cheapest(weights, self.frame)
        if word is None:
            return math.inf
        share = self.examples.errors(weights) / self.examples.n
        return relaxed_bound(share, word.length, self.n, self.delta)


def relaxed_bound(share: float, length: float, n: int, delta: float) -> float:
    """kl⁻¹(share, (ℓ ln 2 + ln 1/δ)/n) by bisection in floats: to compare, not to claim."""
    c = (length * math.log(2) - math.log(delta)) / n
    if share <= 0:
        return -math.expm1(-c)
    low, high = share, 1.0
    for _ in range(40):
        p = (low + high) / 2
        kl = share * math.log(share / p)
        kl += (1 - share) * (math.log1p(-share) - math.log1p(-p)) if share < 1 else 0.0
        low, high = (p, high) if kl < c else (low, p)
    return high


def quantise(U: np.ndarray, fold: str, q: int, digits: int = 0) -> SparsePart:
    """Levels −q, …, q; the step is max|U|/q with so many binary digits after the first.

    Without digits it is a power of two, and the matrix is rescaled by up to √2.
    """
    largest = float(np.abs(U).max(initial=0.0))
    if largest == 0:
        return SparsePart(fold, 1.0, np.zeros(U.shape, np.int64))
    if digits == 0:
        step = 2.0 ** round(math.log2(largest / q))
    else:
        m, e = math.frexp(largest / q)
        step = math.ldexp(round(m * 2 ** (digits + 1)), e - digits - 1)
    return SparsePart(fold, step, np.rint(U * (q / largest)).astype(np.int64))


def compress(
    model: Hypothesis,
    data: Dataset,
    levels: Iterable[int] = (1, 2, 4, 8, 16, 32),
    ranks: Iterable[int] = (1, 2, 4),
    searched: int = 5000,
    looks: int = 1500,
    watch: Watch | None = None,
    **declared: Any,
) -> Hypothesis:
    """A model on a grid near the given one whose bound is the least that was found.

    Each matrix gets levels up to q, for every q of ``levels``; the best starts are pruned. Products
    of every rank of ``ranks`` are tried too. Where the given weights come from does not matter: the
    bound pays for the bits of what comes out. A start whose pruning the watch leaves out counts as
    it is.
    """
    fixed, watch = METHODS["occam"].read_declared(declared), watch or Watch()
    frame, examples = checked_frame(model, fixed), FitExamples(model, data)
    if frame.count > LARGEST:
        fix = "train a model that a short code describes: dudley certify train --method occam"
        raise InputError("model to compress", f"at most {LARGEST:,} weights", frame.count, fix)
    few = examples.part(slice(0, searched)) if data.n > searched else examples
    search = Search(few, frame, data.n, fixed.delta, watch)
    whole = Search(examples, frame, data.n, fixed.delta, watch)
    starts = {
        q: {n: quantise(model.weights[n], "plain", q, 3) for n, _ in frame.shapes} for q in levels
    }

    def refined(q: int) -> Candidate:
        W = search.weights(prune(search, starts[q], looks=looks)[0])
        return whole.value_of(W), W

    def product(q: int, r: int) -> Candidate | None:
        W = _product(dict(model.weights), frame, q, r)
        return None if W is None else (whole.value_of(W), W)

    values = {q: watch.do(f"levels up to {q}", partial(search.value, starts[q])) for q in starts}
    known = {q: value for q, value in values.items() if value is not None}
    tried = sorted(known, key=lambda q: known[q])[:2]
    # Products first: where the model is large, pruning takes all the time that there is.
    products = [
        watch.do(f"rank {r} on levels up to {q}", partial(product, q, r))
        for q in starts
        for r in ranks
    ]
    prunings = [watch.do(f"pruning of levels up to {q}", partial(refined, q)) for q in tried]
    plain = [
        (known[q], search.weights(starts[q]))
        for q, pair in zip(tried, prunings, strict=True)
        if pair is None
    ]
    candidates = [pair for pair in [*prunings, *products, *plain] if pair is not None]
    first = search.weights(next(iter(starts.values())))  # where there was no time for anything
    best = min(candidates, key=lambda pair: pair[0], default=(math.inf, first))[1]
    return Hypothesis(model.tables, model.encoding_table, best)


def _product(weights: WeightArrays, frame: Frame, q: int, r: int) -> WeightArrays | None:
    """Every matrix as a product of two quantised factors of rank r (smaller ones as they are)."""
    parts = []
    for name, shape in frame.shapes:
        U, S, V = np.linalg.svd(weights[name], full_matrices=False)
        k = min(r, *shape)
        A = quantise(U[:, :k] * np.sqrt(S[:k]), "plain", q, 3)
        B = quantise(np.sqrt(S[:k])[:, None] * V[:k], "plain", q, 3)
        parts.append(Product(short(A.step * B.step), A.levels, B.levels))
    made = LowRankCode().weights(parts, frame)
    return made if all(np.isfinite(W).all() for W in made.values()) else None


def prune(
    search: Search, state: SparseState, rounds: int = 8, looks: int = 20_000
) -> tuple[SparseState, float]:
    """Local search: coarser levels, simpler steps, fewer nonzeros, other levels; then again.

    It ends when a round changes nothing, after ``rounds`` of them, or after so many ``looks``.
    """
    best, value = dict(state), search.value(state)
    for _ in range(rounds):
        before = value
        for moves in MOVES:
            for name, part in list(best.items()):
                for change in moves(part):
                    candidate = best | {name: change(best[name])}
                    reached, looks = search.value(candidate, value), looks - 1
                    if reached < value:
                        best, value = candidate, reached
                    if looks <= 0:
                        return best, value
        if value >= before:
            break
    return best, value


def _coarser(part: SparsePart) -> Iterator[Move]:
    q = int(np.abs(part.levels).max(initial=0))
    for other in sorted({1, 2, 3, 4, 6, 8, q // 2, q - 1}):
        if 0 < other < q:
            yield lambda now, other=other: quantise(now.levels * now.step, now.fold, other)


def _simpler_steps(part: SparsePart) -> Iterator[Move]:
    yield lambda now: replace(now, levels=0 * now.levels)
    for step in (1.0, 0.5, 2.0, part.step / 2, part.step * 2):
        yield lambda now, step=step: replace(now, step=step)


def _fewer(part: SparsePart) -> Iterator[Move]:
    """Without the smaller half, quarter, … of the nonzeros, down to single entries."""
    flat = part.levels.ravel()
    order = sorted(np.flatnonzero(flat), key=lambda i: abs(flat[i]))
    size = len(order) // 2
    while size > 1:
        for i in range(0, len(order), size):
            yield _set(order[i : i + size], 0)
        size //= 2
    for i in order:
        yield _set([i], 0)


def _other_levels(part: SparsePart) -> Iterator[Move]:
    flat = part.levels.ravel()
    for i in np.flatnonzero(flat):
        for level in sorted({flat[i] + 1, flat[i] - 1, flat[i] // 2, 2 * flat[i], -flat[i]}):
            yield _set([i], int(level))
    for level in np.unique(flat[flat != 0]):  # all entries of one level at once
        for other in (level - 1, level + 1, 2 * level):
            yield _set(np.flatnonzero(flat == level), int(other))


def _move_nonzero(part: SparsePart) -> Iterator[Move]:
    """A nonzero goes to a neighbouring place."""
    flat, width = part.levels.ravel(), part.levels.shape[1]
    for i in np.flatnonzero(flat):
        for j in sorted({i - 1, i + 1, i - width, i + width}):
            if 0 <= j < len(flat) and not flat[j]:
                yield _set([i, j], [0, int(flat[i])])


def _set(places, levels) -> Move:
    def change(now: SparsePart) -> SparsePart:
        changed = now.levels.copy()
        changed.flat[list(places)] = levels
        return replace(now, levels=changed)

    return change


MOVES = (_coarser, _simpler_steps, _fewer, _other_levels, _move_nonzero)
