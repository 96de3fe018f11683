"""Remark 6.12: which level of truncation heavy tails ask for.

The remark balances a variance log M/n with the bias M^{2−β}, finds M = n^{1/(β−2)}, and concludes
n^{−(β−2)/(β−1)}. By its own terms the sum at that level is of order log n/n, which is below the
printed rate for every β: the remark is true, and says less than its balance yields. The printed
rate belongs to M = n^{1/(β−1)} and a variance with a factor M. Such a factor is there in Theorems
6.9 and 6.10, where it is the bound on predictions of the truncated class, of order M ((25); they
print B_X): with it the remark's level gives n^{1/(β−2)}·log M/n, which exceeds the printed rate for
every β and diverges for β < 3.

With the bias that truncation really has, M^{1−β} for heads and M^{−β} for layers, the levels are
n^{1/β}, for n^{−(β−1)/β}·log n, and again log n/n.

>>> from dudley.theorems.registry import evaluate
>>> values = {"n": 1e6, "tail.beta": 2.5}
>>> [f"{evaluate('li2026/remark-6.12', values, f).value:.3g}" for f in ("printed", "derived")]
['0.01', '2.86e-05']
>>> {name: float(f"{v:.2g}") for name, v in evaluate("li2026/remark-6.12", values).details.items()}
{'with_factor_M': 28000000.0, 'balanced_with_factor_M': 0.1, 'true_bias_balanced': 0.0016}
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
    variance, bias = at(log_n / (β - 2), n, β - 2, grows=0.0)
    return Bound.of(
        variance + bias,
        quantity="",
        sense=Sense.SURELY,
        terms=(Term("variance", variance), Term("bias", bias)),
        details={
            "with_factor_M": sum(at(log_n / (β - 2), n, β - 2)),
            "balanced_with_factor_M": sum(at(log_n / (β - 1), n, β - 2)),
            "true_bias_balanced": sum(at(log_n / β, n, β - 1)),
        },
    )


REMARK_6_12 = register(
    Statement(
        id="li2026/remark-6.12",
        kind="remark",
        says="At the level n^{1/(β−2)} variance and bias are of order n^{−(β−2)/(β−1)}.",
        quantity="log M/n + M^{2−β} at M = n^{1/(β−2)}, the remark's variance and bias",
        inputs=(Input("n"), Input("tail.beta", aliases=("beta",)), Input("c", default=1.0)),
        printed=Form(r"c\,n^{-(\beta-2)/(\beta-1)}", printed, Sense.CONSTANT),
        derived=Form(
            r"\tfrac1n\,\tfrac{\log n}{\beta-2}+\tfrac1n",
            derived,
        ),
        verdict=Verdict.true(Repair.SYMBOL),
        erratum=(
            "As an upper bound under the remark's own variance O(log M/n) the rate is true, and "
            "log n/n is what the balance yields. The printed rate is that of M = n^{1/(β−1)} and a "
            "variance M·log M/n. In Theorems 6.9 and 6.10 the factor before the logarithm must be "
            "the bound on predictions of the truncated class, of order M (see (25); B_X is "
            "printed): with it the remark's level gives n^{(3−β)/(β−2)}, larger than the printed "
            "rate for every β and divergent for β < 3. With the bias M^{1−β} of single layers, "
            "M = n^{1/β} gives n^{−(β−1)/β}·log n. All this is without label noise, under which no "
            "rate beats n^{−1/2}."
        ),
        example={"n": 1e6, "tail.beta": 4.0},
        rates={"printed": -2 / 3, "derived": -1.0},  # at β = 4
    )
)
