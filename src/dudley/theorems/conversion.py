"""From what a statement bounds to risk − training loss, with confidence 1 − δ.

The loss ℓ has values in [0, b] and is L-Lipschitz in the output, and R is the Rademacher complexity
of the losses of the class on any sample of n examples. Then (:mod:`dudley.calculus.deviate`)

    risk − training loss ≤ 2R + b√(ln(1/δ)/2n)   for every function of the class at once.

* A gap stands as it is, at this loss and δ.
* A Rademacher complexity R(F) of functions with one output: R ≤ L·R(F) (contraction). One of the
  losses themselves is R.
* A covering number of F at ε is one of the losses at Lε. These lie within A = b/2 of the constant
  b/2, and R is at most what a chain from A down costs (:func:`by_octaves`).
* A risk: risk − training loss ≤ risk, since no loss is negative.
* An excess risk does not bound the gap: a training loss may be as far as it likes below the risk of
  the best of the class. Nor does a norm, a distance, or another part of a proof.

The sum is not cut at b, so that one sees how far a bound is from saying something; at or above b it
says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dudley.calculus.deviate import deviation
from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense, Term
from dudley.core.statement import MEASURES, Statement
from dudley.core.subject import LINEAR_MAPS, MASKED_WORD as OWN_LOSS, VECTORS
from dudley.theorems.by_form import BoundOrReason
from dudley.theorems.comparison import Evaluator

EXCESS, GAP, RADEMACHER, COVERS, OTHER = MEASURES
NO_GAP_FROM_EXCESS = "an excess risk does not bound risk − training loss"
NO_CLASS = "bounds a part of a proof or of a construction, not what a class can learn"
ONE_RESOLUTION = "its covering number is known at one resolution only"
DEEPEST = 60  # octaves of a chain
LARGEST = 600.0  # log of a number that is still added to others


@dataclass(frozen=True)
class GapTask:
    """What a gap is about: n examples, 1 − δ, and a loss."""

    n: float
    delta: float
    lipschitz: float
    range: float

    @cached_property
    def deviation(self) -> float:
        """b√(ln(1/δ)/2n)."""
        return float(deviation(self.n, self.delta, self.range))


@dataclass(frozen=True)
class Conversion:
    """How a statement becomes a gap, in words, and what that takes besides the statement."""

    how: str
    assumption: str = ""


def conversion_of(s: Statement) -> Conversion | str:
    """The conversion of a statement, or why there is none.

    >>> from dudley.theorems import registry
    >>> conversion_of(registry.load()["trauger2024/lemma-3.6"]).assumption
    'the loss is Lipschitz in the ℓ2 norm of the output'
    """
    measure = s.measure
    if measure == GAP:
        return Conversion("as it stands")
    if measure == RADEMACHER and s.subject == OWN_LOSS:
        return Conversion("2R + deviation", "the loss is its own, clipped at loss.range")
    if measure == RADEMACHER:
        return Conversion("2LR + deviation", _assumed(s, "the one output"))
    if measure == COVERS:
        if all(i.name != "epsilon" for i in s.inputs):
            return ONE_RESOLUTION
        vectors = VECTORS in s.quantity or s.subject == LINEAR_MAPS
        where = "the ℓ2 norm of the output" if vectors else "the one output"
        return Conversion("chained, then 2R + deviation", _assumed(s, where))
    if s.quantity.startswith("risk of"):
        return Conversion("the risk itself", "no loss is negative")
    return NO_GAP_FROM_EXCESS if measure == EXCESS else NO_CLASS


def _assumed(s: Statement, where: str) -> str:
    """In what the loss is Lipschitz; and what is given of a class must not depend on the sample."""
    of_class = any(i.name.startswith("class.") for i in s.inputs)
    also = ", and what is given of the class holds on every sample" if of_class else ""
    return f"the loss is Lipschitz in {where}{also}"


def as_gap(
    s: Statement, values: Mapping[str, float], form: str, task: GapTask, evaluate: Evaluator
) -> BoundOrReason:
    """One form of a convertible statement as a gap, or why it is refused here."""
    conversion = conversion_of(s)
    assert isinstance(conversion, Conversion)
    if s.measure == COVERS:
        log_R = _chained(s, values, form, task, evaluate)
        return log_R if isinstance(log_R, str) else _total(s, form, conversion, task, log_R)
    bound = evaluate(s, values, form)
    if isinstance(bound, str):
        return bound
    if bound.negative is not None:
        return "the formula is negative here"
    if s.measure != RADEMACHER:
        return replace(bound, quantity=GAP, trivial=task.range)
    factor = 1.0 if s.subject == OWN_LOSS else task.lipschitz
    return _total(s, form, conversion, task, bound.log_value + math.log(factor))


def _chained(
    s: Statement, values: Mapping[str, float], form: str, task: GapTask, evaluate: Evaluator
) -> float | str:
    """The log of R, from the covering numbers of one form."""

    def log_cover(ε: float) -> Bound:
        bound = evaluate(s, {**values, "epsilon": ε / task.lipschitz}, form)
        if isinstance(bound, str):
            raise _NoCover(bound)
        if bound.negative is not None:
            raise _NoCover("the formula is negative here")
        return bound

    try:
        return by_octaves(lambda ε: log_cover(ε).log_value, task.range / 2, task.n)
    except _NoCover as refusal:
        return str(refusal)


class _NoCover(Exception):
    """A covering number was refused at some resolution."""


def by_octaves(log_log_N: Callable[[float], float], A: float, n: float) -> float:
    """The log of min over chains A = d_0 > d_1 > … of d_J + Σ_j ℓ_j √(2 log N(d_j)/n).

    The scales are A/2^k. The first link is as long as A and each other d_i + d_j, for centres that
    need not be members (:mod:`dudley.calculus.chain`). Every chain is valid. The search goes down
    until a chain that ends there costs more than the best one before what is left below its end.

    >>> round(math.exp(by_octaves(lambda ε: -2 * math.log(ε), 1.0, 1e6)), 4)  # log N = 1/ε²
    0.0308
    """
    scales, costs, best = [A], [0.0], math.inf
    for k in range(1, DEEPEST + 1):
        scale = A / 2**k
        log_price = (math.log(2 / n) + log_log_N(scale)) / 2
        if log_price > LARGEST:
            return math.log(A) + log_price if k == 1 else math.log(best)
        price = math.exp(log_price)
        links = [cost + (d + scale) * price for d, cost in zip(scales, costs, strict=True)]
        cost = min(A * price, *links)
        best = min(best, cost + scale)
        if cost >= best:
            break
        scales.append(scale)
        costs.append(cost)
    return math.log(best)


def _total(
    s: Statement, form: str, conversion: Conversion, task: GapTask, log_R: float
) -> BoundOrReason:
    """2R + deviation, with what it rests on; by its logarithm past the floats."""
    declared = Assumption("loss", conversion.assumption, Status.DECLARED)
    sense = Sense.CONSTANT if s.form(form).sense is Sense.CONSTANT else Sense.CONFIDENCE
    log_complexity = math.log(2) + log_R
    facts = {
        "quantity": GAP,
        "sense": sense,
        "delta": task.delta,
        "assumptions": (*s.assumptions, declared),
        "trivial": task.range,
    }
    if log_complexity > LARGEST:
        return Bound(log_complexity, **facts)
    complexity = math.exp(log_complexity)
    terms = (Term("complexity", complexity), Term("deviation", task.deviation))
    return Bound.of(complexity + task.deviation, terms=terms, **facts)
