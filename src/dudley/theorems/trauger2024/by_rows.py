"""Appendix A: from covers of scalar linear functions to covers of vector-valued ones.

Cover each of the k output coordinates at ε; then ‖(W − Ŵ)x‖_q ≤ k^{1/q}ε for every q > 0.

>>> from dudley.theorems.registry import evaluate
>>> evaluate("trauger2024/appendix-A", {"k": 8, "class.log_cover": 3.0}).value
24.0...
"""

from __future__ import annotations

from dudley.core.assumption import Assumption, Status
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.registry import register

APPENDIX_A = register(
    Statement(
        id="trauger2024/appendix-A",
        kind="appendix",
        says="A map with k outputs is covered by covering its k output coordinates.",
        quantity="log covering number at k^{1/q}·ε of maps with k outputs, ℓq outputs",
        inputs=(
            Input("k"),
            Input("class.log_cover", "log covering number of the scalar functions at ε", None),
        ),
        printed=Form(
            r"\log N_\infty(F,k^{1/q}\varepsilon,N,\|\cdot\|_q)\le kC",
            lambda k, class_log_cover: k * class_log_cover,
        ),
        derived=Form(
            r"\log N_\infty(F,k^{1/q}\varepsilon,N,\|\cdot\|_q)\le kC",
            lambda k, class_log_cover: k * class_log_cover,
        ),
        verdict=Verdict.undecided(Repair.HYPOTHESIS),
        assumptions=(
            Assumption(
                "product",
                "the matrices are all those with bounded rows, or centres may lie outside",
                Status.DECLARED,
            ),
        ),
        erratum=(
            "Correct, for every q > 0, if the set of matrices is the whole product of the row sets "
            "or if centres outside the class are allowed. Section 2.4 asks for centres in the "
            "class, and a smaller set of matrices need not contain the row-wise choice: the nine "
            "points of {−1, 0, 1}² have bounded rows and need nine centres of their own at √2·ε, "
            "ε = 0.6, where the scalar cover {±1/2} of [−1, 1] promises four. The displayed sum "
            "lacks absolute values."
        ),
        example={"k": 64, "class.log_cover": 12.0},
    )
)
