"""Let Coq's kernel check a certificate that `verify` has computed again.

>>> import json
>>> from dudley.networks.files import EXAMPLES
>>> certificate = json.loads((EXAMPLES / "sparse-and" / "certificate.json").read_text())
>>> print(script(claim_of(certificate)).splitlines()[5])
Theorem certificate : coded_claim 2000 0 (4123, 312500) (1, 20) 34 [].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dudley.certificates.kernel.claim import KernelClaim, claim_of
from dudley.certificates.kernel.coq import Coq, coq
from dudley.certificates.kernel.library import compiled
from dudley.certificates.kernel.report import KernelReport
from dudley.certificates.kernel.script import script
from dudley.certificates.verify import Verification

HASHES = "the hashes of model and data"
LISTS = "the prices, and that the weights of each list sum to at most 1"
RECOMPUTED = {
    "holdout": ("the errors of the model on the examples",),
    "listed": ("the errors of the chosen model",),
    "coded": ("that the code word decodes to these weights", "the errors of the model"),
    "cover": (
        "the size of the cover, from the network's norms by the covers in the docstrings",
        "the rounding error of margins, and that γ/2 leaves room for it",
        "the norms of the weights, and their places in the grids",
        "the margins, and how many are at most γ",
    ),
    "picks": (
        "that picks and rounds are those of the declared schedule",
        "the failures of the final model among the unpicked examples",
    ),
}


def check(certificate: Mapping[str, Any], verification: Verification) -> KernelReport:
    """The kernel's word on a certificate that holds."""
    claim = claim_of(certificate)
    program = coq()
    return KernelReport(
        claim,
        accepts(claim, program),
        program.version,
        (*RECOMPUTED[claim.form], *((LISTS,) if claim.weights else ()), HASHES),
        verification.declarations,
    )


def accepts(claim: KernelClaim, program: Coq) -> bool:
    """Does the kernel accept this claim?"""
    return program.accepts(script(claim), compiled(program))
