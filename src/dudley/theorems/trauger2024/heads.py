"""Section 4.2: the Rademacher complexity of a sum of H heads.

>>> from dudley.theorems.registry import evaluate
>>> evaluate("trauger2024/section-4.2", {"H": 8, "class.rademacher": 0.03}).value
0.24
"""

from __future__ import annotations

from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.registry import register

SECTION_4_2 = register(
    Statement(
        id="trauger2024/section-4.2",
        kind="section",
        says="H heads with one readout have H times the complexity of one head.",
        quantity="Rademacher complexity of a sum of H heads under one readout w",
        inputs=(
            Input("H"),
            Input("class.rademacher", "the largest complexity of a single head with readout"),
        ),
        printed=Form(
            r"\mathrm{Rad}=\sum_{j\le H}\mathrm{Rad}_j=H\,\mathrm{Rad}_1",
            lambda H, class_rademacher: H * class_rademacher,
        ),
        derived=Form(
            r"\mathrm{Rad}\le\sum_{j\le H}\mathrm{Rad}_j\le H\,\mathrm{Rad}_1",
            lambda H, class_rademacher: H * class_rademacher,
        ),
        verdict=Verdict.true(Repair.SYMBOL),
        erratum=(
            "The display takes the supremum over the heads alone, and for a fixed w it holds. In "
            "the class of section 4.1 the heads share a trained w; there the supremum of the sum "
            "is at most the sum of the suprema, and '=' should read '≤'. The factor H stands as an "
            "upper bound. (Covering all matrices at once costs H^{1.5}, as section 4.3 says.)"
        ),
        example={"H": 8, "class.rademacher": 0.03},
    )
)
