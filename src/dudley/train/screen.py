"""A screen: all rows of a split only for trials that do well on the first of them.

At every evaluation the first n of the split's N rows are looked at. A trial has the other rows
looked at too where its accuracy on the n is at least a number, where the stopping rule ends it, and
at the last step. What is known of the n rows alone is an estimate, with a name of its own
(``screened_holdout_accuracy``); ``holdout_accuracy`` and ``holdout_loss`` are NaN at a check where
not all rows were looked at. So best values, rules and kept weights know whole evaluations only, and
whatever is counted as a success is one: a screen can miss a success, it cannot invent one.

**What it misses.** A success is an accuracy above a number at *some* check, that is at most K
errors among N rows. Let the rows be exchangeable (independent draws, which training never sees),
and let τ be the first check with at most K errors. A permutation of the rows changes no number of
errors among all N, so it changes neither τ nor the number of errors k ≤ K at τ: given both, every
order of the rows is equally likely, and the errors among the first n at τ are hypergeometric. A
success is missed only if the screen fails at τ, so for each trial

    P(missed) ≤ P(Hypergeometric(N, K, n) > f),   f the errors that a screen lets pass,

as the right side grows with k. There is no union over checks, and none over anything else: m trials
together miss a success with m times that at most, whatever they share. It holds with a stopping
rule on the same accuracy too, which changes nothing before τ.

>>> holdout = Screen()  # n = 1,024 at .97: 30 errors pass, 31 do not
>>> holdout.passing_errors, f"{holdout.missed(10_000, 99):.2g}"  # above .99 of 10⁴: 99 errors
(30, '6.4e-09')
>>> f"{8800 * holdout.missed(10_000, 99):.1g}"  # any of the paper's 8,800 trials
'6e-05'

The rows of planted tasks, masked tokens and matrices are such draws. Those of MNIST stand in the
order of its file: a screen of them has no such bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.core.constraint import size_of
from dudley.core.errors import InputError

SPLITS = ("holdout", "validation", "test")


@dataclass(frozen=True)
class Screen:
    """All rows of ``split`` only where the first ``rows`` have an accuracy of ``at_least``."""

    split: str = "holdout"  # which split of every evaluation: not train
    rows: int = 1024  # rows that are looked at for every trial
    at_least: float = 0.97  # all rows are looked at where the accuracy on these is at least this

    def __post_init__(self):
        if self.split not in SPLITS:
            raise InputError("split of a screen", f"one of {', '.join(SPLITS)}", self.split)
        object.__setattr__(self, "rows", size_of("rows of a screen", self.rows))
        if not 0 < self.at_least <= 1:
            raise InputError("at_least of a screen", "a share in (0, 1]", self.at_least)

    @property
    def metric(self) -> str:
        """The name of the accuracy on the first rows."""
        return f"screened_{self.split}_accuracy"

    @property
    def passing_errors(self) -> int:
        """The most errors on the first rows with which a trial passes."""
        return next(k for k in range(self.rows, -1, -1) if self.passes(self.rows - k))

    def passes(self, right: int) -> bool:
        """Do so many right answers pass, in the arithmetic of `measures`?"""
        return right / self.rows >= self.at_least

    def missed(self, size: int, errors: int) -> float:
        """The most that P(missed) is, where at most ``errors`` of ``size`` rows are a success."""
        from scipy.stats import hypergeom

        self.expect_fewer_than(size)
        if not 0 <= errors <= size:
            raise InputError("errors of a success", f"0 to {size}", errors)
        return float(hypergeom(size, errors, self.rows).sf(self.passing_errors))

    def expect_fewer_than(self, size: int) -> None:
        """Refuse a screen of as many rows as there are."""
        if self.rows >= size:
            raise InputError(
                "rows of a screen", f"fewer than the {size} of {self.split}", self.rows
            )
