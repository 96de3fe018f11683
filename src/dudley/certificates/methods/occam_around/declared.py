"""What Occam's bound around a start declares, chooses and finds."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.certificates.around.declared import AroundDeclared
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.records import omitted


@dataclass(frozen=True)
class OccamAroundDeclared(AroundDeclared):
    """``dimensions`` and ``levels`` list the D and L of hashed coordinates (`around.hashed`).

    ``pool`` is the size of the finite pool from which the sample was drawn without replacement.
    """

    dimensions: tuple[int, ...] = (10, 20, 50, 100, 200, 500)
    levels: tuple[int, ...] = (3, 5, 7, 11)
    pool: int | None = omitted()


@dataclass(frozen=True)
class OccamAroundChoices:
    """The code word of the difference."""

    code: CodeWord


@dataclass(frozen=True)
class OccamAroundFacts:
    """Counts: examples, of which in the share; failures, errors among them, bits, what moves."""

    n: int
    initial: int
    counted: int
    failures: int
    errors: int
    bits: int
    code: str
    part: str
    start_sha256: str
    start_failures: int
    share_failures: int | None = omitted()
