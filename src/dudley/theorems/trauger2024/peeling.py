"""The proof of Theorem 4.1: peel the matrices behind the attention, cover what is left.

With ‖w‖₁ ≤ B_w, columns of W_c and W_v of ℓ1 norm ≤ B_c and B_v, and σ(0) = 0, three times Hölder,
once R(F ∪ −F) ≤ 2R(F) and once the contraction lemma give

    Rad ≤ 2 B_w B_c L_σ B_v · E sup_{s, j, W_QK} (1/n) Σ_i ε_i s·ā_j(X_i),

with ā = Xᵀ softmax(X W_QKᵀ x_cls). The functions s·ā_j are 2d choices of a coordinate and a sign of
the attention average ā, which moves by B_x² (softmax constant 1) times ‖x_cls ΔW_QK‖, so
log N(ε) ≤ log(2d) + log N_QK(ε/B_x²). They are bounded by B_x, so Rad ≤ B_w B_c L_σ B_v B_x always.
The sequence length enters nowhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dudley.calculus.facts import Use
from dudley.classes.covers.base import COVERS
from dudley.core.binding import bundled
from dudley.core.bound import Bound, Sense
from dudley.core.constraint import L1, Col1Inf, Constraint, Row1Inf, Spectral
from dudley.core.entropy import Entropy, InverseSquare, Scope
from dudley.networks.activations import declared as declared_sigma
from dudley.networks.capacity import capacity
from dudley.networks.embeddings import Tokens
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.chaining import chained

UNIFORM = tuple(name for name in COVERS if COVERS[name].scope is Scope.UNIFORM)


ANY_LENGTH = 2**52  # longer than any sequence: what holds for it holds for all


def tokens(row2inf: float, T: float = math.inf, row1inf: float | None = None) -> Tokens:
    """T tokens, or any number of them."""
    return Tokens(row2inf, int(T) if math.isfinite(T) else ANY_LENGTH, row1inf=row1inf)


def all_covers(T: float) -> tuple[str, ...] | None:
    """Every cover; without a sequence length only those that need none."""
    return None if math.isfinite(T) else UNIFORM


def rows_and_columns(row1inf: float, col1inf: float) -> Constraint:
    """The printed norm and, where it is given, the one that the proof needs."""
    return Row1Inf(row1inf) & Col1Inf(col1inf) if col1inf < math.inf else Row1Inf(row1inf)


def score_use(d: int, inputs: Tokens, W_QK: Constraint) -> Use:
    """How W_QK enters the attention average of the [CLS] query, by the calculus."""
    average = Head(d, W_v=Spectral(1.0), W_QK=W_QK, sigma="identity", query="cls")
    (use,) = (u for u in average.facts(inputs.signal(d)).uses if u.name == "W_QK")
    return use


@dataclass(frozen=True)
class Choices(Entropy):
    """``count`` functions of one covered map, each moving by e^{log_weight} per unit error."""

    inner: Entropy
    log_weight: float
    count: float
    log_A: float  # every function is bounded by A

    @property
    def log_radius(self) -> float:
        return self.log_A

    @property
    def uses_points(self) -> bool:
        return self.inner.uses_points

    def log_log(self, log_ε: ArrayLike, log_n: float | None = None) -> np.ndarray:
        log_ε = np.asarray(log_ε, dtype=float)
        inner = np.full(log_ε.shape, -math.inf)  # a map of weight 0 needs no cover
        if self.log_weight > -math.inf:
            inner = self.inner.log_log(log_ε - self.log_weight, log_n)
        total = np.logaddexp(math.log(math.log(self.count)), inner)
        return np.where(log_ε >= self.log_A, -math.inf, total)

    def inverse_square(self) -> InverseSquare | None:
        """log(count) + w²C/ε², where the map's entropy is C/ε² and w its weight."""
        law, w = self.inner.inverse_square(), self.log_weight
        if law is None or law.α > 0:
            return None
        log_C, log_reach = law.log_C + 2 * w, law.log_reach + w
        return InverseSquare(math.log(self.count), log_C, log_reach, self.log_A)

    def proper(self) -> Choices:
        return replace(self, inner=self.inner.proper())


@dataclass(frozen=True)
class Around:
    """What stands around the attention: the inputs that Theorem 4.1 and its corollaries share."""

    n: float
    d: float
    k: float
    T: float
    w_l1: float
    W_c_row1inf: float
    W_v_row1inf: float
    W_c_col1inf: float
    W_v_col1inf: float
    sigma_lipschitz: float

    @property
    def width(self) -> int:
        return int(self.d)

    @property
    def W_c(self) -> Constraint:
        return rows_and_columns(self.W_c_row1inf, self.W_c_col1inf)

    @property
    def W_v(self) -> Constraint:
        return rows_and_columns(self.W_v_row1inf, self.W_v_col1inf)

    @property
    def printed_product(self) -> float:
        """B_w B_Wc L_σ B_Wv, with row norms as printed."""
        return self.w_l1 * self.W_c_row1inf * self.sigma_lipschitz * self.W_v_row1inf

    @property
    def product(self) -> float:
        """B_w B_c L_σ B_v, with the column norms that the proof needs."""
        d, k = self.width, int(self.k)
        B_c, B_v = self.W_c.bounds((k, d))["col1inf"], self.W_v.bounds((d, k))["col1inf"]
        return self.w_l1 * B_c * self.sigma_lipschitz * B_v

    def peeled(self, inputs: Tokens, use: Use, entropy: Entropy, rule: str = "dudley") -> Bound:
        """Rad ≤ P·min{R, 2·complexity of the signed coordinates of ā}; ``entropy`` is W_QK's."""
        P, R, value = self.product, float(inputs.signal(self.width).radius), 0.0
        if P * R > 0:
            choices = Choices(entropy, float(use.weight.log), 2 * self.d, math.log(R))
            value = P * min(R, 2 * chained(choices, R, self.n, rule))
        return Bound.of(value, quantity="", sense=Sense.SURELY, trivial=P * R)

    def best(self, inputs: Tokens, W_QK: Constraint, derived: Bound) -> Bound:
        """The smallest of the derived bound, peeling with every cover, and covering everything."""
        covers, use = all_covers(self.T), score_use(self.width, inputs, W_QK)
        head = Head(
            self.width,
            W_v=self.W_v,
            W_QK=W_QK,
            W_c=self.W_c,
            k=int(self.k),
            sigma=declared_sigma(self.sigma_lipschitz),
            query="cls",
        )
        whole = capacity(head >> Readout(L1(self.w_l1)), inputs, self.n, covers=covers)
        entropy = use.parameter.map.entropy(use.form, use.rows, use.pairs, use.l1).only(covers)  # pyright: ignore[reportAttributeAccessIssue]
        complexities = (
            derived.value,
            self.peeled(inputs, use, entropy, "best").value,
            whole.rademacher(),
        )
        trivial = float(whole.facts.out.radius)
        return Bound.of(min(complexities), quantity="", sense=Sense.SURELY, trivial=trivial)


around = bundled(Around)
