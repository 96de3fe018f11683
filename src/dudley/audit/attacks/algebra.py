"""Small exact problems: cheapest splits, averages of atoms, norms that are attained."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.core.rounding import down, up
from dudley.theorems.witness.lower import LowerBound


def dual_of_split(C, weights, ε: float) -> float:
    """min Σ C_i/ε_i² subject to Σ β_iε_i = ε, from below, by the dual at the best λ.

    For every λ > 0 it is at least Σ min_x (C_i/x² + λβ_ix) − λε, with x = (2C_i/λβ_i)^{1/3}.

    >>> round(dual_of_split([1.0, 8.0], [1.0, 1.0], 1.0), 6)
    27.0
    """

    def dual(log_λ: float) -> float:
        λ = math.exp(log_λ)
        best = [(c, b, (2 * c / (λ * b)) ** (1 / 3)) for c, b in zip(C, weights, strict=True)]
        return math.fsum(c / x**2 + λ * b * x for c, b, x in best) - λ * ε

    low, high = -60.0, 60.0
    for _ in range(200):
        third = (high - low) / 3
        worse = dual(low + third) < dual(high - third)
        low, high = (low + third, high) if worse else (low, high - third)
    return dual((low + high) / 2) * (1 - 1e-12)


def least_of_split(f: Callable, g: Callable, cells: int = 20_000) -> float:
    """min f(t) + g(1 − t) over t ∈ [0, 1] from below, f and g falling: cell by cell."""
    t = np.linspace(0, 1, cells + 1)
    return float((f(t[1:]) + g(1 - t[:-1])).min()) * (1 - 1e-12)


@ATTACKS.register("cheapest splits")
class Splits(Attack):
    """Exact optima of allocations, by duality and by cells."""

    targets = ("edelman2021/lemma-A.8", "trauger2024/lemma-E.1", "li2026/corollary-5.6")

    def run(self, rng) -> Iterator[AttackFinding]:
        for C, b, ε, H in (
            ((1.0, 8.0), (1.0, 2.0), 0.5, 1),
            ((0.3, 50.0), (7.0, 0.1), 0.01, 3),
            ((1e-6, 1e3), (1.0, 1.0), 1.0, 2),
        ):
            values = {"score.C": C[0], "inner.C": C[1], "score.weight": b[0], "inner.weight": b[1]}
            values |= {"epsilon": ε}
            lower = LowerBound(dual_of_split(C, b, ε), "the dual problem")
            yield AttackFinding(self.targets[1], values, lower)
            lower = LowerBound(dual_of_split(C * H, b * H, ε), "the dual problem")
            yield AttackFinding(self.targets[0], values | {"H": H}, lower)
        for r, C, b, B, ε in (
            ((1.0, 2.0), (0.5, 0.5), (1.0, 3.0), 2.0, 0.1),
            ((8.0, 1.0), (3.0, 20.0), (0.2, 1.0), 1.0, 0.5),
            ((2.0, 2.0), (1.0, 1.0), (1.0, 1.0), 1.0, 5.0),
        ):
            yield AttackFinding(self.targets[2], *self.by_rank(r, C, b, B, ε))

    def by_rank(self, r, C, b, B, ε):
        """Σ r_iC_i log⁺(r_iB²/ε_i²) with β_iε_i = tε and (1 − t)ε."""

        def cost(i):
            def falling(t):
                with np.errstate(divide="ignore"):
                    log = np.log(r[i] * B**2) - 2 * np.log(t * ε / b[i])
                return r[i] * C[i] * np.maximum(log, 0.0)

            return falling

        names = ("score.rank", "score.C", "score.weight", "inner.rank", "inner.C", "inner.weight")
        values = dict(zip(names, (r[0], C[0], b[0], r[1], C[1], b[1]), strict=True))
        lower = LowerBound(least_of_split(cost(0), cost(1)), "20,000 cells")
        return values | {"X.op": B, "epsilon": ε}, lower


@ATTACKS.register("averages of atoms")
class Averages(Attack):
    """Orthonormal atoms: every average of at most K of them is tried."""

    targets = ("trauger2024/lemma-3.1",)

    def run(self, rng) -> Iterator[AttackFinding]:
        yield self.nearest_average(np.full(2, 0.5), 1, 2.0)
        yield self.nearest_average(np.full(1, 0.5), 1, 1.0)
        yield self.nearest_average(np.full(4, 0.2), 2, 1.0)
        yield self.nearest_average(rng.dirichlet(np.ones(4)) * 0.9, 4, 1.0)

    def nearest_average(self, α, K: int, b: float) -> AttackFinding:
        d = len(α)
        counts = [k for k in itertools.product(range(K + 1), repeat=d) if sum(k) <= K]
        distance = float(((α - np.array(counts) / K) ** 2).sum(axis=1).min()) * b * b
        values = {"d": d, "terms": K, "atoms.norm2": b, "combination.mass": float(α.sum())}
        values["combination.norm2"] = b * float(np.linalg.norm(α))
        return AttackFinding(
            self.targets[0], values, LowerBound(distance * (1 - 1e-12), f"{len(counts)} averages")
        )


@ATTACKS.register("norms that are attained")
class Attained(Attack):
    """Quantities that one matrix or one head shows: found by evaluating it."""

    targets = (
        "trauger2024/lemma-3.2",
        "mwigo2026/section-4.1",
        "mwigo2026/assumption-3",
        "li2026/assumption-5.1",
        "li2026/assumption-5.5",
        "li2026/equation-10",
        "li2026/appendix-C.2",
        "li2026/remark-6.12",
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for id, values, value, method in (
            *self.on_the_ball(),
            *self.moved(rng),
            *self.alike(),
            *self.predictions(rng),
            *self.truncated(rng),
            *self.slopes(),
            *self.levels(),
        ):
            yield AttackFinding(id, values, LowerBound(float(value) * (1 - 1e-12), method))

    def on_the_ball(self):
        """The cover {0} of {0, εI}, on e_1 and on the mean of the basis."""
        for d, q, ε in ((64, 2.0, 0.5), (3, 1.0, 2.0), (8, 0.5, 1.0)):
            errors = [np.eye(d)[0], np.full(d, 1 / d)]
            distance = max(float((np.abs(ε * x) ** q).sum() ** (1 / q)) for x in errors)
            values = {"d": d, "output.q": q, "epsilon": ε}
            yield self.targets[0], values, distance, "the maps 0 and ε·I"

    def moved(self, rng):
        names = [f"{W}.moved" for W in ("W_Q", "W_K", "W_v", "w")]
        for radii in ((1.0, 1.0, 1.0, 1.0), (0.1, 2.0, 0.0, 5.0)):
            x = rng.normal(size=(4, 6))
            moves = x / np.linalg.norm(x, axis=1, keepdims=True) * np.array(radii)[:, None]
            values = dict(zip(names, radii, strict=True))
            yield self.targets[1], values, np.linalg.norm(moves), "every matrix moves in full"

    def alike(self):
        """X uniform on 4 orthogonal rows of norm B: two examples agree with chance ¼ > δ.

        Then ⟨XᵀX, X′ᵀX′⟩ is B⁴, and 0 else: the tail of the assumption holds, B^{4c} ≤ log 4.
        """
        for c in (0.5, 1.0):
            B = (math.log(4) ** (1 / c)) ** 0.25 * (1 - 1e-12)
            values = {"X.fro": B, "correlation.c": c, "delta": 0.2}
            yield self.targets[2], values, B**4 * (1 - 1e-12), "two examples that agree"

    def predictions(self, rng):
        """One token, all matrices B·uvᵀ along the way: the largest prediction of a head."""
        from dudley.core.constraint import Spectral
        from dudley.networks.head import Head

        for B_v, B_c, B_w, R in ((1.0, 2.0, 3.0, 1.0), (0.5, 0.1, 2.0, 4.0)):
            W = {"W_QK": np.zeros((3, 3)), "W_v": np.zeros((3, 3)), "W_c": np.zeros((3, 3))}
            W["W_v"][0, 1], W["W_c"][1, 2] = B_v, B_c
            anything = Spectral(1.0)  # apply looks at the weights only
            head = Head(3, anything, anything, W_c=anything, k=3, sigma="identity", query="cls")
            said = np.asarray(head.apply(W, R * np.eye(3)[None, :1]))[0, 0] @ (B_w * np.eye(3)[2])
            norms = {"w.l2": B_w, "sigma.lipschitz": 1.0, "X.row2inf": R}
            values = norms | {"W_v.l11": B_v, "W_c.l11": B_c, "query.norm2": R}
            yield self.targets[3], values, said, "a head of one token"
            values = norms | {"W_v.op": B_v, "W_c.op": B_c, "X.op": R}
            yield self.targets[4], values, said, "a head of one token"

    def truncated(self, rng):
        for M in (0.5, 3.0, 100.0):
            X = rng.normal(size=(4, 3))
            size = float(np.linalg.norm(X))
            gap = float(np.linalg.norm(X - X * min(1.0, M / size)))
            values = {"X.fro": float(up(size, 32)), "truncation": M}
            yield self.targets[5], values, max(0.0, gap - 1e-14), "a matrix drawn"

    def slopes(self):
        """Chords of ψ(κℓ)."""
        x = np.geomspace(1e-9, 10, 20_001)
        for κ, p in ((1.0, 1.5), (2.0, 2.0), (1.0, 1.05)):
            rise = np.log1p(x + x**p / p)
            chord = np.diff(rise) / np.diff(x)
            steep = np.max(np.where(np.diff(x) > 1e-7, chord, 0.0))  # where rounding is small
            values = {"kappa": κ, "psi.power": p}
            yield self.targets[6], values, κ * steep * (1 - 1e-8), "a chord of ψ"

    def levels(self):
        for n, β in ((1e6, 4.0), (1e4, 2.5), (1e9, 10.0)):
            M = n ** (1 / (β - 2))
            yield (
                self.targets[7],
                {"n": n, "tail.beta": β},
                down(math.log(M) / n + M ** (2 - β), 10**4),
                "the sum at that level",
            )
