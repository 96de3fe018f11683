"""Lemma A.6 and Corollary A.7: normalisers, and softmax among them, from ℓ∞ to ℓ1.

>>> from dudley.theorems.registry import evaluate
>>> [round(evaluate("edelman2021/corollary-A.7", {"error.score": 1.0}, form).value, 3)
...  for form in ("printed", "derived", "best")]
[2.0, 2.0, 0.924]
>>> from dudley.theorems.registry import load
>>> it = load()["edelman2021/lemma-A.6"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[0.2, 0.2, 0.2]
"""

from __future__ import annotations

import math

from dudley.core.magnitude import ONE
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.networks.normalisers import Softmax
from dudley.theorems.registry import register

QUANTITY = "ℓ1 change of the attention weights"

register(
    Statement(
        id="edelman2021/lemma-A.6",
        kind="lemma",
        says="A map into the simplex moves in ℓ1 by its Jacobian's norm times the ℓ∞ change.",
        quantity=QUANTITY,
        inputs=(
            Input("attention.lipschitz", "sup of the entrywise norm ‖J‖_{1,1}", aliases=("c_f",)),
            Input("error.score", "‖θ₁ − θ₂‖_∞"),
        ),
        printed=Form(
            r"\|f(\theta_1)-f(\theta_2)\|_1\le c_f\|\theta_1-\theta_2\|_\infty",
            lambda attention_lipschitz, error_score: attention_lipschitz * error_score,
        ),
        derived=Form(
            r"\|f(\theta_1)-f(\theta_2)\|_1\le c_f\|\theta_1-\theta_2\|_\infty",
            lambda attention_lipschitz, error_score: attention_lipschitz * error_score,
        ),
        best=Form(
            r"\min(2,c_f\|\theta_1-\theta_2\|_\infty)",
            lambda attention_lipschitz, error_score: min(2.0, attention_lipschitz * error_score),
        ),
        verdict=Verdict.true(),
        erratum=(
            "True; the operator norm of the Jacobian from ℓ∞ to ℓ1, which is smaller, is enough. "
            "Domain and vectors are named R^d and R^p for the same space."
        ),
        example={"attention.lipschitz": 2.0, "error.score": 0.1},
    )
)

register(
    Statement(
        id="edelman2021/corollary-A.7",
        kind="corollary",
        says="Softmax is 2-Lipschitz from ℓ∞ to ℓ1, for any number of scores.",
        quantity=QUANTITY,
        inputs=(Input("error.score", "‖θ₁ − θ₂‖_∞"),),
        printed=Form(
            r"\|\mathrm{softmax}(\theta_1)-\mathrm{softmax}(\theta_2)\|_1\le2\|\theta_1-\theta_2\|_\infty",
            lambda error_score: 2 * error_score,
        ),
        derived=Form(
            r"\|\mathrm{softmax}(\theta_1)-\mathrm{softmax}(\theta_2)\|_1\le2\|\theta_1-\theta_2\|_\infty",
            lambda error_score: float(Softmax(2.0).lipschitz(ONE, 2.0)) * error_score,
        ),
        best=Form(
            r"2\tanh(\|\theta_1-\theta_2\|_\infty/2)\le\|\theta_1-\theta_2\|_\infty",
            lambda error_score: 2 * math.tanh(error_score / 2),
        ),
        verdict=Verdict.true(),
        erratum=(
            "True. The sharp constant is 1, attained at weights (½, ½) in the direction (1, −1): "
            "‖J‖_{1,1} tends to 2 for many equal scores, but the norm from ℓ∞ to ℓ1 does not."
        ),
        example={"error.score": 0.1},
    )
)
