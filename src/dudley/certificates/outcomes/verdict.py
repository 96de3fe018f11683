"""Is the risk below a declared level? Proved, proved to be larger, or too few data to tell.

**Rule.** With U the upper bound of the risk, L the lower one where it was declared (and paid for),
and x the level:

    proved      U ≤ x
    larger      L > x
    too large   neither, and the mean loss of the rows is x or more
    too few     neither, and the mean loss is below x: more rows of the same kind would prove it

**Claim.** The verdict is true wherever U and L are. **Proof.** "Proved" is wrong only if U is below
the risk, and "larger" only if L is above it. ∎  The other two verdicts claim nothing.

Without a lower end nothing is said to be larger. Beside the number U that would need a share of δ
of its own: at a risk just below x, U falls below it where few rows err, and L rises above x where
many do. These are different samples, so that together they have twice the probability of each.

``more`` is the number of rows that lack if the shares of losses stay as they are: for errors by the
exact binomial, for other losses by the bound of `mean`.

>>> import numpy as np
>>> verdict_of(LossQuestion(np.r_[1.0, np.zeros(199)], True, 2.9957), 0.02)
LevelVerdict(level=0.02, word='too few', more=113)
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.outcomes.mean import proves_below
from dudley.certificates.outcomes.question import LossQuestion

MOST = 1 << 40  # rows, beyond which none are named
PROVED, LARGER, TOO_LARGE, TOO_FEW = "proved", "larger", "too large", "too few"


@dataclass(frozen=True)
class LevelVerdict:
    """The level, one of four words, and how many more independent draws would do."""

    level: float
    word: str
    more: int | None = None


def verdict_of(question: LossQuestion, level: float, two_sided: bool = False) -> LevelVerdict:
    """The verdict at the question's share of δ; ``two_sided`` says that a lower end is stated."""
    if question.upper() <= level:
        return LevelVerdict(level, PROVED)
    if two_sided and question.lower() > level:
        return LevelVerdict(level, LARGER)
    if question.mean() >= level:
        return LevelVerdict(level, TOO_LARGE)
    return LevelVerdict(level, TOO_FEW, draws_lacking(question, level))


def draws_lacking(question: LossQuestion, level: float) -> int | None:
    """How many more draws would prove the level at the same mean loss; None beyond 2⁴⁰."""
    draws, c = question.draws(), question.c
    n, errors = len(draws), round(float(draws.sum()))

    def proves(count: int) -> bool:
        if question.binary:
            return binomial_upper(-(-errors * count // n), count, c) <= level
        return proves_below(draws, c, level, count)

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
