"""What a command says of the hold-out beside a certificate, and of a choice between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dudley.cli.output import paragraph

if TYPE_CHECKING:
    from dudley.certificates.beside import HoldOutBeside
    from dudley.certificates.certificate import Certificate
    from dudley.certificates.choice_beside import ChoiceBeside


def print_beside(beside: HoldOutBeside | ChoiceBeside, certificate: Certificate) -> None:
    """Four sentences."""
    from dudley.certificates.order import seed_declared

    print(paragraph(f"beside it, {beside}"))
    print(paragraph(beside.against(certificate)))
    option = f"--declare {certificate.method}.among, now {certificate.declared.among}"
    choice = "whoever takes the smaller of both has chosen among two, and pays for it beforehand"
    print(paragraph(f"of the hold-out, {seed_declared(beside.seed)}"))
    print(paragraph(f"each holds by itself: {choice} ({option})"))
