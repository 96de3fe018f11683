"""What Occam's bound declares, chooses and finds."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.certificates.base import MethodDeclared
from dudley.certificates.codes.interval import CodeWord


@dataclass(frozen=True)
class OccamDeclared(MethodDeclared):
    """What the decoder knows beside the code word.

    ``seed``, ``dimensions`` and ``levels`` are those of random subspaces; ``networks`` lists the
    hashes of the networks that may be chosen; ``radius`` is where rows are clipped, if that is no
    power of two.
    """

    seed: int = 0
    dimensions: tuple[int, ...] = (10, 20, 30, 50, 70, 100, 140, 200)
    levels: tuple[int, ...] = (3, 5, 7, 11)
    networks: tuple[str, ...] = ()
    radius: float | None = None


@dataclass(frozen=True)
class OccamChoices:
    """The code word of the weights."""

    code: CodeWord


@dataclass(frozen=True)
class OccamFacts:
    """Errors, the length of the code, and what it describes."""

    n: int
    errors: int
    train_error: float
    bits: int
    code: str
    weights: int
    nonzeros: dict[str, int]
    nearest_margin: float
