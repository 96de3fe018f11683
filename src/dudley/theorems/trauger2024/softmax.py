"""Lemma C.1: softmax is Lipschitz from ℓ∞ to ℓ1.

>>> from dudley.theorems.registry import evaluate
>>> forms = ("printed", "derived", "best")
>>> [round(evaluate("trauger2024/lemma-C.1", {"error.score": 3.0}, f).value, 3) for f in forms]
[6.0, 3.0, 1.81]
"""

from __future__ import annotations

import math

from dudley.core.magnitude import Magnitude
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.networks.normalisers import normaliser
from dudley.theorems.registry import register

LEMMA_C_1 = register(
    Statement(
        id="trauger2024/lemma-C.1",
        kind="lemma",
        says="Softmax moves by at most twice the largest change of a score.",
        quantity="‖softmax(θ₁) − softmax(θ₂)‖₁",
        inputs=(Input("error.score", "‖θ₁ − θ₂‖_∞"),),
        printed=Form(r"2\|\theta_1-\theta_2\|_\infty", lambda error_score: 2 * error_score),
        derived=Form(
            r"\|\theta_1-\theta_2\|_\infty",
            lambda error_score: (
                float(normaliser("softmax").lipschitz(Magnitude.of(error_score), 2.0)) * error_score
            ),
        ),
        best=Form(
            r"2\tanh(\|\theta_1-\theta_2\|_\infty/2)",
            lambda error_score: 2 * math.tanh(error_score / 2),
        ),
        verdict=Verdict.true(),
        erratum="True; the sharp constant is 1, the largest 4q(1−q).",
        example={"error.score": 1.0},
    )
)
