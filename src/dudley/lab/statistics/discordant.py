"""Paired outcomes: the same trials, two ways. How different are the two success rates?

Of n trials, b succeed the first way alone and c the other way alone; the others agree. With p_b and
p_c the probabilities of the two kinds of discordant pair, the rates differ by Δ = p_c − p_b, which
c/n − b/n estimates (McNemar 1947).

**Are they different?** Given b + c, and if p_b = p_c, c is binomial(b + c, ½): the exact two-sided
test, ``p``.

**Are they equivalent?** Two one-sided tests against a margin M > 0, set beforehand. If Δ ≤ −M then
p_b = p_c − Δ ≥ M, and b is binomial(n, p_b): so

    P(Bin(n, M) ≤ b) ≤ α

rejects it at level α, exactly and for every n; likewise for Δ ≥ M with c. Both are rejected, and
the rates are equivalent within M, just if the exact one-sided bounds U of Clopper and Pearson at
level α are below M; [−U(b), U(c)] holds Δ with probability at least 1 − 2α. The interval does not
use that one kind of pair offsets the other: with many of both it is wide.

>>> agree = DiscordantPairs(first_alone=0, other_alone=0, trials=64)
>>> verdict = agree.equivalence(margin=0.05)
>>> verdict.equivalent, round(verdict.lowest, 4), round(verdict.highest, 4)  # ±(1 − .05^(1/64))
(True, -0.0457, 0.0457)
>>> DiscordantPairs(1, 9, 100).p < 0.05, DiscordantPairs(1, 0, 64).equivalence(0.05).equivalent
(True, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, binomtest

from dudley.core.errors import InputError
from dudley.lab.statistics.proportions import clopper_pearson
from dudley.lab.statistics.trend import Equivalence


@dataclass(frozen=True)
class DiscordantPairs:
    """How many trials succeed one way alone."""

    first_alone: int
    other_alone: int
    trials: int

    def __post_init__(self):
        least = min(self.first_alone, self.other_alone)
        if least < 0 or self.first_alone + self.other_alone > self.trials or self.trials < 1:
            got = (self.first_alone, self.other_alone, self.trials)
            raise InputError("discordant pairs", "two counts, and at least as many trials", got)

    @classmethod
    def of(cls, first: Sequence[bool], other: Sequence[bool]) -> DiscordantPairs:
        """From the outcomes of the same trials in the same order."""
        a, b = (np.asarray(outcomes, dtype=bool) for outcomes in (first, other))
        if a.shape != b.shape or a.ndim != 1:
            raise InputError("paired outcomes", "two rows of one length", (a.shape, b.shape))
        return cls(int((a & ~b).sum()), int((b & ~a).sum()), len(a))

    @property
    def difference(self) -> float:
        """The other rate less the first."""
        return (self.other_alone - self.first_alone) / self.trials

    @property
    def p(self) -> float:
        """Of the exact test that the rates are the same; 1 where all pairs agree."""
        discordant = self.first_alone + self.other_alone
        return float(binomtest(self.other_alone, discordant).pvalue) if discordant else 1.0

    def equivalence(self, margin: float, alpha: float = 0.05) -> Equivalence:
        """Two one-sided tests of |Δ| ≥ margin, and the interval of level 1 − 2α behind them."""
        if not 0 < margin < 1:
            raise InputError("margin of equivalence", "a number in (0, 1)", margin)
        counts = np.array([self.first_alone, self.other_alone])
        p = float(binom.cdf(counts, self.trials, margin).max())
        _, highest = clopper_pearson(counts, self.trials, 1 - 2 * alpha)
        return Equivalence(p < alpha, p, -float(highest[0]), float(highest[1]), margin)
