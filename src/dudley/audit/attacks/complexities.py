"""Rademacher complexities that are known exactly: towers of signs, identical inputs, patterns.

* *Tower.* The points fall into parts, part j into m_j blocks of b_j points; a member is ±a_j on
  each block. The complexity is Σ_j m_jb_ja_j E|S_{b_j}|/(b_jn). Members are 2a_j apart as soon as
  they differ in part j, so log N(ε) = log 2·Σ_{2a_j > ε} m_j, also for proper covers, and
  C = max_j (2a_j)² log 2·Σ_{i ≤ j} m_i (a_j falling) is the least with log N(ε) ≤ C/ε².
* *Identical inputs.* If predictions at x range over an interval of length 2ρ, the complexity on
  n copies of x is ρE|S_n|/n. One token leaves attention nothing to do.
* *Patterns* (``audit.patterns``). All 2^N answers to N inputs ±a: on these the complexity is a.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.audit.instances import mean_sign, only
from dudley.audit.patterns import Patterns
from dudley.core.rounding import down, up
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.suprema import BallClass, offset_unconstrained, rademacher


@dataclass(frozen=True)
class Tower:
    """Parts (a_j, m_j, b_j), a_j falling.

    >>> signs = Tower(((1.0, 4, 1),))
    >>> round(signs.complexity, 9), round(signs.C / math.log(2), 9)
    (1.0, 16.0)
    """

    parts: tuple[tuple[float, int, int], ...]

    @classmethod
    def of(cls, n: int, A: float, first: int, ratio: float, height: int) -> Tower:
        """About n points: a_j = A·ratio^{−j}, m_j ≈ first·ratio^{2j}, equal parts."""
        parts = []
        for j in range(height):
            m = round(first * ratio ** (2 * j))
            parts.append((A * ratio**-j, m, max(1, n // height // m)))
        return cls(tuple(parts))

    @property
    def n(self) -> int:
        return sum(m * b for _, m, b in self.parts)

    @property
    def C(self) -> float:
        blocks = np.cumsum([m for _, m, _ in self.parts])
        sizes = np.array([a for a, _, _ in self.parts])
        return float(up(float((4 * sizes**2 * blocks).max()) * math.log(2), 16))

    @property
    def complexity(self) -> float:
        total = math.fsum(a * m * b * mean_sign(b) for a, m, b in self.parts)
        return float(down(total / self.n, 8))


@ATTACKS.register("towers of signs")
class Towers(Attack):
    """Classes whose covering numbers are known at every scale, against Dudley's integral."""

    targets = (
        "edelman2021/lemma-A.2",
        "edelman2021/corollary-A.3",
        "trauger2024/equation-2.4",
        "mwigo2026/equation-3.3",
    )
    towers = (
        Tower(((2.0, 12, 1),)),  # all signs: the trivial bound is attained
        Tower.of(1000, 1.0, 64, 1.2, 4),
        Tower.of(100_000, 1.0, 64, 1.2, 13),
        Tower.of(10**6, 3.0, 64, 1.2, 16),
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for tower in self.towers:
            lower = LowerBound(tower.complexity, f"tower of {len(tower.parts)} parts, exact")
            values = {"n": tower.n, "class.C": tower.C, "class.radius": tower.parts[0][0]}
            for id in self.targets:
                yield AttackFinding(id, values, lower)


@ATTACKS.register("exact suprema")
class ExactSuprema(Attack):
    """ℓ1 and ℓ2 balls, and all linear functions with a penalty."""

    targets = (
        "edelman2021/definition-A.1",
        "trauger2024/section-2.5",
        "trauger2024/section-4.2",
        "li2026/definition-3.1",
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for n, B, R in ((4, 2.0, 0.5), (9, 1.0, 3.0)):  # orthogonal points
            ball = BallClass("l2", B, R * np.eye(n))
            yield AttackFinding(
                self.targets[0],
                {"n": n, "w.l2": B, "X.row2inf": R},
                rademacher(ball, n, ball.size),
            )
        for n, d, B in ((1, 3, 2.0), (1000, 1, 1.0), (100_000, 64, 3.0)):  # identical points
            values = {"n": n, "d": d, "k": d, "W.l11": B, "X.row2inf": 1.0}
            lower = LowerBound(B * mean_sign(n), f"{n} identical inputs, exact")
            yield AttackFinding(self.targets[1], values, lower)
        for H, n in ((1, 6), (8, 8)):  # one fixed readout, heads x ↦ xW_h, each in an ℓ1 ball
            X = rng.normal(size=(n, 3))
            ball = BallClass("l1", 1.0, X)
            single = rademacher(ball, n, ball.size).value
            many = rademacher(lambda s, H=H, ball=ball: H * ball(s), n, H * ball.size)
            yield AttackFinding(
                self.targets[2], {"H": H, "class.rademacher": single * (1 + 1e-9)}, many
            )
        for n, d, β in ((100, 5, 0.25), (12, 12, 2.0)):
            lower = offset_unconstrained(rng.normal(size=(n, d)), β)
            yield AttackFinding(self.targets[3], {"n": n, "d": d, "beta": β}, lower)


HEADS = (
    "trauger2024/theorem-4.1",
    "trauger2024/corollary-4.1.1",
    "trauger2024/corollary-D.0.1",
    "trauger2024/corollary-D.0.2",
)


@ATTACKS.register("identical inputs to a head")
class IdenticalInputs(Attack):
    """One token, x = B_xe_1: predictions range over ±B_wB_cB_vL_σB_x, for any W_QK.

    For words: logits range over a cube of side 2r, r the same product, and the cross-entropy over
    [log(1 + (V − 1)e^{−2r}), log(1 + (V − 1)e^{2r})], cut at the clip.
    """

    targets = (*HEADS, "trauger2024/theorem-5.1")

    def run(self, rng) -> Iterator[AttackFinding]:
        for n, d, B, x in (
            (2, 1, 2.0, 0.5),
            (30, 4, 1.0, 1.0),
            (10**4, 1, 1.0, 1.0),
            (10**7, 64, 1.0, 1.0),
        ):
            values = {"n": n, "d": d, "k": d, "T": 1, "w.l1": B, "sigma.lipschitz": 1.0}
            values |= {
                f"{W}.{norm}": 1.0 for W in ("W_v", "W_c") for norm in ("row1inf", "col1inf")
            }
            values |= {"X.row2inf": x, "X.row1inf": x, "class.C": 0.0}
            values |= {f"W_QK.{norm}": 0.0 for norm in ("l11", "col1inf", "col21")}
            lower = LowerBound(B * x * mean_sign(n), f"{n} identical inputs, exact")
            for id in HEADS:
                yield AttackFinding(id, only(id, values), lower)
            V, clip, r = (2 if n == 10**4 else 1000), 20.0, B * x
            ends = [min(clip, math.log1p((V - 1) * math.exp(t))) for t in (-2 * r, 2 * r)]
            lower = LowerBound(
                float(down((ends[1] - ends[0]) / 2 * mean_sign(n), 64)),
                f"{n} identical inputs, exact",
            )
            words = only(self.targets[-1], values | {"V": V, "loss.range": clip})
            yield AttackFinding(self.targets[-1], words, lower)


@ATTACKS.register("patterns of a head")
class HeadPatterns(Attack):
    """All answers to N inputs: the complexity on them is a, and aE|S_b|/b on b copies of each."""

    targets = HEADS
    heads = (
        (Patterns(2, 4), 1),
        (Patterns(2, 5_000, scale=1e5, value=1e-5, query=1e-2), 1),  # small W_QK, long tokens
        (Patterns(3, 8), 10_000),
        (Patterns(3, 8), 10**12),  # enough examples for the derived forms to say something
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for heads, copies in self.heads:
            values = heads.norms() | {"n": heads.count * copies}
            apart = heads.scale * 2 * heads.κ * math.sqrt(heads.count)  # of two maps x ↦ xW_QK
            values["class.C"] = float(up(heads.count * math.log(2) * apart**2, 16))
            value = heads.prediction * mean_sign(copies)
            lower = LowerBound(value, f"all 2^{heads.count} answers to {heads.count} inputs")
            for id in self.targets:
                yield AttackFinding(id, only(id, values), lower)


@ATTACKS.register("identical inputs to an encoder")
class EncoderInputs(Attack):
    """One token x = Be_1: f = w·relu(xW_v), anywhere in the balls, or near an initialisation.

    Near W_v⁰ = ce_1e_1ᵀ, w⁰ = c′e_1 (c ≥ R_V, c′ ≥ R_O) predictions range from
    B(c − R_V)(c′ − R_O) to B(c + R_V)(c′ + R_O); around 0 over ±BR_VR_O.
    """

    targets = ("mwigo2026/lemma-1", "mwigo2026/lemma-2")

    def run(self, rng) -> Iterator[AttackFinding]:
        for n, B, d in ((1, 2.0, 8), (10**6, 1.0, 1), (10**9, 1.0, 8)):
            yield from self.on_copies(n, B, 0.0, 1.5, d, self.targets)
        for n, c, R in ((1, 1.0, 0.01), (10_000, 3.0, 0.1)):
            yield from self.on_copies(n, 1.0, c, R, 8, self.targets[:1])

    def on_copies(self, n, B, c, R, d, targets) -> Iterator[AttackFinding]:
        values = {"n": n, "T": 1, "d": d, "k": d, "X.fro": B, "X.row2inf": B, "w.l2": c + R}
        values |= {f"W_v.{norm}": c + R for norm in ("fro", "op")}
        values |= {"w.moved": R, "W_v.moved": R}
        values |= {f"{W}.{what}": 0.1 for W in ("W_Q", "W_K") for what in ("fro", "op", "moved")}
        least = (c - R) ** 2 if c >= R else -((c + R) ** 2)
        width = float(down(B * ((c + R) ** 2 - least) / 2, 16))
        lower = LowerBound(width * mean_sign(n), f"{n} identical inputs, exact")
        for id in targets:
            yield AttackFinding(id, only(id, values), lower)
