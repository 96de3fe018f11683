"""Section 2.5: parameter counting against norm-based bounds, and where they cross.

For one unit direction of the outputs of {x ↦ xW, ‖W‖_{1,1} ≤ B_w} on ‖x‖₂ ≤ B_x the calculus
gives both: by volume (dimension outside the logarithm) and by Maurey (norms outside).

At a resolution ε the covers are equally large at one ratio B_xB_w/ε: see :func:`crossing`. Below
it, about dk/e, norms are the better account, above it parameters. (The printed formulas are equal
at B_xB_w = dk.)

>>> from dudley.theorems.registry import evaluate
>>> values = {"d": 64, "k": 64, "n": 100_000, "W.l11": 3.0, "X.row2inf": 1.0}
>>> bound = evaluate("trauger2024/section-2.5", values)
>>> bound.details["norm_based"] < bound.details["parameter_counting"]
True
>>> round(bound.details["crossing"])  # B_xB_w/ε
1507
"""

from __future__ import annotations

import math
from functools import lru_cache

from dudley.classes.linear import LinearMap
from dudley.core.bound import Bound, Sense
from dudley.core.constraint import L11
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.chaining import chained
from dudley.theorems.registry import register

KINDS = {"parameter_counting": ("volumetric",), "norm_based": ("maurey",)}


def printed_kinds(d: float, k: float, n: float, B: float) -> dict[str, float]:
    """The two displayed formulas, n outside the root as printed; B = B_x·B_w."""
    if B < 1:
        raise InputError("B_x·B_w", "at least 1, where log(B_xB_w) has a square root", B)
    return {
        "parameter_counting": math.sqrt(d * k * math.log(B)) / n,
        "norm_based": math.sqrt(B * math.log(d * k)) / n,
    }


def printed(d: float, k: float, n: float, W_l11: float, X_row2inf: float, c: float) -> Bound:
    kinds = {name: c * v for name, v in printed_kinds(d, k, n, W_l11 * X_row2inf).items()}
    return Bound.of(min(kinds.values()), quantity="", sense=Sense.CONSTANT, details=kinds)


def derived(d: float, k: float, n: float, W_l11: float, X_row2inf: float) -> Bound:
    A = W_l11 * X_row2inf
    entropy = LinearMap((int(d), int(k)), L11(W_l11)).entropy().scaled(X_row2inf)
    kinds = {name: chained(entropy.only(c), A, n) for name, c in KINDS.items()}
    details = kinds | {"crossing": crossing(int(d), int(k))}
    return Bound.of(
        min(kinds.values()), quantity="", sense=Sense.SURELY, trivial=A, details=details
    )


def best(d: float, k: float, n: float, W_l11: float, X_row2inf: float) -> Bound:
    A = W_l11 * X_row2inf
    entropy = LinearMap((int(d), int(k)), L11(W_l11)).entropy().scaled(X_row2inf)
    value = min(derived(d, k, n, W_l11, X_row2inf).value, chained(entropy, A, n, "best"))
    return Bound.of(value, quantity="", sense=Sense.SURELY, trivial=A)


@lru_cache
def crossing(d: int, k: int) -> float:
    """The ratio B_xB_w/ε at which the cover by norms becomes larger than the cover by volume.

    With the exact count of Maurey's averages it is near dk/e.
    """
    entropy = LinearMap((d, k), L11(1.0)).entropy()

    def norms_win(log_ratio: float) -> bool:
        both = entropy.each(-log_ratio)
        return float(both["maurey"]) < float(both["volumetric"])

    low, high = 0.0, math.log(100 * d * k)
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if norms_win(middle) else (low, middle)
    return math.exp(high)


SECTION_2_5 = register(
    Statement(
        id="trauger2024/section-2.5",
        kind="section",
        says="Bounds count parameters (norms inside the log) or norms (dimensions inside the log).",
        quantity="Rademacher complexity of one unit output direction of x ↦ xW",
        inputs=(
            Input("d"),
            Input("k"),
            Input("n"),
            Input("W.l11", "the norm bound B_w; the paper leaves the norm open"),
            Input("X.row2inf", aliases=("B_x",)),
            Input("c", default=1.0),
        ),
        printed=Form(
            r"\min\Bigl\{\tfrac1n\sqrt{dk\log(B_xB_w)},\ \tfrac1n\sqrt{B_xB_w\log(dk)}\Bigr\}",
            printed,
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\min_{\text{volume, Maurey}}\ \inf_a4a+12\int_a^{A/2}"
            r"\sqrt{\log N(\varepsilon)/n}\,d\varepsilon,\quad A=B_xB_w",
            derived,
        ),
        best=Form(r"\text{optimised chaining of the pointwise best cover}", best),
        verdict=Verdict.undecided(Repair.SYMBOL),
        erratum=(
            "The roots must include n, and the norm-based kind carries B_xB_w outside the root: a "
            "complexity is homogeneous in the norms. The comparison itself stands: at resolution ε "
            "norms are the better account while B_xB_w/ε is below about dk/e."
        ),
        example={"d": 64, "k": 64, "n": 100_000, "W.l11": 3.0, "X.row2inf": 1.0},
    )
)
