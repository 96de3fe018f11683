"""One published statement on one trained model: as a bound on its error.

A statement bounds the Rademacher complexity R of a class in which the model lies, or log N(ε) of
it, which Dudley's integral turns into R (by his 4 and 12 for ``derived``, by the best chaining for
``best``, without constants for ``printed``). The rest is the same for all: the ramp loss at margin
γ is 1/γ-Lipschitz and never below the error, so with probability 1 − δ

    P[error] ≤ (mean ramp on the training set) + 2R/γ + √((ln(1/δ) + nats)/2n).

``nats`` pays for what was read off after training: every norm that the statement takes (rounded up
to the grid √2^j) and γ (rounded down to 2^{j/8}). Printed forms are evaluated at the norms as they
are, and nothing is paid. Statements about the excess risk of an empirical risk minimiser, which a
model is whose training ramp is 0, hold in expectation, above the risk of the best of the class:
their numbers are set beside the others, and are no bounds on this model's error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dudley.calculus.deviate import deviation
from dudley.calculus.union import Grid
from dudley.certificates.standing.least import least
from dudley.certificates.standing.margins import TrainingMargins
from dudley.certificates.standing.reading import Reading
from dudley.certificates.standing.stated import Stated
from dudley.core.bound import Sense
from dudley.core.errors import InputError
from dudley.core.situation import Situation
from dudley.core.statement import Statement
from dudley.theorems.chaining import chained, printed_integral
from dudley.theorems.comparison import inputs_of

RULES = {"derived": "dudley", "best": "best"}
ENCODER = "mwigo2026"
# A class that the inputs do not tell apart from that of one head.
ELSEWHERE = {"mwigo2026/lemma-1": "it averages the outputs of all tokens; this head reads one"}
Values = Mapping[str, float]
Readings = Mapping[str, Reading]


@dataclass(frozen=True)
class Case:
    """One statement on one model."""

    statement: Statement
    readings: Readings
    training: TrainingMargins

    @property
    def takes(self) -> frozenset[str]:
        """The names of the statement's inputs."""
        return frozenset(i.name for i in self.statement.inputs)

    @property
    def reading(self) -> Reading | None:
        """The model as a member of the statement's class; ``None`` if it is none."""
        if self.statement.paper == ENCODER:
            return self.readings.get("encoder")
        return self.readings["block" if "L" in self.takes else "head"]

    @property
    def excess(self) -> bool:
        return self.statement.measure == "excess risk"

    @property
    def about(self) -> str:
        if self.excess:
            return "an empirical risk minimiser, above the best of the class"
        return "every model with such norms"

    @property
    def sense(self) -> str:
        if self.excess:
            return f"{Sense.EXPECTATION.value}, for norms and a margin fixed before the data"
        return Sense.CONFIDENCE.value

    @cached_property
    def _examples_needed(self) -> dict[str, float | None]:
        return {}

    @cached_property
    def situation(self) -> Situation:
        assert self.reading is not None
        values = dict(self.reading.values)
        values |= {"n": self.training.n, "delta": self.training.delta, "epsilon": 1.0}
        if self.excess and self.training.separating_margin is not None:
            reach = math.prod(values[name] for name in ("w.l2", "X.row2inf", "W_c.op", "W_v.op"))
            values |= {"kappa": 1 / self.training.separating_margin, "target.bound": reach}
        return Situation(values)

    @property
    def fails(self) -> tuple[str, str] | None:
        """The hypothesis that fails, if one does: in a few words, and in a sentence."""
        s = self.statement
        if s.id in ELSEWHERE:
            return "another class", ELSEWHERE[s.id]
        if self.reading is None:
            return "another class", "its encoder has no W_c, and this head has one"
        owners = {name.partition(".")[0] for name in self.takes}
        loose = sorted({"w", "W_c"} & self.reading.trained - owners - {"W"})
        if loose and "W" not in owners:
            return "readout", f"its class has no {' and '.join(loose)}, which this model trained"
        if self.excess and self.training.separating_margin is None:
            return "no minimiser", "the model errs on its training set: it is no minimiser there"
        lacking = [i for i in s.inputs if i.default is None and self.situation.find(i.name) is None]
        if not lacking:
            return None
        needs = "; ".join(f"{i.name}: {i.text}" for i in lacking)
        return (
            f"needs {', '.join(i.name for i in lacking)}",
            f"it needs what is not known here: {needs}",
        )

    @cached_property
    def measured_inputs(self) -> dict[str, float]:
        """The inputs of the statement, as measured."""
        return inputs_of(self.statement, self.situation)

    @cached_property
    def paid_inputs(self) -> tuple[dict[str, float], float]:
        """The inputs with what was read off moved up to the grid, and the price of it."""
        assert self.reading is not None
        values, nats = dict(self.measured_inputs), self.training.γ[1]
        for name, value in self.measured_inputs.items():
            owner, _, norm = name.partition(".")
            if norm and norm != "rank" and owner in (*self.reading.trained, "W"):
                values[name], price = Grid().round_up(value)
                nats += price
        return values, nats

    def values(self, form: str) -> dict[str, float]:
        return self.measured_inputs if form == "printed" else self.paid_inputs[0]

    def complexity(self, form: str, n: float, values: Values | None = None) -> float:
        """R of the class on n examples; for an excess risk, that."""
        s, inputs = self.statement, dict(values or self.values(form))
        inputs |= {"n": n} if "n" in self.takes else {}
        if s.measure != "covering number":
            return _positive(s.evaluate_on(inputs, form).value)
        A = radius(inputs)
        if form == "printed":
            return printed_integral(n, _positive(s.evaluate_on(inputs, form).value), A, 1.0)
        return chained(Stated(s, form, tuple(inputs.items()), A), A, n, RULES[form])

    def terms(self, form: str, n: float, values: Values | None = None) -> dict[str, float]:
        """The summands of the bound on the error."""
        R = self.complexity(form, n, values)
        if self.excess:
            return {"excess risk": R}
        γ, nats = self.training.γ[0], 0.0 if form == "printed" else self.paid_inputs[1]
        drift = float(deviation(n, self.training.delta, paid=nats))
        return {"training ramp": self.training.ramp(γ), "complexity": 2 * R / γ, "deviation": drift}

    def total(self, form: str, n: float, values: Values | None = None) -> float:
        """The bound on the error; at or above 1 it says nothing."""
        return math.fsum(self.terms(form, n, values).values())

    @cached_property
    def printed_total(self) -> float | None:
        """The printed form at the measured norms; ``None`` where its formula is not positive."""
        try:
            return self.total("printed", self.training.n)
        except InputError:
            return None

    def examples_needed(self, form: str) -> float | None:
        """The n from which the form is below guessing, to 5 %; ``None`` past 10^30."""
        if form not in self._examples_needed:
            n_needed = least(lambda n: self.total(form, n), self.training.guess, self.training.n)
            self._examples_needed[form] = n_needed
        return self._examples_needed[form]


def radius(values: Values) -> float:
    """The largest |f| of the class: L_σ·‖w‖₂·‖W_c‖·‖W_v‖·B_X, or ‖w‖₂ behind the projection Π.

    >>> radius({"W_v.l11": 2.0, "w.l2": 3.0, "X.row2inf": 1.0, "sigma.lipschitz": 1.0})
    6.0
    """
    situation = Situation(
        {n: v for n, v in values.items() if n not in ("n", "delta", "epsilon", "c")}
    )
    w = situation.find("w.l2")
    if "L" in values:
        return 1.0 if w is None else w
    parts = [situation.find(name) for name in ("X.row2inf", "W_v.op", "W_c.op", "sigma.lipschitz")]
    return math.prod(x for x in (w, *parts) if x is not None)


def _positive(value: float) -> float:
    if not value > 0:
        raise InputError("formula", "a number > 0", value)
    return value
