"""Appendix C.2: a robust loss ψ(αℓ)/α is κB_ψ-Lipschitz, B_ψ the largest slope of ψ.

The paper leaves B_ψ unnamed. For Catoni's ψ(x) = log(1 + x + x²/2) it is 1; for the generalised
log-truncation log(1 + x + x^p/p) it is above 1 when p < 2, and near 2 when p is near 1
(:mod:`dudley.networks.robust` finds it). It does not depend on α.

>>> from dudley.theorems.registry import evaluate
>>> values = {"kappa": 1.0, "psi.power": 1.5}
>>> [round(evaluate("li2026/appendix-C.2", values, f).value, 4) for f in ("printed", "derived")]
[1.0, 1.1741]
"""

from __future__ import annotations

from dudley.core.bound import Sense
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.networks.robust import LogTruncation
from dudley.theorems.registry import register

POWER = Input("psi.power", default=2.0)


def slope(psi_power: float) -> float:
    """B_ψ of the generalised log-truncation."""
    return LogTruncation(psi_power).lipschitz


APPENDIX_C_2 = register(
    Statement(
        id="li2026/appendix-C.2",
        kind="appendix",
        says="A robust loss is Lipschitz: the base loss's constant times the slope of ψ.",
        quantity="Lipschitz constant of ψ(αℓ)/α in the prediction, ψ(x) = log(1 + x + x^p/p)",
        inputs=(
            Input("kappa", "Lipschitz constant of the base loss"),
            POWER,
            Input("c", "B_ψ, the largest slope of ψ, which the paper does not name", 1.0),
        ),
        printed=Form(r"\kappa B_\psi", lambda kappa, c: kappa * c, Sense.CONSTANT),
        derived=Form(
            r"\kappa\,\frac{1+x^{p-1}}{1+x+x^p/p}\ \text{at}\ "
            r"x^{2-p}+(3-p)x+x^p/p=p-1;\quad\kappa\ \text{for}\ p=2",
            lambda kappa, psi_power: kappa * slope(psi_power),
        ),
        verdict=Verdict.true(),
        erratum=(
            "True once B_ψ is named: 1 for Catoni's function, but above 1 for the generalised "
            "log-truncation of power p < 2, whose slope first rises (to 1.17 at p = 1.5, towards 2 "
            "as p falls to 1)."
        ),
        example={"kappa": 1.0, "psi.power": 1.5},
    )
)
