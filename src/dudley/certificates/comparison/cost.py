"""What the number of a certificate is made of: a share of errors, and nats by name, on n examples.

A number p solves kl(share‖p) = nats/n or nearly so (the binomial tail, its Chernoff bound). So it
is large for one of three reasons: the share of errors, the nats, or n. The nats are ln(1/δ), what
was chosen after the data, and what the method counts of the model: the bits of a code, the entropy
of a cover, a divergence.

>>> facts = {"errors": 4, "mean_loss": 0.002}
>>> cost = cost_of({"method": "hold-out", "delta": 0.05, "prices": [], "facts": facts,
...                 "data": {"n": 2000}})
>>> cost.words
'2,000 fresh examples cost 3 nats, with 4 errors'
>>> round(cost.number(2000), 4), cost.largest
(0.0055, 'ln(1/δ)')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dudley.calculus.inversion import kl_upper

LEVEL = "ln(1/δ)"
CHOICES = "what was read off or chosen"


@dataclass(frozen=True)
class CertificateCost:
    """The share of errors (None: not known), the nats by name, and both in words."""

    method: str
    n: int
    share: float | None
    nats: dict[str, float]
    words: str

    @property
    def total(self) -> float:
        """All nats."""
        return math.fsum(self.nats.values())

    @property
    def largest(self) -> str:
        """The name of what has the most nats."""
        return max(self.nats, key=lambda name: self.nats[name])

    def number(self, n: int) -> float:
        """About the number with n examples, the share and the nats kept."""
        return 1.0 if self.share is None else kl_upper(min(self.share, 1.0), self.total / n)


def cost_of(item: Mapping[str, Any]) -> CertificateCost:
    """The cost of a certificate, given as plain data (``Certificate.to_json``)."""
    method, facts = item["method"], item["facts"]
    n = facts.get("N", facts.get("counted", item["data"]["n"]))
    nats = {LEVEL: -math.log(item["delta"])}
    for price in item["prices"]:
        name = "the code" if price["name"] == "code" else CHOICES
        nats[name] = nats.get(name, 0.0) + price["nats"]
    share, nats, words = READERS.get(method, _plain)(facts, nats, n)
    return CertificateCost(method, n, share, nats, words)


def amount(nats: float) -> str:
    """NatsByName with the digits that matter.

    >>> amount(2.9957), amount(27.04), amount(231456.0), amount(3.2e12)
    ('3', '27', '231,456', '3.2e+12')
    """
    if nats >= 1e9:
        return f"{nats:.2g}"
    return f"{nats:,.0f}" if nats >= 9.95 else f"{nats:.2g}"


def counted(count: int, what: str) -> str:
    """A number of things, which may be one thing.

    >>> counted(0, "error"), counted(1, "error"), counted(2000, "error")
    ('no error', '1 error', '2,000 errors')
    """
    return f"no {what}" if not count else f"{count:,} {what}{'s' * (count != 1)}"


FactTable = Mapping[str, Any]
NatsByName = dict[str, float]


def _hold_out(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    errors = counted(facts["errors"], "error")
    words = f"{n:,} fresh examples cost {amount(math.fsum(nats.values()))} nats, with {errors}"
    return facts["mean_loss"], nats, words


def _occam(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    code = f"the code costs {facts['bits']:,} bits, {amount(nats.get('the code', 0.0))} nats"
    return facts["errors"] / n, nats, _on(code, n, counted(facts["errors"], "error"))


def _word(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    code = f"the word costs {facts['bits']:,} bits, {amount(nats.get('the code', 0.0))} nats"
    return facts["failures"] / n, nats, _on(code, n, counted(facts["failures"], "failure"))


def _choice(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    price = f"the choice among {facts['candidates']:,} costs {facts['price_bits']:.3g} bits"
    return facts["errors"] / n, nats, _on(price, n, counted(facts["errors"], "error"))


def _norm_cover(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    size = facts["log_cover"]
    if size is None:
        words = f"the margin of {facts['margin']:.2g} is too small for any cover"
        return None, nats | {"the cover": math.inf}, words
    small = counted(facts["errors_at_margin"], "small margin")
    words = _on(f"the cover costs {amount(size)} nats", n, small)
    return facts["errors_at_margin"] / n, nats | {"the cover": size}, words


def _pac_bayes(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    size = math.fsum(facts["divergences"].values())
    share = facts["mean_error_at_most" if "mean_error_at_most" in facts else "mean_failure_at_most"]
    words = f"the divergence costs {amount(size)} nats"
    return share, nats | {"the divergence": size}, _on(words, n, f"a mean error of {share:.2g}")


def _picks(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    picks, failures = counted(facts["picks"], "pick"), counted(facts["failures"], "failure")
    return facts["k"] / n, nats, f"{picks} and {failures} of {n:,} examples"


def _retrained(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    _, nats, words = _picks(facts, nats, n)
    apart, m = counted(facts["disagreements"], "disagreement"), facts["unlabelled"]
    return facts["k"] / n + facts["disagreements"] / m, nats, f"{words}, {apart} on {m:,} inputs"


def _outcomes(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    words = f"{facts['n']:,} rows cost {amount(math.fsum(nats.values()))} nats"
    return facts["mean_loss"], nats, f"{words}, with a mean loss of {facts['mean_loss']:.2g}"


def _plain(facts: FactTable, nats: NatsByName, n: int) -> tuple[float | None, NatsByName, str]:
    return None, nats, _on(f"it costs {amount(math.fsum(nats.values()))} nats", n)


def _on(words: str, n: int, share: str = "") -> str:
    return f"{words} on {n:,} examples" + (f", with {share}" if share else "")


READERS: dict[str, Callable[[FactTable, NatsByName, int], tuple[float | None, NatsByName, str]]] = {
    "hold-out": _hold_out,
    "occam": _occam,
    "norm-cover": _norm_cover,
    "pac-bayes": _pac_bayes,
    "occam-around": _word,
    "pac-bayes-around": _pac_bayes,
    "selection": _choice,
    "pick-to-learn": _picks,
    "retrained": _retrained,
    "outcomes": _outcomes,
}
