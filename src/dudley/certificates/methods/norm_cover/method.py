"""The method: a recipe and a margin are chosen, everything else follows."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import ClassVar

import numpy as np

from dudley.calculus.inversion import binomial_upper, kl_upper
from dudley.calculus.union import Grid
from dudley.certificates.base import Method, method
from dudley.certificates.certificate import (
    ASSUMED,
    Certificate,
    baseline,
    data_facts,
    equal_rows,
)
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.norm_cover.advice import advice
from dudley.certificates.methods.norm_cover.declared import (
    BlockFacts,
    NormCoverChoices,
    NormCoverDeclared,
    NormCoverFacts,
)
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
FARTHEST = 4096  # of the exponents j of margins
_RANGE = 64.0  # margins down to the largest one over this are tried
_LAST: dict[tuple[str, str], np.ndarray] = {}  # the latest margins, by hashes of model and data


@method
class NormCover(Method[NormCoverDeclared, NormCoverChoices]):
    """Single-scale sup-norm cover, union, binomial inversion (see the package's docstring)."""

    name: ClassVar[str] = "norm-cover"
    declares = NormCoverDeclared
    chooses = NormCoverChoices

    def choose(
        self, model: Hypothesis, data: Dataset, declared: NormCoverDeclared
    ) -> NormCoverChoices:
        """The recipe and the margin with the smallest number."""
        margins = np.sort(_margins(model, data))
        top, grid = float(margins[-1]), Grid(declared.margin_ratio)
        best = math.inf, NormCoverChoices(declared.norms[0], 0)
        if top <= 0:
            return best[1]
        highest = _index(grid, top)
        for recipe in declared.norms:
            at, last = terms(model, declared, recipe), -1
            for j in range(highest, _index(grid, top / _RANGE) - 1, -1):
                γ = grid.ratio**j
                errors = int(np.searchsorted(margins, γ, side="right"))
                if errors == last and j < 0:  # a larger margin has no more errors and costs less
                    continue
                last = errors
                bill = self.bill(declared, at, j)
                c = at.cover(γ).log_size + bill.log_confidence
                value = kl_upper(errors / data.n, c / data.n) if math.isfinite(c) else 1.0
                if value < best[0]:
                    best = value, NormCoverChoices(recipe, j)
                if not math.isfinite(c) or kl_upper(0.0, c / data.n) >= best[0]:
                    break  # smaller margins have larger covers, and cannot have fewer errors than 0
        return best[1]

    def certify(
        self,
        model: Hypothesis,
        data: Dataset,
        declared: NormCoverDeclared,
        choices: NormCoverChoices,
    ) -> Certificate[NormCoverDeclared, NormCoverChoices, NormCoverFacts]:
        """The certificate."""
        _expect_listed(choices, declared)
        j = choices.j
        at, γ = terms(model, declared, choices.norms), declared.margin_ratio**j
        margins = _margins(model, data)
        errors = int((margins <= γ).sum())
        bill, cover = self.bill(declared, at, j), at.cover(γ)
        c = float(up(cover.log_size + bill.log_confidence))
        known = math.isfinite(c)
        value = binomial_upper(errors, data.n, c) if known else 1.0
        shares = [
            BlockFacts(**asdict(block), share=block.log_size / cover.log_size)
            for block in (cover.blocks if cover.log_size > 0 else ())
        ]
        facts = NormCoverFacts(
            n=data.n,
            errors=int((margins <= 0).sum()),
            errors_at_margin=errors,
            margin=γ,
            least_margin=float(margins.min()),
            log_cover=cover.log_size if known else None,
            blocks=tuple(shares),
            resolution=at.resolution(γ),
            rounding=at.η if math.isfinite(at.η) else None,
            slope=at.slope,
            reduced=at.reduced,
            kl_form=kl_upper(errors / data.n, float(up(c / data.n))) if known else 1.0,
        )
        return Certificate(
            method=self.name,
            value=value,
            bill=bill,
            declared=declared,
            choices=choices,
            facts=facts,
            model=model.facts(),
            data=data_facts(data),
            baseline=baseline(data, declared.delta),
            declarations=ASSUMED + DECLARATIONS + equal_rows(data),
            advice=advice(at, γ, errors, data.n, c, value),
        )

    def bill(self, declared: NormCoverDeclared, at: Terms, j: int) -> Bill:
        """What the choices of norms, margin and recipe cost."""
        γ_price = Price("margin", float(up(Grid(declared.margin_ratio).nats(j))), f"j = {j}")
        prices = [*at.paid.prices, *at.radius, γ_price]
        prices.append(one_of("norms", len(declared.norms), "the recipe"))
        if declared.among > 1:
            prices.append(one_of("method", declared.among))
        return Bill(declared.delta, tuple(prices))


def _margins(model: Hypothesis, data: Dataset) -> np.ndarray:
    """The margins, computed once for ``choose`` and ``certify``; remembered by content."""
    hashes = model.sha256, data.sha256
    if hashes not in _LAST:
        _LAST.clear()
        _LAST[hashes] = model.margins(data)
        _LAST[hashes].flags.writeable = False
    return _LAST[hashes]


def _index(grid: Grid, value: float) -> int:
    """j of the largest grid point at or below a margin."""
    used, _ = grid.round_down(value)
    return round(math.log(used) / math.log(grid.ratio))


def _expect_listed(choices: NormCoverChoices, declared: NormCoverDeclared) -> None:
    """Refuse a recipe that was not declared, and a margin beyond the grid."""
    if choices.norms not in declared.norms:
        raise InputError("recipe", "one of " + ", ".join(declared.norms), choices.norms)
    if abs(choices.j) > FARTHEST:
        raise InputError("j of the margin", "an integer of the grid", choices.j)
