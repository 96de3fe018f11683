"""Sign patterns that attention reads: 2^(rm) heads on rm inputs, all told apart by W_QK.

Coordinates: queries e_1, …, e_r, keys f_1, …, f_m, and v. Input (a, b) has the tokens
x = s(ηf_b + √(1 − η²)v), −x and the query ζse_a ([CLS], last). For signs S ∈ {−1, 1}^{r×m},
σ = identity and

    W_QK = κ Σ S_ab e_a f_bᵀ,  κ = R/(ζηs²),   W_v = B_v vvᵀ,  W_c = vvᵀ,  w = v,

the [CLS] row has the scores RS_ab, −RS_ab and 0, so the prediction is aS_ab with

    a = B_v s √(1 − η²) (e^R − e^{−R})/(1 + e^R + e^{−R}),

as near to B_v·s as one likes. All patterns share the norms below; the rank is at most min(r, m).
On a stack the first block leaves multiples of S_ab·v in every row, and the later ones, with
W_QK = κvvᵀ and W_v = W_c = vvᵀ, let the largest row be read: :meth:`after`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.core.rounding import down, up


@dataclass(frozen=True)
class Patterns:
    """r×m patterns; ``scale`` s, ``query`` ζ ≤ 1, ``key`` η, ``score`` R, ``value`` B_v.

    >>> heads = Patterns(2, 3)
    >>> heads.d, heads.count, round(heads.prediction, 5)
    (6, 6, 0.9992)
    """

    r: int
    m: int
    scale: float = 1.0
    query: float = 1.0
    key: float = 0.04
    score: float = 20.0
    value: float = 1.0

    @property
    def d(self) -> int:
        return self.r + self.m + 1

    @property
    def count(self) -> int:
        """How many inputs there are; every answer to them belongs to some head."""
        return self.r * self.m

    @property
    def prediction(self) -> float:
        """a, from below."""
        e = math.exp(-self.score)
        τ = (1 - e * e) / (1 + e + e * e)
        return float(down(self.value * self.scale * math.sqrt(1 - self.key**2) * τ, 32))

    @property
    def κ(self) -> float:
        return self.score / (self.query * self.key * self.scale**2)

    @property
    def fro(self) -> float:
        """‖X‖_F, from above."""
        return float(up(self.scale * math.sqrt(2 + self.query**2), 8))

    def norms(self) -> dict[str, float]:
        """Every norm that statements ask for, from above; sizes and ranks."""
        r, m, κ, s = self.r, self.m, self.κ, self.scale
        exact = {
            "W_QK.l11": r * m * κ,
            "W_QK.op": math.sqrt(r * m) * κ,
            "W_QK.fro": math.sqrt(r * m) * κ,
            "W_QK.col1inf": r * κ,
            "W_QK.col21": m * math.sqrt(r) * κ,
            "X.row2inf": s,
            "X.row1inf": s * max(1.0, self.key + math.sqrt(1 - self.key**2)),
            "X.op": s * math.sqrt(2),
        }
        norms = {name: float(up(value, 16)) for name, value in exact.items()}
        norms |= {f"W_v.{norm}": self.value for norm in ("op", "l11", "row1inf", "col1inf", "fro")}
        norms |= {f"W_c.{norm}": 1.0 for norm in ("op", "l11", "row1inf", "col1inf")}
        norms |= {"w.l1": 1.0, "w.l2": 1.0, "sigma.lipschitz": 1.0, "d": self.d, "k": self.d}
        return norms | {"T": 3, "r_QK": min(r, m), "r_v": 1, "r_c": 1, "L": 1, "H": 1}

    def tokens(self) -> np.ndarray:
        """The inputs, (rm, 3, d)."""
        X = np.zeros((self.count, 3, self.d))
        for a in range(self.r):
            for b in range(self.m):
                x = X[a * self.m + b]
                x[0, self.r + b], x[0, -1] = self.key, math.sqrt(1 - self.key**2)
                x[1], x[2, a] = -x[0], self.query
        return self.scale * X

    def weights(self, signs) -> dict[str, np.ndarray]:
        """W_QK, W_v, W_c, w for an r×m array of signs."""
        v = np.eye(self.d)[-1]
        W_QK = np.zeros((self.d, self.d))
        W_QK[: self.r, self.r : -1] = self.κ * np.asarray(signs)
        return {"W_QK": W_QK, "W_v": self.value * np.outer(v, v), "W_c": np.outer(v, v), "w": v}

    def after(self, L: int) -> float:
        """The prediction after L blocks (value 1, scale 1): the v-coordinates are tracked.

        After one block the rows are 0, 0 and aS·v: the first two have no query, and x, −x cancel.
        """
        rows = np.array([0.0, 0.0, self.prediction])
        for _ in range(L - 1):
            scores = self.κ * rows[:, None] * rows[None, :]
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            rows = (weights / weights.sum(axis=1, keepdims=True)) @ rows
        return float(rows[2]) * (1 - 1e-12)


def rare(n: int, inputs: int, gap: float, p: float | None = None) -> tuple[float, float]:
    """(E exc, total chance) where a minimiser is wrong by ``gap`` on every input it has not seen.

    Each of the inputs has chance p (at best 1/(n + 1), at most one over their number); with the
    remaining chance there is nothing to learn (X = 0, Y = 0). E exc = inputs·p·(1 − p)^n·gap.

    >>> rare(1, 1, 1.0)
    (0.249..., 0.5)
    """
    p = min(1 / inputs, 1 / (n + 1)) if p is None else p
    missed = math.exp(n * math.log1p(-p)) if p < 1 else 0.0
    return gap * inputs * p * missed * (1 - 1e-12 - n * 2.0**-52), inputs * p
