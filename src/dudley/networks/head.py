"""The attention head of the papers: one score matrix, one value path, one output matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dudley.calculus import arithmetic
from dudley.calculus.compose import Heads
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.node import Node
from dudley.core.arrays import namespace, transpose
from dudley.core.constraint import Ball, Constraint, radius_of, size_of
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import ONE, Magnitude
from dudley.core.rounding import up
from dudley.networks.activations import Activation, activation
from dudley.networks.normalisers import NormalisedLinear, Normaliser, Softmax, normaliser
from dudley.networks.pointwise import expect_constraints, expect_width
from dudley.networks.registry import NODES

QUERIES = ("all", "cls", "fixed")


def causal_mask(scores: Any) -> Any:
    """True where a query may look: at itself and at earlier tokens (queries are the last rows)."""
    xp = namespace(scores)
    shape = tuple(scores.shape[-2:])
    keep = xp.ones(shape) if xp.__name__ == "numpy" else xp.ones(shape, device=scores.device)
    return xp.tril(keep, shape[1] - shape[0]) > 0


def expect_softmax(node: Node, attention: str | Normaliser) -> None:
    """Refuse attention whose rounding error is not proven."""
    if not isinstance(normaliser(attention), Softmax):
        kind = f"{type(node).__name__} with attention {attention!r}"
        raise InputError("node with a proven rounding error", "softmax attention", kind)


@NODES.register("head")
@dataclass(frozen=True)
class Head(Node):
    """X ↦ σ(A(X W_QK Xᵀ · scale) X W_v) W_c, with A the normaliser (softmax) along rows.

    W_QK ∈ R^{d×d} (or W_Q, W_K ∈ R^{d×k} apart), W_v ∈ R^{d×k}, W_c ∈ R^{k×d} (absent: identity).
    ``query``: ``"all"`` rows ask; ``"cls"``: only the last row; ``"fixed"``: one query vector of
    norm ``query_norm`` that is the same for every input, so that only v = W_QKᵀx₀ ∈ R^d matters;
    where v itself is what is trained, ``v`` says where it lives, in place of W_QK and the norm.

    On rows of norm ≤ R, with m the normaliser's mass and L_A its Lipschitz constant (ℓ∞ → ℓ1):

        |Y − Ŷ| ≤ ‖h·ΔW_c‖ + B_c L_σ ( ‖āΔW_v‖ + B_v R L_A scale·|xΔW_QK zᵀ| ),
        Lipschitz = L_σ B_c B_v (m + 2 L_A scale·B_QK R²),

    where h has norm ≤ L_σ m B_v R (plus |σ(0)|√k) and ā, an average of rows, norm ≤ mR.
    """

    d: int
    W_v: Constraint
    W_QK: Constraint | None = None
    W_Q: Constraint | None = None
    W_K: Constraint | None = None
    W_c: Constraint | None = None
    k: int | None = None
    sigma: str | Activation = "relu"
    attention: str | Normaliser = "softmax"
    query: str = "all"
    query_norm: float | None = None
    scale: float = 1.0
    causal: bool = False
    v: Constraint | None = None
    lemma = Lemma(
        "Attention head",
        "Errors of scores, values and output matrix, each through the true weights behind it.",
        r"\|\Delta Y\|\le\|h\,\Delta W_c\|+B_cL_\sigma\bigl(\|\bar a\,\Delta W_v\|"
        r"+B_vR\,L_A|x\,\Delta W_{QK}z^\top|\bigr)",
        "edelman2021, Lemmas 4.3 and A.13; trauger2024, Lemma E.2; sharp softmax constant",
    )

    def __post_init__(self) -> None:
        expect_constraints(self)
        size_of("d", self.d)
        size_of("k", self.inner)
        radius_of("score.scale", self.scale)
        activation(self.sigma)
        if isinstance(normaliser(self.attention), NormalisedLinear):
            raise InputError("attention of a head", "softmax, sparsemax or sigmoid", self.attention)
        if self.query not in QUERIES:
            raise InputError("query", " or ".join(map(repr, QUERIES)), self.query)
        names = [name for name in ("W_QK", "W_Q", "W_K", "v") if getattr(self, name) is not None]
        if names == ["v"]:
            if self.query != "fixed":
                raise InputError("head with v", 'query="fixed"', repr(self.query))
            return
        if names not in (["W_QK"], ["W_Q", "W_K"]):
            raise InputError("head", "W_QK, or both W_Q and W_K", " and ".join(names) or "neither")
        if self.query == "fixed" and (self.W_QK is None or self.query_norm is None):
            raise InputError("fixed query", "v, or W_QK and query_norm", "neither")

    @property
    def inner(self) -> int:
        return self.d if self.k is None else self.k

    def facts(self, signal: Signal) -> Facts:
        expect_width("head", self.d, signal)
        p, R, T = self.parameters(self.d)[0], signal.radius, signal.rows
        asking = T if self.query == "all" else 1.0
        σ, A = activation(self.sigma), normaliser(self.attention)
        L_σ, B_v = Magnitude.of(σ.lipschitz), p["W_v"].norm()
        B_c = p["W_c"].norm() if "W_c" in p else ONE

        slope, score_uses = self._scores(p, signal, asking)  # of scores in the rows
        ρ = slope * R / (1 if self.query == "fixed" else 2)  # largest |score|
        m, L_A = A.mass(ρ, T), A.lipschitz(ρ, T)
        hidden = σ.radius(m * signal.reach(p["W_v"]), self.inner)
        through = B_c * L_σ  # what a change of σ's input does to the output

        values = signal.reach(p["W_v"])  # of one row: what an error of its weight is multiplied by
        uses = [replace(u, weight=through * values * L_A * u.weight) for u in score_uses]
        uses.append(Use("W_v", p["W_v"], through * m * R, rows=asking, l1=signal.l1))
        if "W_c" in p:
            uses.append(Use("W_c", p["W_c"], hidden, rows=asking))
        width = self.d if "W_c" in p else self.inner
        out = Signal(hidden * B_c, asking, width)
        return Facts(out, through * B_v * (m + L_A * slope * R), tuple(uses))

    def _scores(
        self, p: dict[str, Parameter], signal: Signal, asking: float
    ) -> tuple[Magnitude, list[Use]]:
        """Lipschitz constant of a score in the rows, and the uses with weights on the score."""
        R, T, l1 = signal.radius, signal.rows, signal.l1
        if self.query == "fixed":
            v = p["v"]
            return v.norm() * self.scale, [Use("v", v, R * self.scale, rows=T, l1=l1)]
        if self.W_QK is not None:
            W = p["W_QK"]
            use = Use("W_QK", W, R**2 * self.scale, "bilinear", asking, asking * T, l1)
            return W.norm() * R * (2 * self.scale), [use]
        B_Q, B_K = p["W_Q"].norm(), p["W_K"].norm()
        return B_Q * B_K * R * (2 * self.scale), [
            Use("W_Q", p["W_Q"], R**2 * B_K * self.scale, rows=asking, l1=l1),
            Use("W_K", p["W_K"], R**2 * B_Q * self.scale, rows=T, l1=l1),
        ]

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        d, k = self.d, self.inner
        blocks = {"W_v": Parameter((d, k), self.W_v)}
        if self.query == "fixed":
            blocks["v"] = Parameter((d, 1), self._reduced() if self.v is None else self.v)
        elif self.W_QK is not None:
            blocks["W_QK"] = Parameter((d, d), self.W_QK)
        elif self.W_Q is not None and self.W_K is not None:
            blocks |= {"W_Q": Parameter((d, k), self.W_Q), "W_K": Parameter((d, k), self.W_K)}
        if self.W_c is not None:
            blocks["W_c"] = Parameter((k, d), self.W_c)
        return blocks, (d if self.W_c is not None else k)

    def _reduced(self) -> Constraint:
        """What is known of v = W_QKᵀx₀: ‖v‖₁ ≤ ‖W‖_{1,1}‖x₀‖, ‖v‖₂ ≤ ‖W‖₂‖x₀‖.

        A tie of W_QK is not inherited: another query makes another v.
        """
        assert self.W_QK is not None and self.query_norm is not None
        q = radius_of("query.norm2", self.query_norm)
        bounds = self.W_QK.bounds((self.d, self.d))
        balls = (
            Ball("l11", float(up(bounds["l11"] * q))),
            Ball("fro", float(up(bounds["op"] * q))),
        )
        return Constraint(tuple(b for b in balls if b.radius < math.inf))

    def rounding(self, signal: Signal) -> float:
        """Scores, then weights, then the average of values, then σ and the output matrix.

        |s| ≤ R‖v‖·scale (or R²‖W_QK‖_F, R²‖W_Q‖_F‖W_K‖_F), computed within γ_m of that. The weights
        are off by α in ℓ1: the softmax's own error and, by its Lipschitz constant 1, the scores'.
        """
        expect_softmax(self, self.attention)
        γ, p, d = arithmetic.γ, self.parameters(self.d)[0], self.d
        R, T = float(signal.radius), signal.rows
        size = {name: float(p[name].norm("fro")) for name in p}
        if self.query == "fixed":
            s, m = R * size["v"], d + 1
        elif "W_QK" in p:
            s, m = R * R * size["W_QK"], 2 * d + 1
        else:
            s, m = R * R * size["W_Q"] * size["W_K"], 2 * d + self.inner + 1
        s = s * self.scale
        off = γ(m) * s
        α = arithmetic.softmax_error(s + off, T) + off
        values = R * size["W_v"]
        e = (γ(T + d) * (1 + α) + α) * values
        e, values = activation(self.sigma).rounding(e, values, self.inner)
        if "W_c" not in p:
            return e
        return size["W_c"] * (e + γ(self.inner) * (values + e))

    def apply(self, params: Any, X: Any) -> Any:
        asking = X if self.query == "all" else X[..., -1:, :]
        if self.query == "fixed":
            scores = transpose(X @ params["v"])
        elif self.W_QK is not None:
            scores = asking @ params["W_QK"] @ transpose(X)
        else:
            scores = (asking @ params["W_Q"]) @ transpose(X @ params["W_K"])
        scores = scores * self.scale
        allowed = causal_mask(scores) if self.causal else None
        weights = normaliser(self.attention).apply(scores, allowed)
        hidden = activation(self.sigma).apply(weights @ X @ params["W_v"])
        return hidden @ params["W_c"] if self.W_c is not None else hidden


@NODES.register("heads")
def heads(H: int, **head_fields: Any) -> Heads:
    """H heads of equal norms, outputs added."""
    return Heads(Head(**head_fields), H)
