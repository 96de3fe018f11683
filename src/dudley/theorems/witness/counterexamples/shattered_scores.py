"""Heads with every sign pattern on p² inputs: what W_QK alone can do, at any scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.premises import Premise, attended, norms

SHARPNESS = 8.0  # the scores of the two keys are ±SHARPNESS/√2
RESOLUTION = 0.5  # at which the outputs ±0.7 stay apart
SMALL = 3  # the p at which heads are built
SIZES = (1000, 3000, 10_000, 30_000, 100_000)


def value_reached() -> float:
    """|output|: the attention to keys with scores ±x and a third with score 0, times 1/√2."""
    x = SHARPNESS / math.sqrt(2)
    return (math.exp(x) - math.exp(-x)) / (math.exp(x) + math.exp(-x) + 1) / math.sqrt(2)


def tokens(p: int, s: float) -> np.ndarray:
    """The p² inputs, of shape (p², 3, 3p): two keys ±, and the query as the last row."""
    X = np.zeros((p, p, 3, 3 * p))
    for a in range(p):
        for b in range(p):
            X[a, b, 0, p + b] = 1 / math.sqrt(2)  # key b …
            X[a, b, 0, 2 * p :] = 1 / math.sqrt(2 * p)  # … with a value spread over p coordinates
            X[a, b, 1] = -X[a, b, 0]
            X[a, b, 2, a] = 1.0  # query a
    return s * X.reshape(p * p, 3, 3 * p)


def weights(signs: np.ndarray, s: float) -> dict[str, np.ndarray]:
    """W_QK and W_v of the head with these p×p signs, for tokens of norm s."""
    p = len(signs)
    W_QK, spread = np.zeros((3 * p, 3 * p)), np.zeros(3 * p)
    W_QK[:p, p : 2 * p] = SHARPNESS * signs / s**2
    spread[2 * p :] = 1 / math.sqrt(p)
    return {"W_QK": W_QK, "W_v": np.outer(spread, np.full(3 * p, 1 / math.sqrt(3 * p))) / s}


def realises(p: int, s: float) -> bool:
    """Does the head of a pattern of signs give S_ab·0.70 on every input (a, b)?"""
    X, rng = tokens(p, s), np.random.default_rng(0)
    for signs in rng.choice([-1.0, 1.0], size=(20, p, p)):
        rows = attended(weights(signs, s), X)
        expected = value_reached() / math.sqrt(3 * p) * signs.reshape(-1, 1)
        if not np.allclose(rows, np.broadcast_to(expected, rows.shape), atol=1e-9):
            return False
    return True


@WITNESSES.register("shattered-scores")
@dataclass(frozen=True)
class ShatteredScores(Witness):
    """edelman2021, Corollary 4.4, Lemmas A.11 and A.12 on tokens of norm s.

    d = 3p coordinates: p for queries, p for keys, p for a value v (a unit vector with entries
    1/√p). Input (a, b) has the tokens ±s(f_b + v)/√2 and the query s·e_a. For signs S the head
    W_QK = (ρ/s²) Σ S_ab e_a f_bᵀ, W_v = v·1ᵀ/(s√d), σ = id scores the two keys ±S_ab ρ/√2 and the
    query 0, so its output is S_ab·0.70·1/√d, of norm 0.70. Two sign patterns differ by 1.4 on some
    input, whatever s is: with n = p² inputs log N(½) ≥ p² log 2, even for centres outside.

    Norms: the columns of W_QK have norm ρ√p/s², ‖W_v‖₂ = 1/s, its rows have norm 1/(s√p), its
    columns 1/(s√d). Printed with s = p²: the value term is 4d²/p · log(nT) = 36p·log(3p²), and the
    score term is smaller by a factor (ρ/p³)^{2/3} (4.4), (2ρ/p³)^{2/3} (A.12), (2ρ/p)^{2/3} (A.11).
    So p²·log 2 over the printed value grows like p/log p, while log d, log s are of order log p.
    With queries of norm 1 and W_QK larger by s the score terms of 4.4 and A.12 still vanish.
    """

    p: int = 10_000
    refutes = (
        "edelman2021/corollary-4.4",
        "edelman2021/lemma-A.11",
        "edelman2021/lemma-A.12",
    )
    story = (
        "Tokens of norm s with weights divided by s and s² make the same heads: all 2^(p²) sign "
        "patterns on p² inputs. The printed score term vanishes as s grows and leaves p·log p."
    )

    @property
    def scale(self) -> float:
        return float(self.p) ** 2

    def inputs(self, statement: str) -> dict[str, float]:
        p, s = self.p, self.scale
        common = {
            "d": 3 * p,
            "n": p * p,
            "T": 3,
            "sigma.lipschitz": 1.0,
            "X.row2inf": s,
            "W_v.row2inf": 1 / (s * math.sqrt(p)),
            "W_v.col2inf": 1 / (s * math.sqrt(3 * p)),
            "W_v.op": 1 / s,
            "W_QK.col2inf": SHARPNESS * math.sqrt(p) / s**2,
            "epsilon": RESOLUTION,
        }
        extra = {"lemma-A.11": {"P.row2inf": 0.0}, "lemma-A.12": {"H": 1}}
        return common | extra.get(statement.partition("/")[2], {})

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        """At p = 3: heads in width 9 on nine inputs."""
        small = ShatteredScores(SMALL)
        inputs, s = small.inputs(statement), small.scale
        W, X = weights(np.ones((SMALL, SMALL)), s), tokens(SMALL, s)
        return (
            norms(
                "‖W_Vᵀ‖_{2,∞} ≤ B_V^∞, ‖W_V‖₂ ≤ B_V, ‖W_QK‖_{2,∞} ≤ B_QK^∞, tokens ≤ B_X (4.4)",
                inputs,
                W | {"X": X},
            ),
            Premise(
                "n inputs of T tokens of R^d, and k = d (4.4)",
                lambda: X.shape == (inputs["n"], inputs["T"], inputs["d"]),
            ),
            Premise("every pattern of signs has its head", lambda: realises(SMALL, s)),
            Premise(
                "ε is below half the distance of two heads",
                lambda: 0 < inputs["epsilon"] < value_reached(),
            ),
        )

    def lower_bound(self) -> float:
        return self.p**2 * math.log(2)

    def family(self, statement: str = "edelman2021/lemma-A.11") -> Family:
        """p → ∞; by default against Lemma A.11, the largest of the three printed values."""
        factor = {"corollary-4.4": lambda s: 1.0, "lemma-A.11": lambda s: 2 * s}.get(
            statement.partition("/")[2], lambda s: 2.0
        )
        printed = []
        for p in SIZES:
            s = float(p) ** 2
            values, scores = 1 / (s * math.sqrt(p)), factor(s) * SHARPNESS * math.sqrt(p) / s**3
            size = (3 * p * s / RESOLUTION) ** 2
            printed.append(size * (values ** (2 / 3) + scores ** (2 / 3)) ** 3 * math.log(3 * p**2))
        return Family(SIZES, [p**2 * math.log(2) for p in SIZES], printed, "p")
