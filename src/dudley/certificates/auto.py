"""The best of several methods, named before the data are seen.

If k methods are to be tried and the smallest number shown, each is claimed at δ/k: it pays ln k
(``among``), and so does one that in the end refuses, because it might not have. Where a method is
itself declared to be one of m (networks, say, that were tried on the data before), it is one of k·m
and pays ln(k·m). The hold-out looks at its own examples, the others at the training set; all
numbers hold together with probability at least 1 − δ, so the smallest one may be chosen after the
fact.

Numbers about something else than the model's error on a new example (a randomised predictor,
another loss, a finite pool) stand behind those that are about it, whatever their size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.base import CertifiedModel, method_named
from dudley.certificates.certificate import RISK, Certificate
from dudley.certificates.data import Dataset, rows_of
from dudley.certificates.work import expect_feasible
from dudley.core.errors import InputError
from dudley.core.shown import Shown
from dudley.core.watch import Watch

HOLD_OUT = "hold-out"


@dataclass(frozen=True)
class Ranking(Shown):
    """Every certificate, the winner first, and the methods that refused, with their reasons.

    ``hold_out`` stands beside certificates that did not count with it: it holds at 1 − δ alone.
    """

    certificates: tuple[Certificate, ...]
    refused: dict[str, str]
    hold_out: Certificate | None = None
    shown_as: ClassVar[str] = "ranking"

    @property
    def best(self) -> Certificate:
        return self.certificates[0]

    @property
    def all(self) -> tuple[Certificate, ...]:
        """The certificates, and the hold-out that stands beside them."""
        return self.certificates + (() if self.hold_out is None else (self.hold_out,))


def best_of(
    model: CertifiedModel,
    train: Dataset | None,
    holdout: Dataset | None,
    methods: Sequence[str],
    delta: float = 0.05,
    declared: Mapping[str, Mapping[str, Any]] | None = None,
    watch: Watch | None = None,
) -> Ranking:
    """Certify by each of the methods at its share of δ, and rank; none is ever left out.

    ``declared`` holds, by method, what else is declared; ``delta`` is set here, and ``among`` is
    multiplied by the number of methods.
    """
    names, tables = list(methods), dict(declared or {})
    if isinstance(methods, str) or not names or len(set(names)) < len(names):
        raise InputError("methods", "a list of different names", methods)
    units = {name: method_named(name) for name in names}
    for name, table in tables.items():
        if name not in units or "delta" in table:
            expected = f"what is declared for {', '.join(names)}, without delta"
            raise InputError("declared", expected, f"{name}: {', '.join(table)}")
    looks_at = {name: holdout if name == HOLD_OUT else train for name in names}
    for name, data in looks_at.items():
        if data is None:
            what, option = ("hold-out", "holdout") if name == HOLD_OUT else ("training", "train")
            raise InputError(f"data for {name}", f"a {what} set", "none", f"give --{option}")
    if HOLD_OUT in names and train is not None and holdout is not None:
        expect_apart(train, holdout)
    certificates, refused = [], dict[str, InputError]()
    for name, unit in units.items():
        data = looks_at[name]
        assert data is not None
        whole = unit.read_declared(at_share(tables.get(name, {}), delta, len(names)))
        try:
            about = expect_feasible(model, data.n, f"examples for {name}")
            (watch or Watch()).begin(f"{name} on {data.n:,} examples, about {about}")
            certificate = unit.made(model, data, whole)
        except InputError as refusal:
            refused[name] = refusal
            continue
        certificates.append(_expect_paid(certificate, whole.among))
    reasons = {name: str(refusal) for name, refusal in refused.items()}
    if not certificates and len(refused) == 1:
        raise refused[names[0]]
    if not certificates:
        whole = "; ".join(f"{name}: {why}" for name, why in reasons.items())
        refusals = f"refusals of {' and '.join(reasons)}"
        raise InputError("methods", "one that does not refuse", refusals, whole)
    return Ranking(tuple(sorted(certificates, key=_rank)), reasons)


def with_hold_out(
    ranking: Ranking, model: CertifiedModel, train: Dataset | None, holdout: Dataset, delta: float
) -> Ranking:
    """The ranking with a hold-out beside it, where none of the methods is one.

    The methods were declared without it, so they pay nothing for it: it holds with probability
    1 − δ by itself, and a choice between it and the others after the fact is not paid for.
    """
    unit = method_named(HOLD_OUT)
    named = {certificate.method for certificate in ranking.certificates} | set(ranking.refused)
    if HOLD_OUT in named or not isinstance(model, unit.certifies):
        return ranking
    try:
        if train is not None:
            expect_apart(train, holdout)
        certificate = unit.made(model, holdout, unit.read_declared({"delta": delta}))
    except InputError as refusal:
        return replace(ranking, refused=ranking.refused | {HOLD_OUT: str(refusal)})
    return replace(ranking, hold_out=certificate)


def at_share(declared: Mapping[str, Any], delta: float, methods: int) -> dict[str, Any]:
    """The declarations of a method that is one of several: ``among`` is multiplied by their number.

    >>> at_share({"seed": 3, "among": 3}, 0.05, 2)
    {'seed': 3, 'among': 6, 'delta': 0.05}
    """
    among = declared.get("among", 1)
    if type(among) is not int or among < 1:
        raise InputError("among", "how many were tried on the data, a whole number ≥ 1", among)
    return {**declared, "delta": delta, "among": among * methods}


def expect_apart(train: Dataset, holdout: Dataset) -> None:
    """Refuse a hold-out that shares examples with the training set.

    Rows of floats must differ. Rows of integers may meet by chance, about as often as rows of the
    training set meet each other; more than thrice that (and 2 %) is refused.
    """
    floats = "f" in (train.X.dtype.kind, holdout.X.dtype.kind)
    kind = np.float64 if floats else np.int64
    seen = rows_of(train.X.astype(kind))
    shared = sum(1 for row in holdout.X.astype(kind) if row.tobytes() in seen)
    chance = 0.0 if floats else 0.02 + 3 * train.repeated / train.n
    if shared > chance * holdout.n or train.sha256 == holdout.sha256:
        raise InputError(
            "hold-out",
            "examples that training did not see",
            f"{shared} of {holdout.n} that are in the training set",
        )


def _expect_paid(certificate: Certificate, among: int) -> Certificate:
    paid = math.fsum(price.nats for price in certificate.prices if price.name == "method")
    if paid < math.log(among):
        expected = f"a price of ln {among} for the choice of the method"
        raise RuntimeError(f"{certificate.method}: expected {expected}, got {paid} nats")
    return certificate


def _rank(certificate: Certificate) -> tuple[bool, float]:
    return certificate.quantity != RISK, certificate.value
