"""What the kernel checked of a certificate, what the program computed, and what was declared.

What the theorem supposes of lists, covers and rules is proved in docstrings, and stands apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dudley.certificates.kernel.claim import KernelClaim
from dudley.certificates.kernel.script import THEOREMS, statement
from dudley.core.rounding import ceiling


@dataclass(frozen=True)
class KernelReport:
    """The kernel's word on a claim, and who answers for what."""

    claim: KernelClaim
    accepted: bool
    version: str
    recomputed: tuple[str, ...]
    supposed: tuple[str, ...]
    declared: tuple[str, ...]

    @property
    def checked(self) -> tuple[str, ...]:
        """The theorem, the tail and the price, in words."""
        return (_theorem(self.claim), _tail(self.claim), *_prices(self.claim))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "accepted": self.accepted,
            "coq": self.version,
            "theorem": THEOREMS[self.claim.form],
            "statement": statement(self.claim),
            "bound": str(self.claim.bound),
            "delta": str(self.claim.delta),
            "kernel_checked": list(self.checked) if self.accepted else [],
            "recomputed_by_program": list(self.recomputed),
            "proved_in_docstrings": list(self.supposed),
            "declared": list(self.declared),
        }


def _theorem(claim: KernelClaim) -> str:
    least = Fraction(1)
    for price in claim.weights:
        least *= price.weight
    weighty = f" of weight {_fraction(least)} or more" if claim.weights else ""
    what = {
        "holdout": "a model that was fixed before",
        "listed": f"any model{weighty} in a declared list",
        "coded": f"any model that a word of at most {claim.extra} bits of a prefix code describes"
        + (f", with choices{weighty}," if weighty else ""),
        "cover": f"any model of a class{weighty} whose cover at γ/2 has at most {_size(claim)} "
        "centres",
        "picks": f"the final model of any declared rule{weighty}",
        "losses": f"any model{weighty} in a declared list" if weighty else "a model",
    }[claim.form]
    counted = {
        "cover": f"at most {claim.k:,} of {claim.n:,} margins up to γ",
        "picks": f"exactly {claim.k:,} picks and remaining failures of {claim.n:,} examples",
        "losses": f"these {claim.n:,} losses",
    }.get(claim.form, f"at most {claim.k:,} of {claim.n:,} examples wrong")
    fails = {
        "picks": "fails a new example with a probability",
        "losses": "has a mean loss",
    }.get(claim.form, "has a risk")
    return (
        f"theorem: {THEOREMS[claim.form]}: but for samples of probability at most "
        f"{_fraction(claim.delta)}, {what} with {counted} {fails} of at most {number(claim.bound)}"
    )


def _tail(claim: KernelClaim) -> str:
    p, q = number(claim.bound), about(claim.product)
    if claim.losses is not None:
        bets, kinds = len(claim.losses.bets), len(claim.losses.counts)
        of = f"of {bets} bets, for {claim.n:,} losses z ({kinds:,} that differ)"
        return f"tail: Σ w·Π (1 − θz)/(1 − θp) {of}, is at least 1/q at p = {p}, q = {q}"
    if claim.form == "picks":
        n, k = claim.n, claim.k
        return f"tail: {n}·p·P[Bin({n}, p) = {k}] ≤ q·P[Bin({n}, p) > {k}] at p = {p}, q = {q}"
    return f"tail: P[Bin({claim.n}, {p}) ≤ {claim.k}] ≤ {q}"


def _prices(claim: KernelClaim) -> tuple[str, ...]:
    parts = [f"δ = {_fraction(claim.delta)}"]
    if claim.share != 1:
        parts[0] += f" (a share of {_fraction(claim.share)}; the others are for claims beside this)"
    if claim.form == "coded":
        parts.append(f"code 2^-{claim.extra}")
    if claim.form == "cover":
        parts.append(f"cover 1/{_size(claim)}")
    parts += [f"{price.name} {_fraction(price.weight)}" for price in claim.weights]
    return (f"price: {', '.join(parts)}; together {about(claim.product)}",)


def number(x: Fraction) -> str:
    """A bound of six digits, exactly."""
    return f"{float(x):.6g}"


def about(x: Fraction) -> str:
    """A positive fraction of any size, rounded up to four digits.

    >>> about(Fraction(1, 3)), about(Fraction(1, 2**2000))
    ('0.3334', 'less than 10^-601')
    """
    if x > Fraction(1, 10**300):
        return ceiling(Decimal(x.numerator) / Decimal(x.denominator))
    bits = x.denominator.bit_length() - 1 - x.numerator.bit_length()  # x < 2^-bits
    return f"less than 10^-{bits * 30102 // 100_000}"


def _fraction(x: Fraction) -> str:
    return str(x) if x.denominator < 10**7 else about(x)


def _size(claim: KernelClaim) -> str:
    size = claim.extra or 1
    if size < 10**7:
        return f"{size:,}"
    return f"10^{size.bit_length() * 30103 // 100_000 + 1}"  # size < 2^bits
