"""Attacks on statements that take the covers of the parts as given: parts that are known exactly.

An ℓ1 ball of radius b in R^d has log N(ε) ≤ (b/ε)² log(2d + 1), two maps ±cE_ab have log N = log 2
up to ε = c, and scores ±ρS_i on m inputs with free signs S have log N = m log 2 up to ε = ρ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dudley.audit.attacks.network_covers import stack
from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.classes.linear import LinearMap
from dudley.core.constraint import L2, L11
from dudley.core.rounding import down, up
from dudley.theorems.witness.linear_maps import linear
from dudley.theorems.witness.lower import LowerBound


@ATTACKS.register("given covers")
class GivenCovers(Attack):
    """One part is free and all others are fixed; each part in turn."""

    targets = ("edelman2021/theorem-4.2", "trauger2024/theorem-4.2")

    def run(self, rng) -> Iterator[AttackFinding]:
        for L_out, ε in ((1.0, 0.74), (3.0, 2.8)):
            yield self.inner(4096, L_out, ε)
        for ρ, B_X in ((0.1, 1.0), (1.0, 5.0)):
            yield self.two_tokens(20, ρ, B_X)
        yield self.first_values(4096, 100.0, L=1)
        yield self.first_values(4096, 100.0, L=2)
        yield self.two_members(0.1, R=1.0)
        yield self.two_members(0.1, R=100.0)

    def inner(self, b: int, L_out: float, ε: float) -> AttackFinding:
        """One token, φ_in(x) = xW with W ∈ R^{1×b} in an ℓ1 ball, φ_out(y) = L_out·y."""
        lower = linear(LinearMap((1, b), L11(1.0)), ε, L_out)
        constants = {"attention.lipschitz": 1.0, "head.L_out": L_out, "head.B_in": 1.0}
        covers = {"score.C": 1e-9, "inner.C": float(up(math.log(2 * b + 1)))}
        values = constants | covers | {"X.row2inf": 1.0, "epsilon": ε}
        return AttackFinding(self.targets[0], values, lower)

    def two_tokens(self, m: int, ρ: float, B_X: float) -> AttackFinding:
        """Tokens ±B_X, scores ±ρS_i in context z_i, φ_in(x) = 2x: outputs ±2B_X tanh ρ."""
        ε = 2 * B_X * math.tanh(ρ) * (1 - 1e-9)
        lower = LowerBound(float(down(m * math.log(2))), f"all {m} signs of scores")
        covers = {"score.C": float(up(ρ**2 * m * math.log(2), 16)), "inner.C": 1e-9}
        constants = {"attention.lipschitz": 1.0, "head.L_out": 1.0, "head.B_in": 2.0}
        values = constants | covers | {"X.row2inf": B_X, "epsilon": ε}
        return AttackFinding(self.targets[0], values, lower)

    def first_values(self, d: int, B_c: float, L: int) -> AttackFinding:
        """Only the first W_v is free: one column in an ℓ1 ball of radius 1/B_c."""
        b, w = 1 / B_c, 1000.0
        networks = stack({"L": L}, (d, 1), 1.0, L11(0.0), L11(b), L11(B_c), L2(w))
        C = float(up(b**2 * math.log(2 * d + 1), 16))
        norms = {"W_QK.op": 0.0, "W_v.op": b, "W_c.op": B_c, "w.l2": w, "sigma.lipschitz": 1.0}
        covers = {"X.row2inf": 1.0, "class.C": C, "class.C_input": C} | fixed("QK", "c", "w")
        values = norms | covers | {"L": L, "epsilon": 0.7 * w}
        return AttackFinding(self.targets[1], values, networks.values(0.7 * w))

    def two_members(self, ρ: float, R: float) -> AttackFinding:
        """Only the sign of one score is free: W_QK = ±cE_ab."""
        c, v, w = ρ * math.sqrt(2) / R**2, math.sqrt(2) / R, 1000.0
        networks = stack({"L": 1}, (3, 1), R, L11(c), L11(v), L11(1.0), L2(w))
        ε = 0.99 * w * math.tanh(ρ)
        C = float(up(c**2 * math.log(2), 16))
        norms = {"W_QK.op": c, "W_v.op": v, "W_c.op": 1.0, "w.l2": w, "sigma.lipschitz": 1.0}
        covers = {"X.row2inf": R, "class.C": C, "class.C_input": float(up(C * R**2, 16))}
        covers |= fixed("v", "c", "w")
        return AttackFinding(
            self.targets[1], norms | covers | {"L": 1, "epsilon": ε}, networks.scores(ε)
        )


def fixed(*matrices: str) -> dict[str, float]:
    """One centre is a cover of a matrix that does not vary."""
    return {f"class.C_{matrix}": 0.0 for matrix in matrices}
