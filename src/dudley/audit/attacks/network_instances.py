"""Instances on which networks are attacked: where each block of weights is the expensive one.

One weight in each matrix, coarse and fine; many weights and no scores; all sign patterns of scores
with short and with long tokens; and a steep stack, whose second block makes the same patterns out
of scores next to 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dudley.core.rounding import up

Instance = dict[str, float]


def patterns(p: int, R: float, long: float = math.sqrt(2)) -> tuple[Instance, int, float]:
    """Norms of p×p signs with scores ±3 on tokens of norm R (ℓ1 norm, with long = 2), and W_v's."""
    c = 3 * long / R**2
    W_QK = {"op": c * p, "l11": c * p**2, "row2inf": c * p**0.5, "row1inf": c * p, "21": c * p**1.5}
    return {name: float(up(size, 64)) for name, size in W_QK.items()}, 2 * p + 1, long / R


def head_instances(more: Instance) -> Iterator[Instance]:
    """One weight, coarse and fine, with positions and heads as given; four; all patterns."""
    unit = {"W_v.row2inf": 1.0, "W_v.col2inf": 1.0, "W_v.op": 1.0, "W_QK.col2inf": 0.0} | more
    yield unit | {"d": 1, "n": 1, "T": 1, "X.row2inf": 1.0, "epsilon": 0.99}
    yield unit | {"d": 1, "n": 1, "T": 1, "X.row2inf": 2.0, "epsilon": 1e-3}
    yield unit | {"d": 4, "n": 4, "T": 2, "X.row2inf": 1.0, "epsilon": 1e-4}
    for p, R in ((32, 1.0), (1024, 100.0)):
        W_QK, d, v = patterns(p, R)
        sides = {"W_v.row2inf": v, "W_v.op": v, "W_v.col2inf": v / math.sqrt(d)}
        yield more | {side: float(up(x, 64)) for side, x in sides.items()} | {
            "d": d, "n": p * p, "T": 3, "X.row2inf": R, "W_QK.col2inf": W_QK["row2inf"],
            "epsilon": 0.9 * more.get("H", 1),
        }  # fmt: skip


def stack_instances() -> Iterator[Instance]:
    """One weight in each matrix, one block and three; all patterns; a steep stack."""
    unit = dict.fromkeys(
        ("W_v.op", "W_v.col2inf", "W_c.op", "W_c.col2inf", "w.l2", "X.row2inf"), 1.0
    )
    flat = unit | {"d": 1, "k": 1, "n": 1, "T": 1, "W_QK.op": 0.0, "W_QK.row2inf": 0.0}
    yield flat | {"L": 1, "epsilon": 0.9}
    yield flat | {"L": 1, "epsilon": 1e-6}
    yield flat | {"L": 3, "W_v.op": 4.0, "W_v.col2inf": 4.0, "X.row2inf": 0.01, "epsilon": 1e-6}
    for p, R in ((8, 1.0), (256, 100.0)):
        W_QK, d, v = patterns(p, R)
        yield unit | {
            "d": d, "k": 1, "L": 1, "n": p * p, "T": 3, "X.row2inf": R, "W_QK.op": W_QK["op"],
            "W_QK.row2inf": W_QK["row2inf"], "W_v.op": v, "W_v.col2inf": v, "epsilon": 0.9,
        }  # fmt: skip
    p, R, g = 1024, 100.0, 1000.0  # scores near 0, and W_v of norm g in two blocks
    c = 10 / (R**3 * g**2)
    yield unit | {
        "d": 2 * p + 1, "k": 1, "L": 2, "n": p * p, "T": 3, "X.row2inf": R, "W_QK.op": c * p,
        "W_QK.row2inf": c * math.sqrt(p), "W_v.op": g, "W_v.col2inf": g, "epsilon": 0.9,
    }  # fmt: skip


def simplified_instances() -> Iterator[Instance]:
    unit = {"X.row2inf": 1.0, "W.op": 1.0, "W.col2inf": 1.0, "w.l2": 1.0}
    yield unit | {"d": 1, "L": 1, "n": 1, "T": 1, "epsilon": 0.9}
    yield unit | {"d": 1, "L": 2, "n": 1, "T": 1, "epsilon": 1e-6}
    W_QK, d, _ = patterns(8, 2.0)
    size = {"W.op": max(1.0, W_QK["op"]), "W.col2inf": max(1.0, W_QK["row2inf"])}
    yield unit | size | {"d": d, "L": 1, "n": 64, "T": 3, "X.row2inf": 2.0, "epsilon": 0.9}


def trauger_instances(ball: tuple[str, ...], X: str) -> Iterator[Instance]:
    """One weight in each matrix; many with a fixed score matrix; all patterns."""
    unit = dict.fromkeys((*ball, X, "W_v.op", "W_c.op", "w.l2", "sigma.lipschitz"), 1.0)
    flat = unit | {"W_QK.op": 0.0, "T": 1}
    yield flat | {"d": 1, "k": 1, "L": 1, "epsilon": 0.9}
    yield flat | {"d": 1, "k": 1, "L": 3, "epsilon": 1e-6}
    yield flat | {"d": 64, "k": 1, "L": 1, "epsilon": 0.3}
    for p, R in ((8, 1.0), (64, 100.0)):
        W_QK, d, v = patterns(p, R, 2 if X == "X.row1inf" else math.sqrt(2))
        sizes = {"W.l11": "l11", "W.row1inf": "row1inf", "W.row21": "21", "W.col21": "21"}
        wide = {name: max(1.0, v, W_QK[sizes[name]]) for name in ball}
        yield unit | wide | {"d": d, "k": 1, "L": 1, "T": 3, X: R, "W_QK.op": W_QK["op"],
                            "W_v.op": v, "epsilon": 0.9}  # fmt: skip


def li_instances() -> Iterator[Instance]:
    unit = dict.fromkeys(
        ("W_v.l11", "W_c.l11", "w.l2", "w.l1", "sigma.lipschitz", "X.row2inf"), 1.0
    )
    yield unit | {"d": 1, "k": 1, "W_QK.l11": 0.0, "epsilon": 0.9}
    yield unit | {"d": 1, "k": 1, "W_QK.l11": 0.0, "epsilon": 1e-6}
    yield unit | {"d": 4096, "k": 1, "W_QK.l11": 0.0, "X.row2inf": 3.0, "epsilon": 2.1}
    for p, R in ((8, 1.0), (64, 100.0)):
        W_QK, d, v = patterns(p, R)
        yield unit | {"d": d, "k": 1, "X.row2inf": R, "W_QK.l11": W_QK["l11"], "W_v.l11": v,
                     "epsilon": 0.9}  # fmt: skip


def token_instances() -> Iterator[Instance]:
    unit = dict.fromkeys(("X.row2inf", "w.l2", "W_v.op", "W_v.row21", "W_v.col21"), 1.0)
    flat = unit | {"W_QK.row21": 0.0, "n": 1, "T": 1, "k": 1}
    yield flat | {"d": 1, "epsilon": 0.9}
    yield flat | {"d": 1, "epsilon": 1e-6}
    yield flat | {"d": 64, "n": 64, "k": 2, "W_v.row21": 8.0, "W_v.col21": 2.0, "epsilon": 0.08}
    for p, R in ((8, 1.0), (256, 100.0)):
        W_QK, d, v = patterns(p, R)
        sides = dict.fromkeys(("W_v.op", "W_v.row21", "W_v.col21"), v)
        yield unit | sides | {"d": d, "k": 1, "n": p * p, "T": 3, "X.row2inf": R,
                             "W_QK.row21": W_QK["21"], "epsilon": 0.45}  # fmt: skip


INSTANCES: dict[str, tuple[Instance, ...]] = {
    "edelman2021/corollary-4.4": tuple(head_instances({})),
    "edelman2021/lemma-A.11": tuple(head_instances({"P.row2inf": 1.0})),
    "edelman2021/lemma-A.12": tuple(head_instances({"H": 2})),
    "edelman2021/theorem-A.17": tuple(stack_instances()),
    "edelman2021/theorem-4.6": tuple(simplified_instances()),
    "trauger2024/corollary-4.2.1": tuple(trauger_instances(("W.l11",), "X.row2inf")),
    "trauger2024/corollary-F.0.1": tuple(trauger_instances(("W.row1inf",), "X.row1inf")),
    "trauger2024/corollary-F.0.2": tuple(trauger_instances(("W.row21", "W.col21"), "X.row1inf")),
    "li2026/equation-14": tuple(li_instances()),
    "mwigo2026/lemma-6": tuple(token_instances()),
}
