"""Let Coq's kernel check a certificate that `verify` has computed again.

>>> import json
>>> from dudley.networks.files import EXAMPLES
>>> certificate = json.loads((EXAMPLES / "sparse-and" / "certificate.json").read_text())
>>> print(script(claim_of(certificate)).splitlines()[5])
Theorem certificate : coded_claim 2000 0 (4123, 312500) (1, 20) 34 [].
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dudley.certificates.kernel.claim import KernelClaim, claim_of
from dudley.certificates.kernel.coq import Coq, coq
from dudley.certificates.kernel.library import compiled
from dudley.certificates.kernel.losses import losses_of, needs_losses
from dudley.certificates.kernel.report import KernelReport
from dudley.certificates.kernel.script import script
from dudley.certificates.verify import Verification

HASHES = "the hashes of model and data"
PRICES = "the price of every choice"
LISTS = "the weights of each list sum to at most 1"
RECOMPUTED = {
    "holdout": ("the errors of the model on the examples",),
    "listed": ("the errors of the chosen model on the examples",),
    "coded": (
        "the weights to which the code word decodes",
        "the errors of the model on the examples",
    ),
    "cover": (
        "the size of the cover, from the norms of the weights",
        "the margins of the model on the examples",
    ),
    "losses": ("the losses of the model on the examples",),
    "picks": (
        "picks and rounds against the declared schedule",
        "the failures of the final model among the unpicked examples",
    ),
}
SUPPOSED = {
    "coded": ("no word of the code begins with another one",),
    "cover": (
        "the class has a cover of this size, and γ/2 leaves room for the rounding of margins",
    ),
    "losses": ("the bets and their weights depend on the number of losses and on δ alone",),
    "picks": ("the program's rule is one of those that PickRule.v is about",),
}


def check(
    certificate: Mapping[str, Any], verification: Verification, data: Path | None = None
) -> KernelReport:
    """The kernel's word on a certificate that holds; ``data`` are those of a table of losses."""
    losses = None
    if data is not None and needs_losses(certificate):
        losses = losses_of(certificate, data)
    claim = claim_of(certificate, losses)
    program = coq()
    return KernelReport(
        claim,
        accepts(claim, program),
        program.version,
        (*RECOMPUTED[claim.form], *((PRICES,) if claim.weights else ()), HASHES),
        (*SUPPOSED.get(claim.form, ()), *((LISTS,) if claim.weights else ())),
        verification.declarations,
    )


def accepts(claim: KernelClaim, program: Coq) -> bool:
    """Does the kernel accept this claim?"""
    return program.accepts(script(claim), compiled(program))
