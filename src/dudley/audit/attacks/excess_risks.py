"""Excess risks of empirical risk minimisers, known exactly, in classes of heads and layers.

* *Unseen answers* (``audit.patterns``): labels are those of one pattern, the minimiser is wrong by
  2a on every input it has not seen; no noise, the target in the class.
* *Experts*: heads that read one of N tokens ±1 (σ clips at c, so predictions are ±c), Y = −c and a
  token that is always −1. Token j is +1 with chance p, independently: a minimiser may follow any
  expert that was never wrong, so E exc = 2cp(1 − (1 − (1 − p)^n)^N).
* *A loaded coin*: constants in [−1, 1] and labels ±1, P(Y = 1) = ½ + h, with and without the
  Bernstein constant V = 1/h (E g² = (1 − c)², E g = 2h(1 − c)).
* *Out of reach*: Y = B beyond all predictions |f| ≤ 1: every minimiser is 1, and its excess is the
  approximation error B − 1.

With Catoni's ψ (α = 1) losses of 0, 2a, 2 and B − 1 become ψ of these; ψ increases, and is concave,
so that the minimiser among constants is still the majority.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.audit.instances import mean_sign, only
from dudley.audit.patterns import Patterns, rare
from dudley.core.rounding import down, up
from dudley.networks.robust import LogTruncation
from dudley.theorems.witness.exact_risk import constants
from dudley.theorems.witness.lower import LowerBound

OFFSET = ("li2026/theorem-4.4", "li2026/theorem-4.7", "li2026/theorem-4.11")
COVERS = ("li2026/corollary-4.5", "li2026/corollary-4.8", "li2026/corollary-4.13")
NORMS = ("li2026/theorem-5.3", "li2026/theorem-B.1", "li2026/theorem-B.2")
RANKS = ("li2026/theorem-5.8", "li2026/theorem-B.4", "li2026/theorem-B.5")
LIGHT = ("li2026/theorem-6.4", "li2026/theorem-6.5", "li2026/theorem-6.6", "li2026/remark-6.7")
HEAVY = ("li2026/theorem-6.9", "li2026/theorem-6.10", "li2026/theorem-6.11")
ROBUST = LogTruncation(2.0)
β = 20.0


def tails(T: float, d: float, norm: float, chance: float, level: float) -> dict[str, float]:
    """Tails that ‖X‖_F ≤ ``norm`` has, where X is 0 but for this chance."""
    ν = norm / math.sqrt(2 * math.log((T + d) / chance))
    parameters = {
        "tail.nu": ν,
        "tail.C": chance * norm**β,
        "tail.beta": β,
        "truncation": level * norm,
    }
    return {name: float(up(value, 64)) for name, value in parameters.items()}


@dataclass(frozen=True)
class LearningProblem:
    """A learning problem as inputs of statements, with its excess risk and that for ψ."""

    values: dict[str, float]
    loss: float  # what the minimiser's excess is a multiple of
    share: float
    method: str

    def finding(self, id: str) -> AttackFinding:
        if id not in HEAVY:
            lower = self.loss * self.share
            return AttackFinding(id, only(id, self.values), LowerBound(lower, self.method))
        values = dict(self.values)
        if values.get("class.approximation", 0) > 0:
            values["class.approximation"] = float(up(ROBUST(values["class.approximation"]), 8))
        lower = float(down(ROBUST(self.loss), 8)) * self.share
        return AttackFinding(id, only(id, values), LowerBound(lower, self.method))


@ATTACKS.register("unseen answers")
class UnseenAnswers(Attack):
    """Patterns: as many inputs as hide from the sample, or few of them and a large sample."""

    targets = (*OFFSET, *COVERS, *NORMS, *RANKS, *LIGHT, *HEAVY)
    problems = ((Patterns(2, 30_000, query=0.1), 5), (Patterns(2, 61), 10**6))
    larger = (Patterns(2, 400, query=0.1), 100)  # for several layers or heads
    layers = ("li2026/theorem-5.3", "li2026/theorem-5.8", "li2026/theorem-6.11")
    heads = (OFFSET[1], NORMS[2], RANKS[2], LIGHT[1], HEAVY[1])

    def run(self, rng) -> Iterator[AttackFinding]:
        for heads, n in self.problems:
            for id in self.targets:
                yield self.problem(heads, n, id).finding(id)
            for id in (*LIGHT, *HEAVY):  # at a level that leaves little to truncate
                yield self.problem(heads, n, id, level=2.0).finding(id)
        for id in self.layers:
            yield self.problem(*self.larger, id, L=3).finding(id)
        for id in self.heads:
            yield self.problem(*self.larger, id, H=4).finding(id)

    def problem(
        self, heads: Patterns, n: int, id: str, L: int = 1, H: int = 1, level: float = 1.0
    ) -> LearningProblem:
        """L blocks or H heads that all know the answer; tokens of length 1/√2 for ‖X‖_op ≤ 1."""
        if id in (*OFFSET[:2], *COVERS[:2]):
            heads = replace(heads, scale=math.sqrt(0.5), query=0.1)
        a = H * (heads.prediction if L == 1 else heads.after(L))
        top = a * (1 + 1e-11)  # from above
        risk, chance = rare(n, heads.count, 2 * a)
        values = heads.norms() | {"n": n, "kappa": 1.0, "noise.free": 1, "L": L, "H": H}
        values |= {"target.bound": top} | tails(3, heads.d, heads.fro, chance, level)
        if id in COVERS:
            values |= {"class.log_cover": float(up(min(n, heads.count) * math.log(2)))}
            values |= {"epsilon": 1e-12}
        A = 1.0 if id == OFFSET[2] else H * values["X.op"]
        M = 2 * (top + A)  # as printed
        # the supremum over {0, 2a} at each point, τ = 1 with chance ½; points that repeat do less
        offset = max(0.0, (2 * top - 4 * a * a / M) / 2) * chance
        values |= {"class.offset": float(up(offset, 16)), "class.rademacher": top * chance}
        method = f"{heads.count} answers, unseen in {n} examples with chance {chance:.3g}"
        return LearningProblem(values, 2 * a, risk / (2 * a), method)


@ATTACKS.register("experts")
class Experts(Attack):
    """N heads that each read one token, of which those stay that were never wrong."""

    targets = COVERS
    c = 1 - 1e-9

    def run(self, rng) -> Iterator[AttackFinding]:
        for N, n in ((1, 20), (10**4, 100), (10**9, 10**6)):
            p = min(1.0, max(1.0, math.log(N) - 1) / n)
            never = math.exp(n * math.log1p(-p)) if p < 1 else 0.0
            share = p * -math.expm1(N * math.log1p(-never))
            values = {"n": n, "kappa": 1.0, "target.bound": self.c, "noise.free": 1, "H": 1}
            values |= {f"{W}.op": 1.0 for W in ("W_v", "W_c")}
            values |= {"w.l2": 1.0, "sigma.lipschitz": 1.0, "X.row2inf": 1.0}
            values |= {"X.op": math.sqrt(N + 2), "epsilon": 1e-12}
            values["class.log_cover"] = float(up(math.log(N + 1), 8))
            problem = LearningProblem(
                values, 2 * self.c, share * (1 - 1e-9), f"{N} experts, {n} examples"
            )
            known = {"noise.free": 0, "bernstein.V": 2 * self.c}  # g is 0 or 2c
            for id in self.targets:
                yield problem.finding(id)
                yield replace(problem, values=values | known).finding(id)


UNIT = {"kappa": 1.0, "d": 1, "k": 1, "T": 1, "H": 1, "L": 1, "r_QK": 1, "r_v": 1, "r_c": 1}
UNIT |= {"W_QK.l11": 0.0, "W_QK.op": 0.0, "w.l1": 1.0, "w.l2": 1.0, "sigma.lipschitz": 1.0}
UNIT |= {f"{W}.{norm}": 1.0 for W in ("W_v", "W_c") for norm in ("l11", "op")}
UNIT |= {"X.row2inf": 1.0, "X.op": 1.0} | tails(1, 1, 1.0, 1.0, 1.0)


@ATTACKS.register("a loaded coin")
class LoadedCoin(Attack):
    """Constants and noisy labels: the minimiser follows the majority.

    R(F) = E|S_n|/n. R_off(G, 1/4) is at most that of the linear functions of one coordinate,
    1/(4βn) = 1/n. For the corollaries the class is {−1, 1}, which has the same minimisers.
    """

    targets = (*OFFSET, *COVERS, *NORMS, *RANKS, *LIGHT, *HEAVY)

    def run(self, rng) -> Iterator[AttackFinding]:
        for n, h in ((1, 0.25), (101, 0.375 / math.sqrt(101)), (100_001, 0.375 / math.sqrt(1e5))):
            values = UNIT | {"n": n, "target.bound": 1.0}
            above = mean_sign(n) * (1 if n <= 1000 else 1 + 1 / n)
            values |= {"class.offset": 1 / n, "class.rademacher": above}
            values |= {"class.log_cover": float(up(math.log(2)))}
            risk = constants(n, h)
            for id in self.targets:
                inputs = values | ({"epsilon": 1e-12} if id in COVERS else {})
                problem = LearningProblem(inputs, 2.0, risk.value / 2, risk.method)
                yield problem.finding(id)
                if id not in (*LIGHT, *HEAVY):
                    V = {"bernstein.V": float(up(1 / h))}
                    yield replace(problem, values=inputs | V).finding(id)


@ATTACKS.register("a rare example")
class RareExample(Attack):
    """X is 1 with chance p = 1/(n + 1), else 0, Y = X, predictions cX with c ∈ [−1, 1]: no noise.

    A sample without a 1 says nothing of c = −1, which is wrong by 2. G = {(1 − c)X}: at most two
    centres for each ε < 2 in the corollaries' class c ∈ {−1, 1}, and R_off(G, ¼) is at most p
    times the supremum over g ∈ [0, 2] at τ = 1, ½(2 − 1).
    """

    targets = (*OFFSET, *COVERS, *NORMS, *RANKS, *LIGHT, *HEAVY)

    def run(self, rng) -> Iterator[AttackFinding]:
        for n in (1, 100, 10**5):
            risk, p = rare(n, 1, 2.0)
            values = UNIT | {"n": n, "target.bound": 1.0, "noise.free": 1}
            values |= {"class.offset": p / 2, "class.log_cover": float(up(math.log(2)))}
            values |= tails(1, 1, 1.0, p, 1.0)
            for id in self.targets:
                inputs = values | ({"epsilon": 1e-12} if id in COVERS else {})
                yield LearningProblem(
                    inputs, 2.0, risk / 2, f"one example in {n + 1} tells"
                ).finding(id)


@ATTACKS.register("out of reach")
class OutOfReach(Attack):
    """A target beyond all predictions: the approximation error is paid in full."""

    targets = LoadedCoin.targets

    def run(self, rng) -> Iterator[AttackFinding]:
        for n, B, level in ((10, 2.0, 1.0), (10**8, 1.3, 6.0)):
            values = UNIT | {"n": n, "target.bound": B, "class.approximation": B - 1}
            values |= tails(1, 1, 1.0, 1.0, level)
            values |= {"noise.free": 1, "class.rademacher": 1.1 * mean_sign(n)}
            # R_off(G, β) for g = B − 1 + u, 0 ≤ u ≤ 2, β = 1/(2(B + 1)), is not above 0: it is at
            # most E S²/(4β) − β(B − 1)² with S the mean of the signs, E S² = 1/n
            assert (B + 1) / (2 * n) <= (B - 1) ** 2 / (2 * (B + 1))
            values |= {"class.log_cover": math.log(3 * n), "class.offset": 0.0}
            for id in self.targets:
                inputs = values | ({"epsilon": 1 / n} if id in COVERS else {})
                yield LearningProblem(inputs, B - 1, 1.0, "every minimiser is 1").finding(id)
