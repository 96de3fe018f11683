"""Beside a choice from a list: the hold-out that the same examples would have bought.

Whoever has n labelled examples can also choose on some of them, and test the chosen candidate on
the rest: then the choice costs nothing, and the examples do. The splits are declared before the
data: shares q₁, …, q_J of the examples are held out, in the canonical order permuted by a seed that
is drawn at random (`dudley.certificates.order`). Before each the candidate of the smallest bound is
chosen, by the same rule, and its errors on the rest are those of a candidate that was fixed before
them. So

    R(h_j) ≤ max{p : P[Bin(m_j, p) ≤ k_j] ≥ δ/J}

for all J splits at once with probability at least 1 − δ, and the best of them may be shown. This
holds at 1 − δ by itself: whoever takes the smaller of it and the choice on all data has chosen
among two, and declares ``among=2`` for both.

>>> import numpy as np
>>> from dudley.certificates.selection import certify_selection
>>> y = np.arange(300) % 2
>>> result = certify_selection(["right", "wrong"], np.stack([y, 1 - y], axis=1), y)
>>> declared = result.certificate.declared
>>> print(choice_beside(result.candidates, result.outcomes, declared, seed=0))
hold-out: at most 0.03355 (no error on the 120 examples held out of 300; the best of 3 splits)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates import digits, order
from dudley.certificates.beside import SHARES, held_out_sizes
from dudley.certificates.certificate import Certificate
from dudley.certificates.comparison.cost import cost_of, counted
from dudley.certificates.comparison.winner import HOLD_OUT, Contender, winner
from dudley.certificates.methods.selection.candidates import CandidateList
from dudley.certificates.methods.selection.declared import SelectionDeclared
from dudley.certificates.methods.selection.method import Selection
from dudley.certificates.methods.selection.outcomes import Outcomes
from dudley.certificates.price import Bill, one_of
from dudley.core.errors import InputError
from dudley.core.rounding import ceiling


@dataclass(frozen=True)
class ChoiceSplit:
    """One split: how many were held out, who was chosen before, and its errors and bound."""

    held_out: int
    candidate: int
    errors: int
    value: float

    @property
    def cost(self) -> str:
        """What the number is made of."""
        return f"{counted(self.errors, 'error')} on the {self.held_out:,} examples held out"


@dataclass(frozen=True)
class ChoiceBeside:
    """All splits, each at δ over their number."""

    n: int
    seed: int
    splits: tuple[ChoiceSplit, ...]

    @property
    def best(self) -> ChoiceSplit:
        """The split with the least number; of equal ones the first."""
        return min(self.splits, key=lambda split: split.value)

    def __str__(self) -> str:
        many = f"; the best of {len(self.splits)} splits" if len(self.splits) > 1 else ""
        value = ceiling(Decimal(repr(digits.up(self.best.value))), 4)
        return f"hold-out: at most {value} ({self.best.cost} of {self.n:,}{many})"

    def against(self, certificate: Certificate) -> str:
        """Which of both numbers is smaller, and what each of them costs."""
        item, best = certificate.to_json(), self.best
        vacuous = best.value >= certificate.baseline["error_at_least"]
        fresh = Contender(HOLD_OUT, digits.up(best.value), best.cost, vacuous)
        words = cost_of(item).words
        return winner((fresh, Contender(item["method"], item["value"], words, item["vacuous"])))


def choice_beside(
    listed: CandidateList,
    outcomes: Outcomes,
    declared: SelectionDeclared,
    shares: Sequence[float] = SHARES,
    seed: int | None = None,
) -> ChoiceBeside:
    """Choose before each split, test behind it; predictions of every candidate are needed.

    Without a ``seed`` one is drawn.
    """
    seed = order.declared_seed(seed)
    form = outcomes.predictions if outcomes.scores is None else outcomes.scores
    if form is None:
        fix = "give those of every candidate"
        raise InputError("hold-out beside a choice", "predictions to choose from", "one's", fix)
    n, sizes = outcomes.n, held_out_sizes(outcomes.n, shares)
    whole = order.canonical(form, outcomes.y)
    rows = whole[order.permutation(f"hold-out beside a choice {seed}", n)]
    prices = [one_of("split", len(sizes)), one_of("method", declared.among)]
    c, splits = Bill(declared.delta, tuple(prices)).log_confidence, list[ChoiceSplit]()
    for size in sizes:
        first, rest = _part(outcomes, rows[:-size]), _part(outcomes, rows[-size:])
        i = Selection().choose(listed, first, declared).candidate
        errors = int((rest.column(listed, i) != rest.y).sum())
        splits.append(ChoiceSplit(size, i, errors, binomial_upper(errors, size, c)))
    return ChoiceBeside(n, seed, tuple(splits))


def _part(outcomes: Outcomes, rows: np.ndarray) -> Outcomes:
    form = {
        name: None if (array := getattr(outcomes, name)) is None else array[rows]
        for name in ("predictions", "scores")
    }
    return Outcomes(outcomes.y[rows], **form)
