"""Abstention: the lowest threshold on a score at which the answered examples err rarely enough.

A model answers where its score is at least t. Declared are a grid of thresholds, a level r, and how
many chains look for the threshold. What is proved of the threshold t that comes out:

    P[error | score ≥ t] ≤ r,

and that at least a share κ of all examples is answered.

**Rule.** The grid is t_1 > t_2 > … > t_G, the most cautious first. Of s chains, chain j begins at
place ⌊(j−1)G/s⌋ + 1 with a share δ′/s, and goes down the grid. A threshold is passed if the upper
bound on the risk of the answered examples, taken at the shares of all chains that have come there
together, is at most r; else these chains end. The lowest threshold that is passed comes out. s = 1
is fixed-sequence testing; with one chain all is lost where the first thresholds have few answers.

**Proof** (of the fallback procedure: Wiens, Pharmaceutical Statistics 2 (2003), 211–215). Call t
bad if P[error | score ≥ t] > r. Suppose that bad thresholds are passed, and look at the first of
them in the order of the grid. The bad ones before it were not passed and ended their chains. So
there come together only chains that begin after the last bad threshold before it: a number of
shares v that is fixed. Given how many rows have a score ≥ t, their losses are independent draws
with the mean that they have there, and the bound is below it with probability at most v. Each chain
is counted at one bad threshold, so the v sum to at most δ′. ∎

(Learn-then-Test: Angelopoulos, Bates, Candès, Jordan and Lei, arXiv 2110.01052v5, section 4, has
chains that keep their own shares, for p-values by Hoeffding and Bentkus. A binomial tail is never
above these, and shares that are added up pass all that a single one does.) A threshold that
was picked where the observed share of errors is r has no such bound: it fails in about half of all
cases.

**Coverage.** κ is the lower bound of Clopper and Pearson on P[score ≥ t], at δ″/G: it holds for all
thresholds at once, so for the one that came out. With units it is the mean over units of the share
of rows that are answered, by fixed bets unless one row stands for each.

>>> score = np.linspace(0, 1, 1000)
>>> losses = ((np.arange(1000) % 2 == 0) & (score < 0.6)) * 1.0
>>> gate = gate_of(LossQuestion(losses, True, 3.0), 3.0, score, (0.2, 0.4, 0.55, 0.7, 0.9), 0.1, 1)
>>> gate.threshold, gate.answered, round(gate.coverage, 3)
(0.55, 450, 0.413)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dudley.certificates.outcomes.question import LossQuestion, share_nats
from dudley.core.errors import InputError


@dataclass(frozen=True)
class RiskAtThreshold:
    """A threshold: what is answered there, its mean loss, and whether a chain passed it."""

    threshold: float
    answered: int
    mean: float | None
    passed: bool


@dataclass(frozen=True)
class Gate:
    """The threshold that came out (none, if no chain passed any), and what is proved of it."""

    level: float
    threshold: float | None
    answered: int
    coverage: float
    curve: tuple[RiskAtThreshold, ...]


def gate_of(
    question: LossQuestion,
    coverage_c: float,
    score: np.ndarray,
    grid: Sequence[float],
    level: float,
    chains: int,
) -> Gate:
    """The gate of the declared grid; ``coverage_c`` is ln(1/δ″) of the coverage."""
    cuts = thresholds_of(grid)
    expect_chains(chains, len(cuts))
    masks = [score >= t for t in cuts]
    passed = _passed(question, masks, level, chains)
    curve = []
    for t, mask, good in zip(cuts, masks, passed, strict=True):
        mean = question.mean(mask) if mask.any() else None
        curve.append(RiskAtThreshold(t, int(mask.sum()), mean, good))
    best = max((i for i, good in enumerate(passed) if good), default=None)
    if best is None:
        return Gate(level, None, 0, 0.0, tuple(curve))
    answering = replace(question, losses=masks[best] * 1.0, errors=True, c=coverage_c)
    κ = answering.lower(nats=share_nats(len(cuts)))
    return Gate(level, cuts[best], curve[best].answered, κ, tuple(curve))


def _passed(
    question: LossQuestion, masks: list[np.ndarray], level: float, chains: int
) -> list[bool]:
    """Which thresholds are passed, each at the shares of the chains that have come there."""
    begins = [j * len(masks) // chains for j in range(chains)]
    passed, together = [], 0
    for i, mask in enumerate(masks):
        together += begins.count(i)
        nats = share_nats(chains / together) if together else math.inf
        good = together > 0 and bool(mask.any()) and question.upper(mask, nats) <= level
        together *= good
        passed.append(good)
    return passed


def thresholds_of(grid: Sequence[float]) -> tuple[float, ...]:
    """The declared thresholds, the most cautious first."""
    if not grid or len(set(grid)) < len(grid) or not all(map(math.isfinite, grid)):
        raise InputError("thresholds", "finite numbers that differ, at least one", list(grid)[:8])
    return tuple(sorted(map(float, grid), reverse=True))


def expect_chains(chains: int, count: int) -> None:
    """Refuse more chains than thresholds."""
    if not 1 <= chains <= count:
        raise InputError("chains", f"1 to {count}, the number of thresholds", chains)
