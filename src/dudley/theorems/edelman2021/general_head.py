"""Lemma 4.3 and Theorem 4.2: a general attention head, through its scores and inner values.

>>> from dudley.theorems.registry import evaluate
>>> values = {"score.C": 8.0, "inner.C": 1.0, "attention.lipschitz": 1.0, "head.L_out": 1.0,
...           "head.B_in": 1.0, "X.row2inf": 1.0, "epsilon": 0.1}
>>> round(evaluate("edelman2021/theorem-4.2", values, "printed").value, 6)
2700.0
>>> from dudley.theorems.registry import load
>>> it = load()["edelman2021/lemma-4.3"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[0.3, 0.3]
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.calculus.allocate import power_law
from dudley.calculus.facts import Signal
from dudley.core.assumption import Assumption, Status
from dudley.core.binding import bundled
from dudley.core.bound import Bound
from dudley.core.entropy import PowerLaw
from dudley.core.magnitude import Magnitude
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.networks.embeddings import Tokens
from dudley.networks.general import GeneralHead
from dudley.theorems.edelman2021.common import RADIUS, RESOLUTION, log_cover
from dudley.theorems.registry import register

CONSTANTS = (
    Input("attention.lipschitz", aliases=("C_Norm",)),
    Input("head.L_out", aliases=("L_out",)),
    Input("head.B_in", aliases=("B_in",)),
    RADIUS,
)
ASSUMPTIONS = (
    Assumption("outer map", "φ_out is fixed and L_out-Lipschitz", Status.DECLARED),
    Assumption("inner map", "‖φ_in(x)‖ ≤ B_in‖x‖ for every parameter", Status.DECLARED),
    Assumption("normaliser", "into the simplex, C_Norm-Lipschitz from ℓ∞ to ℓ1", Status.DECLARED),
)


@dataclass(frozen=True)
class HeadErrors:
    """A head by its constants, and how far its scores and inner values are off."""

    attention_lipschitz: float
    head_L_out: float
    head_B_in: float
    X_row2inf: float
    error_score: float
    error_inner: float

    def printed(self) -> float:
        through = self.attention_lipschitz * self.head_L_out * self.head_B_in * self.X_row2inf
        return through * self.error_score + self.head_L_out * self.error_inner

    def derived(self) -> float:
        """The node's weights times the two errors."""
        head = GeneralHead(
            PowerLaw(0), PowerLaw(0), self.attention_lipschitz, self.head_L_out, self.head_B_in
        )
        facts = head.facts(Signal(Magnitude.of(self.X_row2inf), 1.0, 1))
        weight = {use.name: float(use.weight) for use in facts.uses}
        return weight["score"] * self.error_score + weight["inner"] * self.error_inner


LEMMA_LATEX = (
    r"\|\Delta f_{\mathrm{head}}\|\le C_{\mathrm{Norm}}L_{\mathrm{out}}B_{\mathrm{in}}B_X"
    r"\|\Delta\mathrm{Score}(X,z)\|_\infty"
    r"+L_{\mathrm{out}}\max_t\|\Delta\phi_{\mathrm{in}}(x_t)\|_2"
)

register(
    Statement(
        id="edelman2021/lemma-4.3",
        kind="lemma",
        says="A head's output moves no more than its scores and inner values, whatever T is.",
        quantity="ℓ2 change of the head's output",
        inputs=(*CONSTANTS, Input("error.score"), Input("error.inner")),
        printed=Form(LEMMA_LATEX, bundled(HeadErrors)(HeadErrors.printed)),
        derived=Form(LEMMA_LATEX, bundled(HeadErrors)(HeadErrors.derived)),
        verdict=Verdict.true(),
        erratum=(
            "True. The (2,∞) norm is that of the transpose (largest over tokens), the argument w "
            "does not occur, and one line of the proof drops B_X, which the next one restores."
        ),
        example={
            "attention.lipschitz": 2.0,
            "head.L_out": 1.0,
            "head.B_in": 1.0,
            "X.row2inf": 1.0,
            "error.score": 0.1,
            "error.inner": 0.1,
        },
        assumptions=ASSUMPTIONS,
    )
)


@dataclass(frozen=True)
class Covers:
    """A head by its constants, with covers C/ε² of its scores and inner values."""

    score_C: float
    inner_C: float
    attention_lipschitz: float
    head_L_out: float
    head_B_in: float
    X_row2inf: float
    epsilon: float

    def printed(self) -> float:
        """The infimum over α ∈ [0, 1] of the two covers at αε/(C L B B_X) and (1−α)ε/L."""
        through = self.attention_lipschitz * self.head_L_out * self.head_B_in * self.X_row2inf
        return power_law([self.score_C, self.inner_C], [through, self.head_L_out], self.epsilon)[0]

    def derived(self) -> float | Bound:
        """By the calculus, which knows that a cover of fewer than two elements has one."""
        if 0 in (self.score_C, self.inner_C):
            return self.printed()  # a class of one element needs no share of ε
        score, inner = PowerLaw(self.score_C), PowerLaw(self.inner_C)
        head = GeneralHead(score, inner, self.attention_lipschitz, self.head_L_out, self.head_B_in)
        return log_cover(head, Tokens(self.X_row2inf, d=1), self.epsilon, 1)


register(
    Statement(
        id="edelman2021/theorem-4.2",
        kind="theorem",
        says="Covers of the scores and of the inner map on all tokens make a cover of the head.",
        quantity="log covering number of the head, ℓ2 outputs",
        inputs=(
            Input("score.C", "C in log N(ε) ≤ C/ε² for the scores, on all nT tokens"),
            Input("inner.C", "C in log N(ε) ≤ C/ε² for the inner map, on all nT tokens"),
            *CONSTANTS,
            RESOLUTION,
        ),
        printed=Form(
            r"\inf_{\alpha\in[0,1]}\log\mathcal N\bigl(\mathcal F_{\mathrm{Score}};"
            r"\tfrac{\alpha\varepsilon}{C_{\mathrm{Norm}}L_{\mathrm{out}}B_{\mathrm{in}}B_X}\bigr)"
            r"+\log\mathcal N\bigl(\mathcal F_{\mathrm{in}};"
            r"\tfrac{(1-\alpha)\varepsilon}{L_{\mathrm{out}}}\bigr)",
            bundled(Covers)(Covers.printed),
        ),
        derived=Form(
            r"\min\bigl\{\log N_s(\varepsilon_s)+\log N_i(\varepsilon_i):"
            r"C_{\mathrm{Norm}}L_{\mathrm{out}}B_{\mathrm{in}}B_X\varepsilon_s+L_{\mathrm{out}}\varepsilon_i\le\varepsilon\bigr\}",
            bundled(Covers)(Covers.derived),
        ),
        verdict=Verdict.true(),
        erratum=(
            "True. For covers C/ε² the infimum over α is that of Lemma A.8; a scalar class with a "
            "fixed readout w replaces ε by ε/‖w‖."
        ),
        example={
            "score.C": 8.0,
            "inner.C": 1.0,
            "attention.lipschitz": 2.0,
            "head.L_out": 1.0,
            "head.B_in": 1.0,
            "X.row2inf": 1.0,
            "epsilon": 0.1,
        },
        assumptions=ASSUMPTIONS,
    )
)
