"""Remark 6.7: which level of truncation sub-Gaussian inputs ask for.

The remark takes M of order √log n: then T_err is of order 1/n and the level costs only logarithms,
but what it multiplies falls like n^{−1/3} (one scale) or n^{−1/2}, not 1/n. With label noise the
excess risk is of order n^{−1/2} in width one already.

>>> from dudley.theorems.registry import load
>>> it = load()["li2026/remark-6.7"]
>>> values = dict(it.example) | {"n": 1e12}
>>> [f"{it.evaluate_on(values, form).value:.2g}" for form in it.forms]
['5.3e-12', '0.036', '0.0092']
"""

from __future__ import annotations

import math
from dataclasses import replace

from dudley.core.binding import bundled
from dudley.core.bound import Sense
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems import excess
from dudley.theorems.li2026.models import ASSUMPTIONS
from dudley.theorems.li2026.norm_based import RATES
from dudley.theorems.li2026.sub_gaussian import EXAMPLE, INPUTS, TAILS, SubGaussian, heads
from dudley.theorems.li2026.truncation import TRUNCATED
from dudley.theorems.registry import register


def at_level(model: SubGaussian) -> SubGaussian:
    """Remark 6.7: M = ν√(2 log(n(T + d))), where the probability beyond M is 1/n."""
    M = model.tail_nu * math.sqrt(2 * math.log(model.n * (model.T + model.d)))
    return replace(model, truncation=M)


of = bundled(SubGaussian, bernstein_V=math.inf, resolution=math.inf, truncation=math.nan)

REMARK_6_7 = register(
    Statement(
        id="li2026/remark-6.7",
        kind="remark",
        says="With a level of order √log n the excess risk of one head is of order √log n/n.",
        quantity=excess.QUANTITY,
        inputs=(
            *(i for i in INPUTS if i.name != "resolution"),
            Input("c", "the constant hidden in the rate", 1.0),
        ),
        printed=Form(
            r"c\,\sqrt{\log n}/n", lambda n, c: c * math.sqrt(math.log(n)) / n, Sense.CONSTANT
        ),
        derived=Form(
            r"\text{Theorem 6.4 as derived, at}\ M=\nu\sqrt{2\log(n(T+d))}",
            of(lambda model: heads[0](at_level(model), 1.0)),
            Sense.EXPECTATION,
        ),
        best=Form(
            r"\text{Theorem 6.4 with every cover and rule, at}\ M=\nu\sqrt{2\log(n(T+d))}",
            of(lambda model: heads[1](at_level(model), 1.0)),
            Sense.EXPECTATION,
        ),
        verdict=Verdict.false(Repair.WEAKER),
        erratum=(
            "With label noise the rate is false: constant predictors of one bounded input have an "
            "excess risk of order n^{−1/2}. Without noise it does not follow. The level is well "
            "chosen: with M = ν√(2 log(n(T + d))) truncation costs of the order of M/n, and M "
            "enters the rest through powers of log n. But the rate is that of Theorem 6.4 with one "
            "logarithm too many: norm-based complexity gives n^{−1/3} at one scale and n^{−1/2} "
            "chained, up to logarithms. (For a fixed width, counting parameters gives log n/n in "
            "the end, with a constant that grows with d·k.)"
        ),
        assumptions=(*ASSUMPTIONS, TRUNCATED, TAILS),
        example={name: v for name, v in EXAMPLE.items() if name != "truncation"}
        | {"tail.nu": 0.25},
        rates=RATES,
    )
)
