"""Lemmas 1 and 2: the Rademacher complexity of the encoders, and of one token's output.

Lemma 2 reads out one token i; Lemma 1 averages over the tokens. The paper equates the two. What
holds is that the complexity of an average is at most the largest complexity of its parts; here
the average is covered directly.

>>> from dudley.theorems.registry import evaluate
>>> norms = {f"{W}.fro": 1.0 for W in ("W_Q", "W_K", "W_v")} | {"w.l2": 1.0, "X.fro": 1.0}
>>> values = norms | {"n": 10**9, "T": 13, "d": 64, "k": 64}
>>> forms = ("printed", "derived", "best")
>>> [float(f"{evaluate('mwigo2026/lemma-2', values, form).value:.3g}") for form in forms]
[0.023, 0.114, 0.00426]
>>> [float(f"{evaluate('mwigo2026/lemma-1', values, form).value:.3g}") for form in forms]
[2.3e-11, 0.118, 0.00431]
>>> moved = {"W_Q.moved": 0.01, "W_K.moved": 0.01, "W_v.moved": 0.01, "w.moved": 0.01}
>>> float(f"{evaluate('mwigo2026/lemma-1', values | moved, 'best').value:.3g}")
8.55e-05
"""

from __future__ import annotations

import math

from dudley.core.assumption import Assumption, Status
from dudley.core.binding import bundled
from dudley.core.bound import Sense
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.mwigo2026.encoder import NORMS, ROWS, SIZES, Encoder, moved, spectral
from dudley.theorems.registry import register

CONSTANT = Input("c", default=1.0)
BRACKET = r"\sqrt{\tfrac PN}\Bigl(1+\log\bigl(A\sqrt{\tfrac NP}\bigr)\Bigr)"
WHERE = (
    r",\quad A=\eta_O\eta_V\sqrt{d_s}R_X,\quad P=d_sR_X^2\bigl((\sqrt{d_m}\eta_V)^{2/3}"
    r"+(\sqrt{d_m}\eta_K\eta_Q\eta_V)^{2/3}\bigr)^3\log(Nd_s)"
)
DERIVED = (
    r"\min\Bigl\{A,\inf_{a>0}4a+12\int_a^{A/2}\sqrt{H(\varepsilon)/N}\,d\varepsilon\Bigr\},\quad "
    r"H(\varepsilon)=\min\sum_jH_j(\varepsilon_j)\ \text{over}\ "
    r"\eta_VB\varepsilon_w+\eta_OB\varepsilon_V+\eta_O\eta_VB^3\varepsilon_\Theta\le\varepsilon"
)
EXAMPLE = {
    "n": 10**9,
    "T": 13,
    "d": 64,
    "k": 64,
    "X.fro": 1.0,
    "W_Q.fro": 1.0,
    "W_K.fro": 1.0,
    "W_v.fro": 1.0,
    "w.l2": 1.0,
}
INPUTS = Assumption(
    "inputs", "every input, seen or not, has Frobenius norm at most X.fro", Status.DECLARED
)
WRONG_P = (
    "P has no η_O although scaling w_O scales the complexity: identical inputs refute it for every "
    "constant. It also lacks the square of the tokens' norm in the term of the scores (Lemma 6) "
    "and a cover of w_O, which is trained; and the logarithm must be cut at 0: in all nine cells "
    "of the paper's experiments the right-hand side, with expected initial norms and all radii 1, "
    "is negative. The Frobenius norm of W_KᵀW_Q/√d_m is at most η_Kη_Q/√d_m, and covers of scores "
    "need no more: the printed √d_m·η_Kη_Q is d_m times that. "
)
NEAR_FIELDS = ("W_Q_op", "W_K_op", "W_v_op", "W_Q_moved", "W_K_moved", "W_v_moved", "w_moved")
any_encoder = bundled(Encoder)
one_token = bundled(Encoder, X_row2inf=math.inf, **dict.fromkeys(NEAR_FIELDS, math.inf))

LEMMA_1 = register(
    Statement(
        id="mwigo2026/lemma-1",
        kind="lemma",
        says="The complexity of the encoders near their initialisation.",
        quantity="Rademacher complexity of the encoders near θ⁰, for any sample",
        inputs=(*SIZES, *NORMS, ROWS, *spectral(math.inf), *moved(math.inf), CONSTANT),
        printed=Form(
            r"\frac cN" + BRACKET + WHERE,
            any_encoder(lambda encoder, c: c * encoder.printed / encoder.n),
            Sense.CONSTANT,
        ),
        derived=Form(DERIVED, any_encoder(lambda encoder: encoder.derived())),
        best=Form(
            r"\text{every cover, balls of radius }R_Q,R_K,R_V,R_O\text{ around }\theta^0,"
            r"\text{ best chaining}",
            any_encoder(lambda encoder: encoder.best()),
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "The factor 1/N in front does not occur in the last line of the paper's own proof nor "
            "in Theorem 5, and N^{−3/2} is too fast: on identical inputs the complexity is of "
            "order N^{−1/2}. The sum over tokens is not pulled out of the supremum with equality, "
            "nor are the suprema for the tokens equal; the inequality R(F) ≤ max_i R(G_i) is true "
            "and is enough. Full rank is not needed. Without 1/N it inherits Lemma 2: " + WRONG_P
        ).strip(),
        assumptions=(INPUTS,),
        example=EXAMPLE,
        rates={"printed": -1.5, "derived": -0.5, "best": -0.5},
    )
)

LEMMA_2 = register(
    Statement(
        id="mwigo2026/lemma-2",
        kind="lemma",
        says="The complexity of what the encoder makes of one token, for bounded norms.",
        quantity="Rademacher complexity of one token's output, for any sample",
        inputs=(*SIZES, *NORMS, CONSTANT),
        printed=Form(
            "c" + BRACKET + WHERE, one_token(lambda encoder, c: c * encoder.printed), Sense.CONSTANT
        ),
        derived=Form(DERIVED, one_token(lambda encoder: encoder.derived("cls"))),
        best=Form(
            r"\text{every cover, best chaining}", one_token(lambda encoder: encoder.best("cls"))
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=WRONG_P.strip(),
        assumptions=(INPUTS,),
        example=EXAMPLE,
        rates={"printed": -0.5, "derived": -0.5, "best": -0.5},
    )
)
