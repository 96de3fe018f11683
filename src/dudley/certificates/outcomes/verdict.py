"""Is the risk below a declared level? Proved, proved to be larger, or too few data to tell.

**Rule.** With U and L the upper and the lower bound of the risk, each at δ′, and x the level:

    proved      U ≤ x
    larger      L > x
    too large   neither, and the mean loss of the rows is x or more
    too few     neither, and the mean loss is below x: more rows of the same kind would prove it

**Claim.** "Proved" and "larger" are wrong with probability at most δ′ together. **Proof.** If the
risk is x or less, only "larger" can be wrong, and then L exceeds the risk. If it is above x, only
"proved" can be, and then U is below it. Each has probability at most δ′, and only one of the two
cases is the case. ∎  The other two verdicts claim nothing.

For errors, ``more`` is the number of rows that lack if the share of errors stays as it is, by the
exact binomial; for other losses it comes from the divergence bound, and is somewhat too large.

>>> import numpy as np
>>> verdict_of(LossQuestion(np.r_[1.0, np.zeros(199)], True, 2.9957), 0.02)
LevelVerdict(level=0.02, word='too few', more=113)
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.certificates.inversion import binomial_upper, kl_upper
from dudley.certificates.outcomes.question import LossQuestion

MOST = 1 << 40  # rows, beyond which none are named
PROVED, LARGER, TOO_LARGE, TOO_FEW = "proved", "larger", "too large", "too few"


@dataclass(frozen=True)
class LevelVerdict:
    """The level, one of four words, and how many more independent draws would do."""

    level: float
    word: str
    more: int | None = None


def verdict_of(question: LossQuestion, level: float) -> LevelVerdict:
    """The verdict at the question's share of δ."""
    if question.upper() <= level:
        return LevelVerdict(level, PROVED)
    if question.lower() > level:
        return LevelVerdict(level, LARGER)
    if question.mean() >= level:
        return LevelVerdict(level, TOO_LARGE)
    return LevelVerdict(level, TOO_FEW, draws_lacking(question, level))


def draws_lacking(question: LossQuestion, level: float) -> int | None:
    """How many more draws would prove the level at the same mean loss; None beyond 2⁴⁰."""
    n, mean, c = question.count(), question.mean(), question.c
    errors = round(mean * n)

    def proves(count: int) -> bool:
        if question.binary:
            return binomial_upper(-(-errors * count // n), count, c) <= level
        return kl_upper(mean, c / count) <= level

    enough = n
    while not proves(enough):
        enough *= 2
        if enough > MOST:
            return None
    least = enough // 2
    while enough - least > 1:
        middle = (least + enough) // 2
        least, enough = (least, middle) if proves(middle) else (middle, enough)
    return enough - n
