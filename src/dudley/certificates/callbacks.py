"""Certificates during training: the terms are logged, one certificate counts.

A :class:`Log` is told of the model at each evaluation and at the end, and keeps a row of terms
for each: the number, prices, and the facts of the method (errors, margin, norms, bits …). Which
of them *counts* as a certificate is said before training: the one at a given step, or the last.
All others are marked ``counts: false``: they show where training goes, and a number picked among
them for being small is not covered by δ.

A hold-out is spent by looking at it: a method that knows ``looks`` must be told how many there
will be (each is claimed at δ/looks), and one more is refused.

>>> import numpy as np
>>> tables = {"schema": "dudley.net/1", "input": {"T": 4, "V": 7},
...     "layer": [{"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1,
...                "sigma": "identity"}]}
>>> def head(w):
...     W_v = np.array([[-1.0], [0], [0], [w], [0], [0], [0]])
...     return Hypothesis(tables, {"name": "bits", "T": 3}, {"0.v": abs(0 * W_v), "0.W_v": W_v})
>>> X = np.random.default_rng(0).integers(0, 2, (1000, 3))
>>> log = Log("occam", Dataset(X, X[:, 0]), hypothesis=head, counts="last")
>>> for step, w in enumerate((0.0, 1.0)):
...     row = log.on_evaluate(step, w)
...     print(row["counts"], row["facts.errors"], row["facts.bits"], round(row["value"], 3))
False 525 16 0.601
False 0 14 0.013
>>> log.on_end(2, 1.0)["counts"], round(log.certificate.value, 3)
(True, 0.013)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from dudley.certificates.base import method_named
from dudley.certificates.certificate import Certificate
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.records import to_json
from dudley.core.errors import DudleyError, InputError


class Callback(Protocol):
    """What a training loop calls."""

    def on_evaluate(self, step: int, model: Any) -> dict[str, Any]:
        """After some steps: the terms at this point."""
        ...

    def on_end(self, step: int, model: Any) -> dict[str, Any]:
        """After the last step, with the model that is kept."""
        ...


def itself(model: Any) -> Any:
    """The model is a hypothesis already."""
    return model


@dataclass
class Log:
    """The terms of a method's certificates on one data set; it is a :class:`Callback`.

    ``method`` names an entry of METHODS. ``hypothesis`` turns the loop's model into what is
    certified. ``counts`` is a step, or "last". ``declared`` goes to the method.
    """

    method: str
    data: Dataset
    hypothesis: Callable[[Any], Hypothesis] = itself
    counts: int | Literal["last"] = "last"
    declared: Mapping[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list, init=False)
    ended: bool = field(default=False, init=False)
    _certificate: Certificate | None = field(default=None, init=False)

    def __post_init__(self):
        if self.counts != "last" and (type(self.counts) is not int or self.counts < 0):
            raise InputError("counts", 'a step or "last"', self.counts)
        unit = method_named(self.method)
        declared = unit.read_declared(self.declared)
        if hasattr(declared, "looks") and "looks" not in self.declared:
            fix = "each look at a hold-out is claimed at δ/looks"
            raise InputError("looks", "how often the hold-out will be looked at", "nothing", fix)

    def on_evaluate(self, step: int, model: Any) -> dict[str, Any]:
        """Log the terms; they count if the step is the one named before."""
        return self._logged(step, model, self.counts == step)

    def on_end(self, step: int, model: Any) -> dict[str, Any]:
        """Log the terms of the model that is kept; they count if the last was named."""
        row = self._logged(step, model, self.counts == "last")
        self.ended = True
        return row

    @property
    def certificate(self) -> Certificate:
        """The one that counts."""
        if self._certificate is not None:
            return self._certificate
        refused = next((row["refused"] for row in self.rows if row["counts"]), "")
        got = "a refusal" if refused else "training has not come to it"
        raise InputError("certificate", f"one at step {self.counts}", got, refused)

    def _logged(self, step: int, model: Any, counts: bool) -> dict[str, Any]:
        if self.ended:
            raise InputError("log", "no step after the end", step, "make a new log")
        if counts and any(row["counts"] for row in self.rows):
            raise InputError("certificate that counts", "one", f"a second one at step {step}")
        looks = self.declared.get("looks", math.inf)
        if len(self.rows) >= looks:
            raise InputError("looks at the hold-out", f"at most {looks}", len(self.rows) + 1)
        row: dict[str, Any] = {"step": step, "counts": counts}
        try:
            unit, hypothesis = method_named(self.method), self.hypothesis(model)
            certificate = unit(hypothesis, self.data, **self.declared)
        except DudleyError as refusal:
            row["refused"] = str(refusal)
        else:
            row |= terms(certificate)
            if counts:
                self._certificate = certificate
        self.rows.append(row)
        return row


def terms(certificate: Certificate) -> dict[str, Any]:
    """The numbers of a certificate as one flat row: value, δ, prices and facts."""
    row = {
        "value": certificate.value,
        "vacuous": certificate.vacuous,
        "delta": certificate.delta,
    }
    row |= {f"nats.{price.name}": price.nats for price in certificate.prices}
    return row | dict(_numbers(to_json(certificate.facts), "facts"))


def _numbers(nest: Any, path: str):
    """(path, number) for every finite number in plain data."""
    if isinstance(nest, Mapping):
        for name, value in nest.items():
            yield from _numbers(value, f"{path}.{name}")
    elif isinstance(nest, list | tuple):
        for i, value in enumerate(nest):
            yield from _numbers(value, f"{path}.{i}")
    elif isinstance(nest, int | float) and not isinstance(nest, bool) and math.isfinite(nest):
        yield path, nest
