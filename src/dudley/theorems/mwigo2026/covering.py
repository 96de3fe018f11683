"""Lemma 6: the covering number of one token's output, from sums of column norms.

The paper quotes it for the class of all w_O, W_V and Θ = W_KᵀW_Q/√d_m with bounded norms. Its
‖W_V‖_{2,1} and ‖Θ‖_{2,1} sum column norms of matrices that act as Wx, so they are the ``row21`` of
our W_v = W_Vᵀ and W_QK = Θᵀ. A cover of x ↦ xW_v needs the columns of W_v (``col21``).

>>> from dudley.theorems.registry import load
>>> it = load()["mwigo2026/lemma-6"]
>>> [round(it.evaluate_on(it.example, form).value) for form in it.forms]
[1507, 9843, 5699]
>>> longer = it.example | {"X.row2inf": 2.0}
>>> [it.evaluate_on(longer, f).value / it.evaluate_on(it.example, f).value > 5 for f in it.forms]
[False, True, False]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.assumption import Assumption, Status
from dudley.core.binding import bundled
from dudley.core.bound import Bound, Sense, smaller
from dudley.core.constraint import L2, Col21, Row21, Spectral
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.networks.capacity import capacity
from dudley.networks.embeddings import Tokens
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.mwigo2026.encoder import PAPERS_COVERS, SIZES
from dudley.theorems.registry import register


@dataclass(frozen=True)
class OneToken:
    """The class of the lemma on tokens of norm ≤ B_X."""

    n: float
    T: float
    d: float
    k: float
    X_row2inf: float
    w_l2: float
    W_v_op: float
    W_v_row21: float
    W_QK_row21: float
    W_v_col21: float
    epsilon: float

    def printed(self, c: float) -> float:
        values = self.W_v_row21 ** (2 / 3)
        scores = (self.W_QK_row21 * self.W_v_op) ** (2 / 3)
        norms = self.X_row2inf**2 * (values + scores) ** 3
        return c * norms * math.log(self.n * self.T) / self.epsilon**2

    def log_cover(self, covers: tuple[str, ...] | None = None) -> Bound:
        """By members of the class, as the paper defines covering numbers."""
        W_v = Spectral(self.W_v_op) & Row21(self.W_v_row21)
        if self.W_v_col21 < math.inf:
            W_v = W_v & Col21(self.W_v_col21)
        head = Head(int(self.d), W_v, Row21(self.W_QK_row21), k=int(self.k), query="cls")
        inputs = Tokens(self.X_row2inf, int(self.T))
        cap = capacity(head >> Readout(L2(self.w_l2)), inputs, self.n, covers=covers)
        log_log = cap.allocated.proper().log_log(math.log(self.epsilon), math.log(self.n))
        return Bound(float(log_log), "", Sense.SURELY)


lemma = bundled(OneToken)

LEMMA_6 = register(
    Statement(
        id="mwigo2026/lemma-6",
        kind="lemma",
        says="The log covering number of one token's output, quoted from Edelman et al.",
        quantity="log covering number of one token's output on N inputs, by members",
        inputs=(
            *SIZES,
            Input("X.row2inf", aliases=("B_X",)),
            Input("w.l2", aliases=("eta_O",)),
            Input("W_v.op", "the paper's ‖W_V⁰‖₂ + b_V"),
            Input("W_v.row21", "the paper's ‖W_V⁰‖_{2,1} + B_V, sums of columns of W_V = W_vᵀ"),
            Input("W_QK.row21", "the paper's bound on ‖W_KᵀW_Q/√d_m‖_{2,1}, the score matrix"),
            Input("W_v.col21", "the norm that the cover needs, sums of columns of W_v", math.inf),
            Input("epsilon"),
            Input("c", default=1.0),
        ),
        printed=Form(
            r"cB_X^2\frac{\bigl(\|W_V\|_{2,1}^{2/3}+(\|\Theta\|_{2,1}\|W_V\|_2)^{2/3}\bigr)^3}"
            r"{\varepsilon^2}\log(Nd_s),\quad\Theta=W_K^\top W_Q/\sqrt{d_m}",
            lemma(lambda it, c: it.printed(c)),
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\min\sum_jH_j(\varepsilon_j/2)\ \text{over}\ \|W_V\|_2B_X\varepsilon_w"
            r"+\eta_OB_X\varepsilon_V+\eta_O\|W_V\|_2B_X^3\varepsilon_\Theta\le\varepsilon",
            lemma(lambda it: it.log_cover(PAPERS_COVERS)),
        ),
        best=Form(
            r"\text{the same with the smallest of all covers}",
            lemma(lambda it: smaller(it.log_cover(PAPERS_COVERS), it.log_cover())),
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "The term of the scores lacks B_X²: an error of Θ reaches a score with the lengths of "
            "both tokens, and the attended value has length B_X once more, which makes B_X⁶ in the "
            "log covering number. With long tokens score matrices of norm below 1 realise every "
            "pattern of attention. The readout w_O is not covered and its norm does not occur, the "
            "sums of norms are those of the other side (the cover of W_V needs its rows), and the "
            "displayed class drops the 1/√d_m from the scores while its norm keeps it."
        ),
        assumptions=(
            Assumption("score matrix", "scores are x_sᵀΘx_i, Θ = W_KᵀW_Q/√d_m", Status.DECLARED),
        ),
        example={
            "n": 10_000,
            "T": 13,
            "d": 64,
            "k": 64,
            "X.row2inf": 1.0,
            "w.l2": 1.0,
            "W_v.op": 1.0,
            "W_v.row21": 2.0,
            "W_v.col21": 2.0,
            "W_QK.row21": 2.0,
            "epsilon": 0.5,
        },
    )
)
