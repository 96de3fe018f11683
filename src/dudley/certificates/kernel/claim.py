"""Which claim of `proof/Certificates.v` a certificate makes, and with which numbers.

The certificate has been computed again by `verify`, so its counts and prices are those of the model
and the data. Prices are of two sorts. A *weight* pays for one entry of a list: the theorem is about
the whole list. A *share* pays for other claims beside this one (another method, another part, a
lower end): the theorem is then about this number alone, at its share of δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dudley.certificates.kernel.losses import KernelLosses
from dudley.certificates.kernel.numbers import (
    bound_above,
    decimal,
    one_of,
    size_above,
    weight_below,
)
from dudley.certificates.records import LARGEST
from dudley.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np

SHARES = frozenset({"method", "parts"})
# Prices of one of m, and of a grid: 1/w is a whole number. Any other is rounded down.
WHOLE = SHARES | {"looks", "stop", "among", "network", "radius", "margin", "norms"}
MOST_BITS = 1 << 20
FILE_DIGITS = 1 + Fraction(1, 10**9)  # a fact of ten digits, rounded to the nearest


@dataclass(frozen=True)
class KernelPrice:
    """The weight of one choice, as a fraction not above the true one."""

    name: str
    weight: Fraction


@dataclass(frozen=True)
class KernelClaim:
    """Of n examples k err (or were selected), so the risk is at most ``bound``, at ``delta``.

    ``form`` is the name of the claim in Coq: holdout, listed, coded, cover, picks or losses.
    ``extra`` is the number of bits of a code word, or the size of a cover. Of losses k is 0.
    ``share`` is what other claims have left of the certificate's δ; ``delta`` is after it.
    """

    form: str
    n: int
    k: int
    bound: Fraction
    delta: Fraction
    weights: tuple[KernelPrice, ...] = ()
    extra: int | None = None
    share: Fraction = Fraction(1)
    losses: KernelLosses | None = None

    def __post_init__(self):
        whole = (self.n, self.k, 0 if self.extra is None else self.extra)
        fractions = (self.bound, self.delta, self.share, *(price.weight for price in self.weights))
        if not all(type(x) is int and x >= 0 for x in whole) or self.n >= LARGEST:
            raise InputError("--coq", "counts that are whole numbers", whole)
        if not all(type(x) is Fraction and 0 < x <= 1 for x in fractions):
            raise InputError("--coq", "fractions in (0, 1]", fractions)
        if self.form == "coded" and (self.extra or 0) > MOST_BITS:
            raise InputError("--coq", f"a code word of at most {MOST_BITS:,} bits", self.extra)
        if not 0 <= self.k < self.n:
            raise InputError("--coq", "fewer errors than examples", f"{self.k} of {self.n}")
        if not 0 < self.bound < 1:
            raise InputError("--coq", "a bound below 1, for any other claims nothing", self.bound)

    @property
    def product(self) -> Fraction:
        """δ times all weights: what the tail must not exceed."""
        whole = self.delta
        for price in self.weights:
            whole *= price.weight
        if self.form == "coded":
            whole /= 1 << (self.extra or 0)
        return whole / (self.extra or 1) if self.form == "cover" else whole


def expect_covered(certificate: Mapping[str, Any]) -> None:
    """Refuse a certificate of a method that has no claim in Coq."""
    if certificate["method"] not in FORMS:
        raise _uncovered(f"a certificate of {certificate['method']}")


def claim_of(certificate: Mapping[str, Any], losses: np.ndarray | None = None) -> KernelClaim:
    """The claim of a certificate, or a refusal that names the kinds that have one.

    ``losses`` are those of the data, where the certificate has no errors that can be counted.
    """
    expect_covered(certificate)
    facts, method = certificate["facts"], certificate["method"]
    form, n, k, extra = FORMS[method](certificate["declared"], facts)
    prices = [
        KernelPrice(price["name"], _weight(method, price["name"], price["nats"]))
        for price in certificate["prices"]
        if price["name"] != "code"  # counted in bits
    ]
    weights = tuple(price for price in prices if price.name not in SHARES)
    share = Fraction(1)
    for price in prices:
        share *= price.weight if price.name in SHARES else 1
    listed = None
    if form == "losses":
        if losses is None:
            raise InputError("--coq", "the losses, which the data have", "none")
        listed = KernelLosses.of(losses, certificate["nats"] - math.log(certificate["delta"]))
    return KernelClaim(
        "listed" if form == "holdout" and weights else form,
        n,
        k,
        bound_above(certificate["value"]),
        decimal(certificate["delta"]) * share,
        weights,
        extra,
        share,
        listed,
    )


Counts = tuple[str, int, int, int | None]  # the form, n, k and what is extra


def _hold_out(declared: Mapping[str, Any], facts: Mapping[str, Any]) -> Counts:
    if declared["loss"] != "error" or declared.get("pool") is not None:
        raise _uncovered("a hold-out of a loss that is no error, or of a finite pool")
    if list(declared["interval"]) != ["clopper-pearson"]:
        raise _uncovered("a hold-out with another interval")
    return "holdout", facts["n"], facts["errors"], None


def _outcomes(declared: Mapping[str, Any], facts: Mapping[str, Any]) -> Counts:
    if facts.get("errors") is None:
        return "losses", facts["n"], 0, None
    return "holdout", facts["n"], facts["errors"], None


def _occam(declared: Mapping[str, Any], facts: Mapping[str, Any]) -> Counts:
    return "coded", facts["n"], facts["errors"], facts["bits"]


def _selection(declared: Mapping[str, Any], facts: Mapping[str, Any]) -> Counts:
    return "listed", facts["n"], facts["errors"], None


def _norm_cover(declared: Mapping[str, Any], facts: Mapping[str, Any]) -> Counts:
    if facts["log_cover"] is None:
        raise _uncovered("a norm-cover without a finite cover")
    nats = float(decimal(facts["log_cover"]) * FILE_DIGITS)
    return "cover", facts["n"], facts["errors_at_margin"], size_above(nats)


def _picks(declared: Mapping[str, Any], facts: Mapping[str, Any]) -> Counts:
    for name in ("expected", "most", "pool"):
        if declared.get(name) is not None:
            raise _uncovered(f"pick-to-learn with {name} declared")
    return "picks", facts["N"], facts["k"], None


FORMS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Counts]] = {
    "hold-out": _hold_out,
    "norm-cover": _norm_cover,
    "occam": _occam,
    "outcomes": _outcomes,
    "pick-to-learn": _picks,
    "selection": _selection,
}


def _weight(method: str, name: str, nats: float) -> Fraction:
    """The weight of a price: of a norm cover all are of grids, or of a number of nonzeros."""
    if name in WHOLE or method == "norm-cover":
        return Fraction(1, one_of(nats))
    return weight_below(nats)


def _uncovered(got: str) -> InputError:
    kinds = (
        "hold-out and selection of errors, outcomes, occam, norm-cover, or pick-to-learn with even "
        "weights"
    )
    return InputError("--coq", kinds, got, "plain verify computes it again")
