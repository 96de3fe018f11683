"""Gaps between risk and training loss that occur with a probability above δ, exactly.

A bound that holds with confidence 1 − δ is at least every q with P(gap ≥ q) > δ. Three kinds:

* *One predictor* whose loss is 0 or b, a coin with P(b) = p: its complexity is 0, the training
  loss is b·Bin(n, p)/n, and the largest such q is a quantile of the binomial distribution.
* *Nothing to see.* x is uniform on N ≫ n values, the class is all of {−A, A}^N, Y = −A, the loss
  |f(x) − y|·L: the member that is −A on the sample and A elsewhere has training loss 0 and risk at
  least 2AL(1 − n/N), on every sample. Its complexity is at most A, and log N(ε) ≤ n·log 2 for
  ε < 2A on n points, so log N(ε) ≤ C/ε² with C = 4A²n·log 2.
* *Random answers.* x is uniform on N ≪ n values, the class is {−A, A}^N, Y = ±A a fair sign of its
  own: the loss |f − Y| is 0 or 2A, and the largest gap is G = (A/n) Σ_x |S_x| for the sums S_x of
  the signs at x. An example moves G by at most 2A/n, so G ≥ E G − t but for a chance
  exp(−nt²/2A²), which is 1 − δ at t = A√(2 log(1/(1 − δ))/n). On every sample the complexity is
  (A/n) Σ_x E|S_x| ≤ (A/n) Σ_x √n_x ≤ A√(N/n), and log N(ε) ≤ C/ε² with C = 4A²N·log 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.audit.instances import mean_sign, only
from dudley.core.rounding import down, up
from dudley.theorems.witness.lower import LowerBound

TWO_SIDED = ("edelman2021/theorem-A.4", "edelman2021/lemma-2.2", "trauger2024/equation-2.3")
ONE_SIDED = ("mwigo2026/equation-3.2",)


@dataclass(frozen=True)
class BinomialLoss:
    """A loss that is 1 with probability p, n times; gaps are those of its mean.

    >>> round(BinomialLoss(1, 0.5).quantile(0.99, sides=2), 9)
    0.5
    >>> round(BinomialLoss(100, 0.5).quantile(0.05), 3)
    0.08
    """

    n: int
    p: float

    def quantile(self, δ: float, sides: int = 1) -> float:
        """The largest q with P(gap ≥ q) > δ; gaps are p − mean, or both ways."""
        from scipy.stats import binom

        n, p = self.n, self.p
        gaps = {p - j / n for j in range(n + 1)} | ({j / n - p for j in range(n + 1)} - {0})
        for q in sorted((g for g in gaps if g > 0), reverse=True):
            low = math.floor(n * (p - q) + 1e-9)
            chance = binom.cdf(low, n, p)
            if sides == 2:
                chance += binom.sf(math.ceil(n * (p + q) - 1e-9) - 1, n, p)
            if chance > δ * (1 + 1e-9):
                return q * (1 - 1e-12)
        return 0.0


@ATTACKS.register("one coin")
class OneCoin(Attack):
    """A single predictor: the deviation term alone."""

    targets = (*TWO_SIDED, *ONE_SIDED)
    coins = (
        (BinomialLoss(1, 0.5), 0.9),
        (BinomialLoss(5, 0.5), 0.05),
        (BinomialLoss(400, 0.5), 1e-6),
        (BinomialLoss(2000, 0.5), 0.05),
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for coin, δ in self.coins:
            for id in self.targets:
                sides = 1 if id in ONE_SIDED else 2
                b = 2.0  # the loss is 0 or 2, or ±1 where it may be negative
                values = {"n": coin.n, "delta": δ, "loss.range": b, "loss.bound": b / 2}
                values |= {"class.rademacher": 0.0, "class.C": 0.0, "class.radius": 1.0}
                lower = LowerBound(
                    b * coin.quantile(δ, sides), f"a quantile of Bin({coin.n}, {coin.p:g})"
                )
                yield AttackFinding(id, only(id, values), lower)


@ATTACKS.register("nothing to see")
class NothingToSee(Attack):
    """All functions on a large set: the factor 2 of the complexity."""

    targets = (*TWO_SIDED, *ONE_SIDED)

    def run(self, rng) -> Iterator[AttackFinding]:
        for n, A, L, δ in ((10, 0.5, 1.0, 0.1), (10**6, 0.1, 2.0, 0.05), (10**8, 0.2, 1.0, 0.01)):
            C = float(up(4 * A * A * n * math.log(2), 8))
            R = L * A  # of the loss class, up to a constant; F itself has A
            values = {"n": n, "delta": δ, "class.C": C, "class.radius": A, "loss.lipschitz": L}
            values |= {"loss.range": 1.0, "loss.bound": 1.0}
            lower = LowerBound(2 * A * L * (1 - 1e-6), "all answers to a million n questions")
            for id in self.targets:
                complexity = R if id == "trauger2024/equation-2.3" else A
                yield AttackFinding(id, only(id, values | {"class.rademacher": complexity}), lower)


@ATTACKS.register("random answers")
class RandomAnswers(Attack):
    """All functions on few values, and noise: a complexity far above the deviation."""

    targets = (*TWO_SIDED, *ONE_SIDED)

    def run(self, rng) -> Iterator[AttackFinding]:
        for n, N, A, δ in ((10**6, 100, 0.5, 0.05), (10**8, 1000, 0.25, 0.5)):
            lower = LowerBound(likely_gap(n, N, A, δ), f"{n} signs on {N} values, McDiarmid")
            values = {"n": n, "delta": δ, "loss.range": 2 * A, "loss.bound": A, "class.radius": A}
            values["class.C"] = float(up(4 * A * A * N * math.log(2), 8))
            values["class.rademacher"] = float(up(A * math.sqrt(N / n), 8))
            for id in self.targets:
                yield AttackFinding(id, only(id, values), lower)


def likely_gap(n: int, N: int, A: float, δ: float) -> float:
    """E G − t: a gap that G = (A/n) Σ_x |S_x| reaches with probability more than δ."""
    t = A * math.sqrt(-2 * math.log1p(-δ) / n) * (1 + 1e-9)
    return float(down(A * N / n * mean_walk(n, 1 / N) - t, 64))


def mean_walk(n: int, p: float) -> float:
    """E|S_m| for a sum of m ~ Bin(n, p) fair signs, from below: what is past 8 deviations is cut.

    >>> round(mean_walk(10**6, 0.01) / math.sqrt(2 * 10**4 / math.pi), 3)
    1.0
    """
    from scipy.stats import binom

    far = 8 * math.sqrt(n * p * (1 - p))
    m = np.arange(max(0, math.floor(n * p - far)), math.ceil(n * p + far) + 1)
    walks = np.array([size * mean_sign(int(size)) for size in m])
    return float(binom.pmf(m, n, p) @ walks) * (1 - 1e-9)


@ATTACKS.register("a small encoder, trained")
class SmallTrainedEncoder(Attack):
    """Gradient descent on Φ from LeCun initialisation, run; labels near what it says at first.

    N inputs e_1, …, e_N of one token, so f(x) = w·relu(xW_v) and only w and N rows of W_v move.
    Residuals are ±r at first, so the training loss is √(2Φ⁰/N), exactly. r is so small that the
    hypotheses hold.

    For the risk: inputs uniform on e_1, …, e_k with labels f⁰(e_j), except that with chance p the
    label is 1 away. The sample shows N different inputs and no such label with probability
    (1 − p)^N·∏(1 − j/k) > δ: then Φ⁰ = 0, nothing moves, and the risk for min(|f − y|, 1) is p,
    which a bound with confidence 1 − δ must exceed. The features of all k inputs have a smallest
    singular value, which no sample of different ones goes below.
    """

    targets = ("mwigo2026/lemma-4", "mwigo2026/theorem-5")
    near = 0.1

    def run(self, rng) -> Iterator[AttackFinding]:
        for N, k, t in ((1, 16, 1), (2, 64, 20), (3, 256, 1000)):
            W, w = rng.normal(size=(k, k)) / math.sqrt(k), rng.normal(size=k) / math.sqrt(k)
            Q, K = rng.normal(size=(2, k, k)) / math.sqrt(k)
            h = np.maximum(W[:N], 0)
            r, γ = 1e-6, 0.5 / k
            values = self.inputs(N, k, (Q, K, W), w, h)
            values |= {"step.size": γ, "steps": t}
            y = h @ w - r * rng.choice([-1.0, 1.0], size=N)
            Φ = float(((h @ w - y) ** 2).sum()) / 2
            rows, readout = W[:N].copy(), w.copy()
            for _ in range(t):
                hidden = np.maximum(rows, 0)
                residual = hidden @ readout - y
                step = residual[:, None] * (rows > 0) * readout
                readout = readout - γ * residual @ hidden
                rows = rows - γ * step
            loss = float(np.abs(np.maximum(rows, 0) @ readout - y).mean())
            inputs = values | {"loss.initial": Φ * (1 + 1e-7)}
            lower = LowerBound(max(0.0, loss - 1e-12), f"{t} steps of gradient descent")
            yield AttackFinding(self.targets[0], only(self.targets[0], inputs), lower)
            different = math.prod(1 - j / k for j in range(N))
            p = (1 - (values["delta"] / different) ** (1 / N)) * (1 - 1e-9)
            lower = LowerBound(p, "a rare label that the sample does not show")
            risk = values | {"loss.initial": 0.0, "d": k, "loss.range": 1.0, "X.row2inf": 1.0}
            risk["features.smin"] = self.smallest(np.maximum(W, 0))
            yield AttackFinding(self.targets[1], only(self.targets[1], risk), lower)

        yield self.at_zero(20, 8000)

    def at_zero(self, N: int, k: int) -> AttackFinding:
        """The same from weights 0: only the input e_1, f⁰ = 0, labels 0 or, with chance p, 1."""
        R = 1e-3
        values = {"n": N, "T": 1, "d": k, "k": k, "X.fro": 1.0, "X.row2inf": 1.0, "w.l2": R}
        for W, r in (("W_Q", self.near), ("W_K", self.near), ("W_v", R), ("w", R)):
            values |= {f"{W}.{what}": r for what in ("fro", "op", "moved")}
        values |= {"features.smin": 0.0, "loss.initial": 0.0, "correlation.c": 1.0, "delta": 0.05}
        values |= {"loss.range": 1.0, "step.size": 1e-6, "steps": 1}
        p = (1 - 0.05 ** (1 / N)) * (1 - 1e-9)
        lower = LowerBound(p, "a rare label that the sample does not show")
        return AttackFinding(self.targets[1], only(self.targets[1], values), lower)

    def smallest(self, features) -> float:
        return float(np.linalg.svd(features, compute_uv=False)[-1]) * (1 - 1e-9)

    def inputs(self, N, k, matrices, w, h) -> dict[str, float]:
        R = self.near
        values = {"n": N, "T": 1, "k": k, "X.fro": 1.0, "correlation.c": 1.0, "delta": 0.05}
        for name, M in zip(("W_Q", "W_K", "W_v"), matrices, strict=True):
            values |= {f"{name}.fro": float(np.linalg.norm(M)) * (1 + 1e-9) + R}
            values |= {f"{name}.op": float(np.linalg.norm(M, 2)) * (1 + 1e-9) + R}
            values |= {f"{name}.moved": R}
        length = float(np.linalg.norm(w)) * (1 + 1e-9)
        return values | {"w.l2": length + R, "w.moved": R, "features.smin": self.smallest(h)}
