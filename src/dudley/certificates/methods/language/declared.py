"""What a certificate of a language model declares, chooses and finds."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.certificates.base import MethodDeclared
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.records import called, omitted


@dataclass(frozen=True)
class LanguageDeclared(MethodDeclared):
    """What was fixed before the documents.

    ``evaluated`` is the number of documents whose losses are computed, 0 for all. The others are
    those of the model, and need not be given: what its decoder knows, its symbols V and its T.
    """

    evaluated: int = 0
    seed: int | None = None
    dimensions: tuple[int, ...] | None = None
    levels: tuple[int, ...] | None = None
    V: int | None = called("gpt.V", None)
    T: int | None = called("gpt.T", None)


@dataclass(frozen=True)
class GptSizes:
    """The sizes of a Transformer, each from a list fixed before."""

    d: int
    heads: int
    window: int
    width: int
    layers: int


@dataclass(frozen=True)
class LanguageChoices:
    """The model's word and sizes, the smoothing and the bets; a place where part is evaluated."""

    code: CodeWord
    gpt: GptSizes
    smoothing: int
    bet: int
    place: int | None = omitted()
    second: int | None = omitted()


@dataclass(frozen=True)
class SmoothingFacts:
    """The smoothing that was chosen."""

    kind: str
    alpha: float


@dataclass(frozen=True)
class OtherForms:
    """What other bounds give; kl only where all documents are evaluated."""

    sublora: float
    kl: float | None


@dataclass(frozen=True)
class LanguageFacts:
    """Losses of the documents, and the length of the code."""

    n: int
    evaluated: int
    mean_loss: float
    standard_deviation: float
    largest_loss: float
    limit: float
    bits: int
    code: str
    smoothing: SmoothingFacts
    other_forms: OtherForms
