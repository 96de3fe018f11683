"""The class of encoders near an initialisation, and its complexity: what Lemmas 1, 2 and 5 share.

With B the largest norm of a token, softmax constant 1 and Θ = W_QW_Kᵀ/√d_m, the calculus gives for
each matrix the change of the output per unit error of its map:

    w: η_V B,    W_v: η_O B,    Θ: η_O η_V B · B²,

the last on scores of unit tokens. The paper's way covers W_v by the sum of its column norms
(≤ √d_m η_V), Θ by its Frobenius norm (≤ η_K η_Q/√d_m) and w by its ℓ2 norm, and takes Dudley's
integral with constants 4 and 12. Of the radii R around the initialisation it uses none; ``best``
does: W − W⁰ has norm R, and ‖W_QW_Kᵀ − W_Q⁰W_K⁰ᵀ‖_F ≤ R_Qξ_K + ξ_QR_K + R_QR_K.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.calculus.compose import Node
from dudley.core.bound import Bound, Sense, smaller
from dudley.core.constraint import L2, Constraint, Frobenius, Spectral, ball
from dudley.core.rounding import up
from dudley.core.statement import Input
from dudley.networks.blocks import shallow_encoder
from dudley.networks.capacity import capacity
from dudley.networks.embeddings import Tokens
from dudley.networks.head import Head
from dudley.networks.outputs import Readout

PAPERS_COVERS = ("perceptron-col21", "perceptron")
SIZES = (
    Input("n", aliases=("N",)),
    Input("T", aliases=("d_s",)),
    Input("d"),
    Input("k", "model dimension", aliases=("d_m",)),
)
NORMS = (
    Input("X.fro", "√d_s·R_X, bounds the Frobenius norm of every input"),
    Input("W_Q.fro", "η_Q = ‖W_Q⁰‖_F + R_Q", aliases=("eta_Q",)),
    Input("W_K.fro", "η_K = ‖W_K⁰‖_F + R_K", aliases=("eta_K",)),
    Input("W_v.fro", "η_V = ‖W_V⁰‖_F + R_V", aliases=("eta_V",)),
    Input("w.l2", "η_O = ‖w_O⁰‖₂ + R_O", aliases=("eta_O",)),
)
ROWS = Input("X.row2inf", "largest ℓ2 norm of a token, where it is below X.fro", math.inf)
LETTERS = {"W_Q": "Q", "W_K": "K", "W_v": "V", "w": "O"}  # the index of each matrix in the paper


def spectral(default: float | None = None) -> tuple[Input, ...]:
    """ξ_Q, ξ_K and ξ_V."""
    return tuple(
        Input(f"{W}.op", f"ξ_{i} = ‖W_{i}⁰‖₂ + R_{i}", default, (f"xi_{i}",))
        for W, i in LETTERS.items()
        if W != "w"
    )


def moved(default: float | None = None) -> tuple[Input, ...]:
    """R_Q, R_K, R_V and R_O."""
    return tuple(Input(f"{W}.moved", "", default, (f"R_{i}",)) for W, i in LETTERS.items())


def bracket(P: float, A: float, n: float) -> float:
    """√(P/N)(1 + log(A√(N/P))) as printed: 0 at P = 0, negative where A√(N/P) < 1/e.

    >>> bracket(1.0, 1.0, 1), round(bracket(4.0, 0.1, 1), 3)
    (1.0, -3.991)
    """
    root = math.sqrt(P / n)
    if root == math.inf:
        raise OverflowError
    if root == 0:
        return 0.0
    return root * (1 + (math.log(A / root) if A > 0 else -math.inf))


def near(W: Constraint, η: float, R: float) -> Constraint:
    """W and a ball of radius R around an initial value, whose norm is then at most η + R."""
    return W & ball("fro", R, {"fro": float(up(η + R))}) if math.isfinite(R) else W


@dataclass(frozen=True)
class Encoder:
    """The encoders with the stated norms, moved by at most the stated distances."""

    n: float
    T: float
    d: float
    k: float
    X_fro: float
    W_Q_fro: float
    W_K_fro: float
    W_v_fro: float
    w_l2: float
    X_row2inf: float = math.inf
    W_Q_op: float = math.inf
    W_K_op: float = math.inf
    W_v_op: float = math.inf
    W_Q_moved: float = math.inf
    W_K_moved: float = math.inf
    W_v_moved: float = math.inf
    w_moved: float = math.inf

    @property
    def A(self) -> float:
        """The paper's bound on |f|."""
        return self.w_l2 * self.W_v_fro * self.X_fro

    @property
    def P(self) -> float:
        """The paper's P, in log N(ε) ≲ P/ε²."""
        root = math.sqrt(self.k)
        values = (root * self.W_v_fro) ** (2 / 3)
        scores = (root * self.W_K_fro * self.W_Q_fro * self.W_v_fro) ** (2 / 3)
        return self.X_fro**2 * (values + scores) ** 3 * math.log(self.n * self.T)

    @property
    def at_rest(self) -> bool:
        """Is the initial encoder the only member: does no matrix move?"""
        return max(self.W_Q_moved, self.W_K_moved, self.W_v_moved, self.w_moved) == 0

    @property
    def printed(self) -> float:
        """√(P/N)(1 + log(A√(N/P)))."""
        return bracket(self.P, self.A, self.n)

    def by_product(self, W_v: Constraint, W_QK: Constraint, w: Constraint, query: str) -> Node:
        """The encoder by its score matrix: all tokens averaged, or one token (any) read out."""
        width, scale = int(self.k), 1 / math.sqrt(self.k)
        head = Head(int(self.d), W_v, W_QK, k=width, sigma="relu", scale=scale, query=query)
        return head >> Readout(w, pool="mean" if query == "all" else "cls")

    def derived(
        self,
        query: str = "all",
        rule: str = "dudley",
        covers: tuple[str, ...] | None = PAPERS_COVERS,
    ) -> Bound:
        """The paper's way: Frobenius balls, W_QK as one matrix, covers by sums of norms."""
        W_QK = Frobenius(self.W_K_fro * self.W_Q_fro)
        net = self.by_product(Frobenius(self.W_v_fro), W_QK, L2(self.w_l2), query)
        return self.complexity(net, self.X_fro, rule, covers)

    def best(self, query: str = "all") -> Bound:
        """Every cover and rule; for the class of all tokens, also around the initialisation."""
        bound = smaller(self.derived(query), self.derived(query, "best", None))
        if query != "all":
            return bound
        B = min(self.X_fro, self.X_row2inf)
        W_Q, W_K, W_v = (self.matrix(name) for name in ("W_Q", "W_K", "W_v"))
        w = near(L2(self.w_l2), self.w_l2, self.w_moved)
        apart = shallow_encoder(int(self.d), int(self.k), W_Q, W_K, W_v, w)
        for net in (apart, self.by_product(W_v, self.product(), w, query)):
            bound = smaller(bound, self.complexity(net, B, "best", None))
        return bound

    def matrix(self, name: str) -> Constraint:
        """What is known of W_Q, W_K or W_v."""
        η, ξ, R = (getattr(self, f"{name}_{what}") for what in ("fro", "op", "moved"))
        W = Frobenius(η) & Spectral(ξ) if ξ < math.inf else Frobenius(η)
        return near(W, η, R)

    def product(self) -> Constraint:
        """What is known of W_QW_Kᵀ."""
        ξ_Q, ξ_K = min(self.W_Q_op, self.W_Q_fro), min(self.W_K_op, self.W_K_fro)
        R_Q, R_K = self.W_Q_moved, self.W_K_moved
        size = float(up(min(ξ_Q * self.W_K_fro, self.W_Q_fro * ξ_K)))
        W = Frobenius(size) & Spectral(float(up(ξ_Q * ξ_K)))
        if max(R_Q, R_K) == math.inf:
            return W
        return near(W, size, float(up(R_Q * ξ_K + ξ_Q * R_K + R_Q * R_K, 8)))

    def complexity(self, net: Node, B: float, rule: str, covers: tuple[str, ...] | None) -> Bound:
        """A bound on the Rademacher complexity of a network on tokens of norm ≤ B."""
        cap = capacity(net, Tokens(B, int(self.T)), self.n, covers=covers)
        radius = float(cap.facts.out.radius)
        single = radius == 0 or self.at_rest
        value = 0.0 if single else float(cap.rademacher(form=rule))
        return Bound.of(value, quantity="", sense=Sense.SURELY, trivial=radius)
