"""Remark 6.12: which level of truncation heavy tails ask for.

The remark balances a variance log M/n with the bias M^{2−β}, finds M = n^{1/(β−2)}, and concludes
n^{−(β−2)/(β−1)}. Two balances are mixed: by its own terms the rate would be log n/n, which is
better. In Theorems 6.9 and 6.10, though, the factor before the entropy is the bound on predictions
of the truncated class, of order M ((25); they print B_X). In units in which all constants are 1 the
variance is M·log M/n, and that is the sum evaluated here. At the remark's level the bias is 1/n and
the variance n^{1/(β−2)}·log M/n, which exceeds the printed rate for every β and diverges for β < 3.
The printed rate belongs to M = n^{1/(β−1)}; and in Theorem 6.11, whose factor does not grow with M,
the remark's level gives log n/n.

With the bias that truncation really has, M^{1−β} for heads and M^{−β} for layers, the levels are
n^{1/β}, for n^{−(β−1)/β}·log n, and again log n/n.

>>> from dudley.theorems.registry import evaluate
>>> values = {"n": 1e6, "tail.beta": 2.5}
>>> [f"{evaluate('li2026/remark-6.12', values, f).value:.3g}" for f in ("printed", "derived")]
['0.01', '2.76e+07']
>>> {name: float(f"{v:.2g}") for name, v in evaluate("li2026/remark-6.12", values).details.items()}
{'factor_free_of_M': 2.9e-05, 'balanced': 0.1, 'true_bias_balanced': 0.0016}
"""

from __future__ import annotations

import math

from dudley.core.bound import Bound, Sense, Term
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.registry import register


def at(log_M: float, n: float, power: float, grows: float = 1.0) -> tuple[float, float]:
    """Variance M^grows·log M/n and bias M^{−power}."""
    return math.exp(grows * log_M) * log_M / n, math.exp(-power * log_M)


def printed(n: float, tail_beta: float, c: float) -> float:
    return c * n ** (-(tail_beta - 2) / (tail_beta - 1))


def derived(n: float, tail_beta: float) -> Bound:
    """The sum at the remark's level; beside it the sums at levels that balance."""
    β, log_n = tail_beta, math.log(n)
    if not β > 2:
        raise InputError("tail.beta", "a number > 2", β)
    variance, bias = at(log_n / (β - 2), n, β - 2)
    return Bound.of(
        variance + bias,
        quantity="",
        sense=Sense.SURELY,
        terms=(Term("variance", variance), Term("bias", bias)),
        details={
            "factor_free_of_M": sum(at(log_n / (β - 2), n, β - 2, grows=0.0)),
            "balanced": sum(at(log_n / (β - 1), n, β - 2)),
            "true_bias_balanced": sum(at(log_n / β, n, β - 1)),
        },
    )


REMARK_6_12 = register(
    Statement(
        id="li2026/remark-6.12",
        kind="remark",
        says="At the level n^{1/(β−2)} variance and bias are of order n^{−(β−2)/(β−1)}.",
        quantity="M·log M/n + M^{2−β} at M = n^{1/(β−2)}, predictions being of order M as in (25)",
        inputs=(Input("n"), Input("tail.beta", aliases=("beta",)), Input("c", default=1.0)),
        printed=Form(r"c\,n^{-(\beta-2)/(\beta-1)}", printed, Sense.CONSTANT),
        derived=Form(
            r"\tfrac1n\,n^{1/(\beta-2)}\,\tfrac{\log n}{\beta-2}+\tfrac1n",
            derived,
        ),
        verdict=Verdict.false(Repair.SYMBOL),
        erratum=(
            "Two balances are mixed. The level M = n^{1/(β−2)} equates the bias with 1/n, which is "
            "the variance up to a logarithm if the factor before it does not grow with M: then the "
            "rate is log n/n, as for Theorem 6.11, and the printed one is true but not what the "
            "balance yields. In Theorems 6.9 and 6.10 that factor must be the bound on predictions "
            "of the truncated class, of order M (see (25); B_X is printed): there the level "
            "gives n^{(3−β)/(β−2)}, larger than the printed rate for every β and divergent for "
            "β < 3. The printed rate is that of M = n^{1/(β−1)}. With the bias M^{1−β} of single "
            "layers, M = n^{1/β} gives n^{−(β−1)/β}·log n. All this is without label noise, under "
            "which no rate beats n^{−1/2}."
        ),
        example={"n": 1e6, "tail.beta": 4.0},
        rates={"printed": -2 / 3},  # at β = 4, where derived has −1/2
    )
)
