"""The sparse-variable constructions at small sizes: every input is run, every weight is read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.core.rounding import up
from dudley.theorems.constructions import bag_head, positions_head, trained_head
from dudley.theorems.constructions.assemble import build
from dudley.theorems.constructions.bases import almost_orthonormal
from dudley.theorems.constructions.bump import bump_weights, network_of
from dudley.theorems.constructions.targets import all_bits, target
from dudley.theorems.witness.lower import LowerBound

LOST = 1e-9  # absolute, for the rounding of outputs of size at most s


@ATTACKS.register("printed heads, run")
class PrintedHeads(Attack):
    """The papers' own heads on all 2^T inputs: the largest distance from the goal."""

    targets = ("edelman2021/lemma-B.2", "edelman2021/lemma-B.3", "edelman2021/lemma-B.4")
    cases = ((8, 3, 0.3, 0.05), (6, 2, 0.9, 0.2), (9, 1, 0.1, 0.0))

    def run(self, rng) -> Iterator[AttackFinding]:
        for T, s, γ, Δ in self.cases:
            I = list(range(s))
            for pattern in ("worst", "equal", "random"):
                basis = almost_orthonormal(T, Δ, I, pattern)
                values = {"T": T, "s": s, "gamma": γ}
                coherent = values | {"coherence": float(up(basis.coherence, 64))}
                yield self.farthest(0, positions_head.one_head(basis, I, γ, "printed"), coherent)
                if s * coherent["coherence"] < γ:
                    yield self.farthest(2, bag_head.one_head(basis, I, γ, "printed"), coherent)
            for make in (trained_head.one_head, trained_head.s_heads):
                yield self.farthest(1, make(T, I, γ, "printed"), values)

    def farthest(self, which: int, selector, values) -> AttackFinding:
        bits = all_bits(int(values["T"]))
        I = list(range(int(values["s"])))
        error = float(np.abs(selector.features(bits) - selector.goal(bits[:, I])).max())
        method = f"the printed head on all {len(bits)} inputs"
        return AttackFinding(
            self.targets[which], values, LowerBound(max(0.0, error - LOST), method)
        )


@ATTACKS.register("networks behind the heads")
class Networks(Attack):
    """Largest entries and norms of the repaired networks, and the error of the printed one."""

    targets = (
        "edelman2021/lemma-B.5",
        "edelman2021/lemma-B.6",
        "edelman2021/proposition-4.7",
        "edelman2021/lemma-B.8",
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for which, name, s, heads in ((0, "majority", 3, "one"), (0, "parity", 4, "one"),
                                      (1, "and", 2, "s"), (1, "parity", 3, "s")):  # fmt: skip
            built = build(target(name, s), T=s + 1, heads=heads)
            γ, B = built.selector.γ, built.selector.bound
            first = np.vstack(list(built.mlp[0].values()))
            lower = LowerBound(float(np.abs(first).max()) * (1 - 1e-12), f"{name} of {s} bits")
            values = {"gamma": γ, "points.linf": B}
            yield AttackFinding(self.targets[which], values, lower)
            if heads == "s":
                sizes = [np.linalg.norm(np.vstack(list(layer.values()))) for layer in built.mlp]
                values = values | {"s": s, "target.bound": built.target.largest}
                lower = LowerBound(float(max(sizes)) * (1 - 1e-12), f"{name} of {s} bits")
                yield AttackFinding(self.targets[2], values, lower)
        for n, δ, M in ((3, 0.25, 1.0), (5, 0.1, 2.0)):
            yield self.steps(n, δ, M)

    def steps(self, n: int, δ: float, M: float) -> AttackFinding:
        """Points on a line, f = −M at the rightmost and M elsewhere."""
        points = 4 * δ * (1 + 1e-9) * np.arange(n)[:, None]
        f = np.where(np.arange(n) < n - 1, M, -M)
        weights = bump_weights(points, f, δ, "printed")
        near = np.concatenate([points - δ, points, points + δ])
        said = np.asarray(network_of(weights).apply(weights, near))[:, 0]
        error = float(np.abs(said - np.tile(f, 3)).max())
        values = {"n": n, "d": 1, "tolerance": δ, "target.bound": M}
        values["points.linf"] = float(np.abs(points).max())
        method = "the printed network on the line"
        return AttackFinding(self.targets[3], values, LowerBound(error - LOST, method))


@ATTACKS.register("softmax cut off")
class CutOff(Attack):
    """Scores R on s tokens and 0 elsewhere: the ℓ1 distance of the two softmaxes."""

    targets = ("edelman2021/lemma-B.7",)

    def run(self, rng) -> Iterator[AttackFinding]:
        for T, s, R in ((100, 3, 8.0), (4, 2, 0.5), (1000, 1, 0.0)):
            z = np.zeros(T)
            z[:s] = R
            p = np.exp(z) / np.exp(z).sum()
            q = np.where(np.arange(T) < s, 1 / s, 0.0)
            lower = LowerBound(
                float(np.abs(p - q).sum()) * (1 - 1e-12) - 1e-15, f"{s} scores {R:g} among {T}"
            )
            yield AttackFinding(self.targets[0], {"T": T, "s": s, "score.gap": R}, lower)
