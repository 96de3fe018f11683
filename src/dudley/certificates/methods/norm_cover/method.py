"""The method: a recipe and a margin are chosen, everything else follows."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from dudley.calculus.union import Grid
from dudley.certificates.base import Method, method
from dudley.certificates.certificate import (
    ASSUMED,
    Certificate,
    baseline,
    data_facts,
    equal_rows,
    model_facts,
)
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.inversion import binomial_upper, kl_upper
from dudley.certificates.methods.norm_cover.advice import advice
from dudley.certificates.methods.norm_cover.sets import RECIPES
from dudley.certificates.methods.norm_cover.terms import Terms, terms
from dudley.certificates.price import Bill, Price, one_of
from dudley.core.errors import InputError
from dudley.core.rounding import up

DECLARATIONS = (
    "the architecture, the encoding and every fixed scale in the network's tables were chosen "
    "before the data; all weights are covered",
    "float64 products of matrices are sums of products in some order; exp, tanh and erf are within "
    "4 units in the last place (what is certified is the float64 reference forward)",
)
FINEST, COARSEST = 1.001, 1e6  # ratios of a grid: neither endless nor past the floats
_RANGE = 64.0  # margins down to the largest one over this are tried
_LAST: dict[tuple[str, str], np.ndarray] = {}  # the latest margins, by hashes of model and data


@method
class NormCover(Method):
    """Single-scale sup-norm cover, union, binomial inversion (see the package's docstring).

    ``ratio`` is that of the grid of norms, ``margin_ratio`` of the grid of margins, ``norms`` the
    recipes among which one may be chosen (ln of their number is paid), ``radius`` the radius of
    clipped rows where it was fixed beforehand and is no power of two.
    """

    name: ClassVar[str] = "norm-cover"
    DECLARED: ClassVar[dict[str, Any]] = {
        "ratio": math.sqrt(2),
        "margin_ratio": 2.0**0.125,
        "norms": ["sparse", "l1", "l2"],
        "radius": None,
    }

    def choose(self, model, data, declared):
        """The recipe and the margin with the smallest number."""
        margins = np.sort(_margins(model, data))
        top, grid = float(margins[-1]), Grid(declared["margin_ratio"])
        best: tuple[float, dict[str, Any]] = (math.inf, {"norms": declared["norms"][0], "j": 0})
        if top <= 0:
            return best[1]
        highest = _index(grid, top)
        for recipe in declared["norms"]:
            found, last = terms(model, declared, recipe), -1
            for j in range(highest, _index(grid, top / _RANGE) - 1, -1):
                γ = grid.ratio**j
                errors = int(np.searchsorted(margins, γ, side="right"))
                if errors == last and j < 0:  # a larger margin has no more errors and costs less
                    continue
                last = errors
                bill = self.bill(declared, found, j)
                c = found.cover(γ).log_size + bill.log_confidence
                value = kl_upper(errors / data.n, c / data.n) if math.isfinite(c) else 1.0
                if value < best[0]:
                    best = value, {"norms": recipe, "j": j}
                if not math.isfinite(c) or kl_upper(0.0, c / data.n) >= best[0]:
                    break  # smaller margins have larger covers, and cannot have fewer errors than 0
        return best[1]

    def certify(self, model, data, declared, choices):
        recipe, j = _read(choices, declared)
        found, γ = terms(model, declared, recipe), declared["margin_ratio"] ** j
        margins = _margins(model, data)
        errors = int((margins <= γ).sum())
        bill, cover = self.bill(declared, found, j), found.cover(γ)
        c = float(up(cover.log_size + bill.log_confidence))
        known = math.isfinite(c)
        value = binomial_upper(errors, data.n, c) if known else 1.0
        told = {
            "n": data.n,
            "errors": int((margins <= 0).sum()),
            "errors_at_margin": errors,
            "margin": γ,
            "least_margin": float(margins.min()),
            "log_cover": cover.log_size if known else None,
            "blocks": [b | {"share": b["log_size"] / cover.log_size} for b in cover.blocks]
            if cover.log_size > 0
            else [],
            "resolution": found.resolution(γ),
            "rounding": found.η if math.isfinite(found.η) else None,
            "slope": found.slope,
            "reduced": list(found.reduced),
            "kl_form": kl_upper(errors / data.n, float(up(c / data.n))) if known else 1.0,
        }
        return Certificate(
            method=self.name,
            value=value,
            bill=bill,
            declared=declared,
            choices=choices,
            facts=told,
            model=model_facts(model),
            data=data_facts(data),
            baseline=baseline(data, declared["delta"]),
            declarations=ASSUMED + DECLARATIONS + equal_rows(data),
            advice=advice(found, γ, errors, data.n, c, value),
        )

    def bill(self, declared: dict[str, Any], found: Terms, j: int) -> Bill:
        """What the choices of norms, margin and recipe cost."""
        γ_price = Price("margin", float(up(Grid(declared["margin_ratio"]).nats(j))), f"j = {j}")
        prices = [*found.paid.prices, *found.radius, γ_price]
        prices.append(one_of("norms", len(declared["norms"]), "the recipe"))
        if declared["among"] > 1:
            prices.append(one_of("method", declared["among"]))
        return Bill(declared["delta"], tuple(prices))

    def declared(self, given: dict[str, Any]) -> dict[str, Any]:
        """What is declared, checked."""
        told = Method.declared(self, given)
        for name in ("ratio", "margin_ratio"):
            if not FINEST <= told[name] <= COARSEST:
                expected = f"a number from {FINEST} to {COARSEST:g}"
                raise InputError(f"{name} of {self.name}", expected, told[name])
        if not told["norms"] or len(set(told["norms"])) != len(told["norms"]):
            raise InputError("norms", "recipes, each once", told["norms"])
        for name in told["norms"]:
            RECIPES[name]
        return told


def _margins(model: Hypothesis, data: Dataset) -> np.ndarray:
    """The margins, computed once for ``choose`` and ``certify``; remembered by content."""
    asked = model.sha256, data.sha256
    if asked not in _LAST:
        _LAST.clear()
        _LAST[asked] = model.margins(data)
        _LAST[asked].flags.writeable = False
    return _LAST[asked]


def _index(grid: Grid, value: float) -> int:
    """j of the largest grid point at or below a margin."""
    used, _ = grid.round_down(value)
    return round(math.log(used) / math.log(grid.ratio))


def _read(choices: dict[str, Any], declared: dict[str, Any]) -> tuple[str, int]:
    if set(choices) != {"norms", "j"}:
        raise InputError("choices of norm-cover", "norms and j", ", ".join(choices) or "none")
    recipe, j = choices["norms"], choices["j"]
    if recipe not in declared["norms"]:
        raise InputError("recipe", "one of " + ", ".join(declared["norms"]), recipe)
    if isinstance(j, bool) or not isinstance(j, int) or abs(j) > 4096:
        raise InputError("j of the margin", "an integer of the grid", j)
    return recipe, j
