"""Scales, form and bill of a PAC-Bayes bound, whatever the posterior is around.

A posterior has named groups of weights, and says for prior scales s by name how many nats each
group diverges. The scale of a group is ``scale``·2^{j/2}: ``grid = "each"`` chooses j for every
group after the data, ``"one"`` one j for all, ``"none"`` j = 0; a choice pays for its entry of the
prefix grid. k forms of which the smallest number is shown cost ln k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dudley.calculus.union import Grid
from dudley.certificates import digits
from dudley.certificates.methods.pac_bayes.declared import PacBayesChoices
from dudley.certificates.methods.pac_bayes.form import FORMS, PacBayesForm
from dudley.certificates.price import Bill, Price, one_of
from dudley.core.errors import InputError
from dudley.core.rounding import up

GRID, LARGEST = Grid(), 60  # of the prior's scale


class ScalesDeclared(Protocol):
    """What is declared of scales, forms and δ."""

    @property
    def delta(self) -> float: ...

    @property
    def among(self) -> int: ...

    @property
    def scale(self) -> float: ...

    @property
    def grid(self) -> str: ...

    @property
    def forms(self) -> tuple[str, ...]: ...

    @property
    def share(self) -> float: ...


@dataclass(frozen=True)
class Divergences:
    """Names of groups, and KL(Q‖P) of each at given scales of the prior."""

    names: tuple[str, ...]
    at: Callable[[Mapping[str, float]], dict[str, float]]


def expect_scales(declared: ScalesDeclared) -> None:
    """Refuse what cannot be computed with."""
    if declared.grid not in ("each", "one", "none"):
        raise InputError("grid", "each, one or none", declared.grid)
    if not 0 < declared.scale < math.inf:
        raise InputError("scale", "a number > 0", declared.scale)
    if not 0 < declared.share < 1:
        raise InputError("share of δ for the draws", "a number in (0, 1)", declared.share)
    forms = declared.forms
    if not forms or len(set(forms)) < len(forms):
        raise InputError("forms", f"a list of forms, each once: {', '.join(FORMS)}", list(forms))
    for form in forms:
        FORMS[form]


def draws_confidence(declared: ScalesDeclared) -> float:
    """ln(1/δ′) of what is said of the draws: δ′ = ρδ/among."""
    return float(up(-math.log(declared.share * declared.delta) + math.log(declared.among), 8))


def scale_at(declared: ScalesDeclared, j: int) -> float:
    """The prior scale of an exponent."""
    if abs(j) > LARGEST:
        raise InputError("exponent of a scale", f"an integer from −{LARGEST} to {LARGEST}", j)
    return declared.scale * GRID.ratio**j


def least_choices(
    of: Divergences, n: int, q: float, declared: ScalesDeclared, more: Sequence[Price] = ()
) -> PacBayesChoices:
    """The scales, the form and its entry with the smallest number."""
    best, scales = None, _cheapest_exponents(of, declared)
    for form in declared.forms:
        for option in FORMS[form].options():
            choices = PacBayesChoices(scales, form, option)
            value = bound_of(of, n, q, declared, choices, more)[0]
            best = min(best or (value, choices), (value, choices), key=lambda pair: pair[0])
    assert best is not None
    return best[1]


def bound_of(
    of: Divergences,
    n: int,
    q: float,
    declared: ScalesDeclared,
    choices: PacBayesChoices,
    more: Sequence[Price] = (),
) -> tuple[float, Bill, dict[str, float], float]:
    """The number, every price, the divergence of each group, and all nats."""
    bill, parts = bill_of(of, declared, choices, more)
    nats = float(up(digits.up(math.fsum(parts.values())) + bill.log_confidence))
    return FORMS[choices.form].bound(q, nats, n, choices.option), bill, parts, nats


def bill_of(
    of: Divergences,
    declared: ScalesDeclared,
    choices: PacBayesChoices,
    more: Sequence[Price] = (),
) -> tuple[Bill, dict[str, float]]:
    """Every price, those of the method (``more``) among them, and the divergence of each group."""
    names, scales, grid = of.names, choices.scales, declared.grid
    if set(scales) != set(names):
        raise InputError("choices", "scales of every matrix, form, option", choices)
    if choices.form not in declared.forms:
        raise InputError("form", f"one of those declared, {list(declared.forms)}", choices.form)
    option = choices.option
    if option not in FORMS[choices.form].options():
        raise InputError("option of the form", "one of its list", option)
    if grid == "none" and any(scales.values()):
        raise InputError("scales", "0 for every matrix: the grid is none", scales)
    if grid == "one" and len(set(scales.values())) != 1:
        raise InputError("scales", "one exponent: the grid is one", scales)
    s = {name: scale_at(declared, j) for name, j in scales.items()}
    share = Price(
        "δ for the draws", float(up(-math.log1p(-declared.share))), f"{declared.share} of δ"
    )
    prices = [share, *more]
    if grid != "none":
        for name in names if grid == "each" else ["all"]:
            j = scales[name] if grid == "each" else scales[names[0]]
            note = f"{declared.scale:g}·2^({j}/2)"
            prices.append(Price(f"prior scale of {name}", float(up(GRID.nats(j))), note))
    if len(declared.forms) > 1:
        prices.append(one_of("form", len(declared.forms)))
    λ = FORMS[choices.form].price(option)
    prices += [] if λ is None else [λ]
    if declared.among > 1:
        prices.append(one_of("method", declared.among))
    return Bill(declared.delta, tuple(prices)), of.at(s)


def advice(
    form: PacBayesForm,
    option: int,
    q: float,
    divergence: float,
    nats: float,
    n: int,
    observed: float,
    draws: str,
) -> tuple[str, ...]:
    """What would lower the number, most first; ``draws`` says in words how they went."""
    lower = [
        (form.bound(q, nats - divergence / 2, n, option), "half the divergence of Q from P"),
        (form.bound(q, nats, 2 * n, option), "twice the examples at the same errors"),
        (form.bound(observed, nats, n, option), "more pairs: at the observed error of the draws"),
    ]
    why = f"{divergence:.1f} of {nats:.1f} nats are divergence; {draws}"
    lower.sort(key=lambda pair: pair[0])
    return (why, *(f"{how} would give {digits.near(value):.3g}" for value, how in lower))


def _cheapest_exponents(of: Divergences, declared: ScalesDeclared) -> dict[str, int]:
    """For each group the exponent of the cheapest prior, its price included."""
    names, grid = list(of.names), declared.grid
    exponents = range(-LARGEST, LARGEST + 1) if grid != "none" else (0,)
    costs = {j: of.at(dict.fromkeys(names, scale_at(declared, j))) for j in exponents}
    if grid == "each":
        return {n: min(costs, key=lambda j: costs[j][n] + GRID.nats(j)) for n in names}
    best = min(costs, key=lambda j: math.fsum(costs[j].values()) + GRID.nats(j))
    return dict.fromkeys(names, best)
