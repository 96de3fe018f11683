"""Why a certificate says nothing, in three lines: the number, what is to blame, what to do instead.

The number is compared with guessing. If the share of errors alone is not below it, no number of
examples helps. Otherwise the nats are too many for n, and the n is named at which the same share
and the same nats would be below guessing (`dudley.certificates.standing.least`).

>>> print("\\n".join(why_vacuous({"method": "occam", "value": 0.8, "delta": 0.05,
...     "prices": [{"name": "code", "nats": 2764.0}], "data": {"n": 4000},
...     "facts": {"errors": 12, "bits": 3987}, "baseline": {"error_at_least": 0.24}})))
vacuous: occam gives 0.8 with confidence 0.95, guessing at least 0.24
to blame: the code, 2,764 of 2,767 nats on 4,000 examples; 11,000 would do
instead: --holdout FILE, or dudley certify train TASK --method pick-to-learn
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dudley.certificates.comparison.cost import LEVEL, CertificateCost, amount, cost_of
from dudley.certificates.standing.least import least
from dudley.core.confidence import confidence
from dudley.core.rounding import ceiling, floor

PICKS = "dudley certify train TASK --method pick-to-learn"
INSTEAD = {
    "hold-out": f"instead: more fresh examples, or {PICKS}",
    "outcomes": "instead: more rows, or fewer questions and candidates that share δ",
    "pick-to-learn": "instead: a training that fits with fewer picks, or a hold-out",
}


def why_vacuous(item: Mapping[str, Any]) -> tuple[str, str, str]:
    """The three lines, of a certificate as plain data."""
    method, baseline = item["method"], item["baseline"]
    guess = min(baseline.get("worst", 1.0), baseline["error_at_least"])
    number, least_risk = ceiling(Decimal(repr(item["value"])), 3), floor(Decimal(repr(guess)), 3)
    first = f"vacuous: {method} gives {number} with confidence {confidence(item['delta'])}, "
    first += f"guessing at least {least_risk}"
    instead = INSTEAD.get(method, f"instead: --holdout FILE, or {PICKS}")
    return first, f"to blame: {_blame(cost_of(item), guess)}", instead


def blamed(item: Mapping[str, Any]) -> str:
    """What is to blame, in a few words."""
    cost, guess = cost_of(item), item["baseline"]["error_at_least"]
    if cost.share is not None and cost.share >= guess:
        return f"errors, {cost.share:.3g}"
    return "n" if cost.largest == LEVEL else cost.largest


def _blame(cost: CertificateCost, guess: float) -> str:
    if guess == 0:
        return "the labels or the level: guessing may never err, by all that is known"
    if cost.share is not None and cost.share >= guess:
        return f"the errors: a share of {cost.share:.3g} is not below guessing, at any n"
    if cost.largest not in (LEVEL, "the code", "the divergence"):
        what = cost.words  # a cover may have no size
    else:
        name = "too few examples" if cost.largest == LEVEL else cost.largest
        nats = f"{amount(cost.nats[cost.largest])} of {amount(cost.total)} nats"
        what = f"{name}, {nats} on {cost.n:,} examples"
    if cost.share is None:
        return what
    needed = least(cost.number, guess, cost.n)
    return what if needed is None else f"{what}; {_examples(needed)} would do"


def _examples(n: float) -> str:
    """Two digits, none below n: it is known to 5 %."""
    rounded = float(ceiling(n, 2))
    return f"{rounded:,.0f}" if rounded < 1e9 else f"{rounded:.2g}"
