"""Attacks on covers of linear maps: codes, crowds and volumes inside the stated norm balls.

Each statement is about a class {x ↦ xW} that its inputs name; ``CLASSES`` builds it from them. The
instances are chosen where covers are tight: small ε in low dimension, where volumes count, and ε
near the radius in high dimension, where norms do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.classes.linear import LinearMap
from dudley.core.constraint import (
    L2,
    L11,
    Col2Inf,
    Col21,
    Constraint,
    Rank,
    Row1Inf,
    Row21,
    Spectral,
)
from dudley.core.rounding import down, up
from dudley.theorems import registry
from dudley.theorems.witness.exact_covers import scalar_cover
from dudley.theorems.witness.linear_maps import linear
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.volumes import volume_ratio

Values = Mapping[str, float]
MAUREY = ("trauger2024/lemma-3.6", "li2026/lemma-5.2", "li2026/lemma-B.3")
SUMS = ("trauger2024/lemma-3.4", "trauger2024/lemma-3.5")


@dataclass(frozen=True)
class Maps:
    """Linear maps in a constraint set on inputs of a radius: n points, or any number of them."""

    shape: tuple[float, float]
    constraint: Constraint
    radius: float
    n: float | None = None
    l1: bool = False

    def below(self, ε: float) -> LowerBound:
        """log N(ε) is at least this."""
        maps = LinearMap((int(self.shape[0]), int(self.shape[1])), self.constraint)
        return linear(maps, ε, self.radius, None if self.n is None else int(self.n), l1=self.l1)


def functionals(v: Values) -> Maps:
    return Maps((v["d"], 1), L2(v["w.l2"]), v["X.row2inf"], v["n"])


def summed(v: Values) -> Maps:
    norms = Row21(v["W.row21"]) & Col21(v["W.col21"])
    if "X.row1inf" in v:
        return Maps((v["d"], v["k"]), norms, v["X.row1inf"], l1=True)
    return Maps((v["d"], v["k"]), norms, v["X.row2inf"], v["n"])


def maurey(v: Values) -> Maps:
    return Maps((v["d"], v["k"]), L11(v["W.l11"]), v["X.row2inf"])


CLASSES: dict[str, Callable[[Values], Maps]] = {
    "edelman2021/definition-2.1": functionals,
    "edelman2021/lemma-A.10": functionals,
    "edelman2021/lemma-4.5": lambda v: Maps(
        (v["d"], v["k"]), Col2Inf(v["W.col2inf"]), v["X.row2inf"], v["n"]
    ),
    "trauger2024/lemma-3.3": lambda v: Maps(
        (v["d"], v["k"]), Row1Inf(v["W.row1inf"]), v["X.row1inf"], l1=True
    ),
    **dict.fromkeys(SUMS, summed),
    **dict.fromkeys(MAUREY, maurey),
    "li2026/assumption-5.7": lambda v: Maps(
        (v["d"], v["k"]), Spectral(v["W.op"]) & Rank(int(v["W.rank"])), v["X.row2inf"]
    ),
    "li2026/lemma-B.6": lambda v: Maps(
        (v["k"], v["subspace.dim"]), Spectral(v["W.op"]), v["X.row2inf"]
    ),
}

FUNCTIONALS = (  # one weight, coarse and fine; eight; few steps of the perceptron
    {"d": 1, "n": 1, "w.l2": 1.0, "X.row2inf": 1.0, "epsilon": 0.99},
    {"d": 1, "n": 1, "w.l2": 1.0, "X.row2inf": 1.0, "epsilon": 1e-3},
    {"d": 8, "n": 8, "w.l2": 2.0, "X.row2inf": 0.5, "epsilon": 1e-3},
    {"d": 1000, "n": 1000, "w.l2": 1.0, "X.row2inf": 3.0, "epsilon": 0.6},
)
VERTICES = (  # the vertices of an ℓ1 ball, two to a centre; then its volume
    {"d": 1, "k": 4096, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.75},
    {"d": 1, "k": 64, "W.l11": 1.0, "X.row2inf": 2.0, "epsilon": 0.6},
    {"d": 2, "k": 2, "W.l11": 3.0, "X.row2inf": 1.0, "epsilon": 1e-4},
)
INSTANCES: dict[str, tuple[dict[str, float], ...]] = {
    "edelman2021/definition-2.1": FUNCTIONALS,
    "edelman2021/lemma-A.10": FUNCTIONALS,
    "edelman2021/lemma-4.5": (
        {"d": 1, "k": 1, "n": 1, "W.col2inf": 1.0, "X.row2inf": 1.0, "epsilon": 0.99},
        {"d": 4, "k": 2, "n": 4, "W.col2inf": 1.0, "X.row2inf": 2.0, "epsilon": 1e-4},
        {"d": 400, "k": 4, "n": 400, "W.col2inf": 1.0, "X.row2inf": 1.0, "epsilon": 0.2},
    ),
    "trauger2024/lemma-3.3": (
        {"d": 3, "k": 4096, "W.row1inf": 1.0, "X.row1inf": 1.0, "epsilon": 0.75},
        {"d": 64, "k": 64, "W.row1inf": 0.5, "X.row1inf": 4.0, "epsilon": 0.9},
        {"d": 2, "k": 2, "W.row1inf": 3.0, "X.row1inf": 1.0, "epsilon": 1e-4},
    ),
    "trauger2024/lemma-3.4": (
        {"d": 1, "k": 1, "W.row21": 1.0, "W.col21": 1.0, "X.row1inf": 1.0, "epsilon": 1e-4},
        {"d": 1, "k": 1, "W.row21": 1.0, "W.col21": 1.0, "X.row1inf": 1.0, "epsilon": 0.99},
        {"d": 256, "k": 1, "W.row21": 16.0, "W.col21": 1.0, "X.row1inf": 1.0, "epsilon": 0.062},
        {"d": 1, "k": 64, "W.row21": 1.0, "W.col21": 8.0, "X.row1inf": 1.0, "epsilon": 0.1},
    ),
    "trauger2024/lemma-3.5": (
        {"d": 1, "k": 1, "n": 1, "W.row21": 1.0, "W.col21": 1.0, "X.row2inf": 1.0, "epsilon": 1e-4},
        {"d": 1, "k": 1, "n": 1, "W.row21": 1.0, "W.col21": 1.0, "X.row2inf": 1.0, "epsilon": 0.99},
        {"d": 256, "k": 1, "n": 256, "W.row21": 16.0, "W.col21": 1.0, "X.row2inf": 2.0,
         "epsilon": 0.124},
        {"d": 1, "k": 64, "n": 1, "W.row21": 1.0, "W.col21": 8.0, "X.row2inf": 1.0,
         "epsilon": 0.1},
    ),
    **dict.fromkeys(MAUREY, VERTICES),
    "li2026/assumption-5.7": (
        {"d": 4, "k": 4, "W.rank": 4, "W.op": 1.0, "X.row2inf": 2.0, "epsilon": 1e-6},
        {"d": 64, "k": 2, "W.rank": 1, "W.op": 1.0, "X.row2inf": 1.0, "epsilon": 1e-3},
    ),
    "li2026/lemma-B.6": (
        {"k": 4, "subspace.dim": 4, "W.op": 1.0, "X.row2inf": 2.0, "epsilon": 1e-6},
        {"k": 1, "subspace.dim": 1, "W.op": 1.0, "X.row2inf": 1.0, "epsilon": 1e-6},
    ),
}  # fmt: skip


@ATTACKS.register("linear maps")
class LinearMaps(Attack):
    """Codes, crowds and volumes, on the instances above and on each statement's example."""

    targets = tuple(CLASSES)

    def run(self, rng) -> Iterator[AttackFinding]:
        for id in self.targets:
            for values in (*INSTANCES[id], registry.load()[id].example):
                yield AttackFinding(id, values, CLASSES[id](values).below(values["epsilon"]))


def by_members(n: int, k: int, ε: float) -> float:
    """log of how many members of the unit ball of R^n cover it at n orthonormal points.

    A member c within ε of u = k^{−1/2}·signs on k places has |c_i| ≥ k^{−1/2} − ε = t > 0 there,
    with the signs of u. As ‖c‖ ≤ 1 it has at most M = ⌊t^{−2}⌋ such places, so of the 2^k C(n, k)
    vectors u it serves at most C(M, k).

    >>> round(math.exp(by_members(1000, 1, 0.75)))                 # 2000 vertices, 16 to a centre
    125
    """
    t = (1 / math.sqrt(k) - ε) * (1 - 1e-9)
    if t <= 1e-6 or k > n:
        return 0.0
    M = min(math.floor(t**-2 * (1 + 1e-9)), n)
    needed = -(-(math.comb(n, k) << k) // math.comb(M, k))
    return float(down(math.log(needed), 8))


@ATTACKS.register("members only")
class MembersOnly(Attack):
    """Proper covers: a centre in the ball is close to few sparse vectors."""

    targets = ("edelman2021/definition-2.1",)

    def run(self, rng) -> Iterator[AttackFinding]:
        for n, ε in ((10**6, 0.7), (10**4, 0.5), (1000, 0.3)):
            values = {"d": n, "n": n, "w.l2": 0.5, "X.row2inf": 2.0, "epsilon": ε}
            value, k = max((by_members(n, k, ε), k) for k in range(1, 12))
            lower = LowerBound(value, f"members close to few vectors with {k} signs")
            yield AttackFinding(self.targets[0], values, lower)


@ATTACKS.register("outputs one by one")
class OutputsOneByOne(Attack):
    """k constants in [−1, 1], each of which ⌈1/ε⌉ intervals cover: a cube at √k·ε, by volume."""

    targets = ("trauger2024/appendix-A",)

    def run(self, rng) -> Iterator[AttackFinding]:
        for k, bits in ((1, 1), (4, 20), (64, 40)):
            ε = 2.0**-bits
            resolution = float(up(math.sqrt(k) * ε)) if k > 1 else ε
            value, _ = volume_ratio({"linf": 1.0}, (k, 1), "fro", resolution)
            values = {"k": k, "class.log_cover": float(up(bits * math.log(2)))}
            yield AttackFinding(
                self.targets[0], values, LowerBound(value, "volume of a cube, q = 2")
            )


@ATTACKS.register("exact covers")
class ExactCovers(Attack):
    """Two weights at two orthonormal points: what 151 vectors of the disk need, exactly."""

    targets = (
        "edelman2021/definition-2.1",
        "edelman2021/lemma-A.10",
        "edelman2021/lemma-4.5",
        "trauger2024/lemma-3.4",
        "trauger2024/lemma-3.5",
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        angles = np.arange(100) * (2 * np.pi / 100)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (1 - 1e-12)
        lower = scalar_cover(np.concatenate([circle, circle[::2] / 2, [[0.0, 0.0]]]), 0.4)
        root = float(up(math.sqrt(2)))  # bounds ‖w‖₁, so that it says nothing
        disk = {"w.l2": 1.0, "W.col2inf": 1.0, "W.col21": 1.0, "W.row21": root}
        common = disk | {"d": 2, "k": 1, "n": 2, "X.row2inf": 1.0, "X.row1inf": 1.0, "epsilon": 0.4}
        for id in self.targets:
            named = {given.name for given in registry.load()[id].inputs}
            values = {name: value for name, value in common.items() if name in named}
            yield AttackFinding(id, values, lower)
