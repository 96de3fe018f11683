"""Three numbers of one pass: the mean over documents, totals, and symbols in sampled contexts.

- *mean*: the mean over documents of bits over size;
- *totals*: all bits over all bytes, which is what compressors are measured by;
- *tokens*, where it is asked for: the mean over the symbols of the contexts that were sampled,
  which says nothing about new documents.

Each is a certificate of `prequential` with a journal of its own, and each pays for the others: all
hold together with probability 1 − δ. The probability of a document is mixed with that of a uniform
distribution over bytes, linearly (`UnitSmoothing`), and in the third form that of a symbol with a
uniform one. So there is a largest loss. The first two are about the mixture of the models, or,
where copies were left out (`Documents`), about a model drawn anew for every document; the third is
about each model in the contexts that it met (`prequential.quantity` says why).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.smoothing import UnitSmoothing
from dudley.certificates.texts.base import DocumentModel
from dudley.certificates.texts.documents import Documents

BYTES = 256
MEAN, TOTALS, TOKENS = "mean", "totals", "tokens"
TOGETHER = 1024  # documents whose symbols are counted at once
TOTALS_FORM = "mean size bounded"  # in records: `totals` bounds it, and did not in earlier ones


@dataclass(frozen=True, kw_only=True)
class TextPass:
    """What is declared of a pass.

    ``n`` of the documents are read, the first of the order; 0 is all. ``start`` of them come before
    the stretch, half of them unless another number is given. ``unit`` names what a document is.
    ``smoothing`` is α. ``tokens`` asks for the third form. With ``checkpoints`` = K the stretch has
    K blocks, each predicted by the checkpoint before it, so that others can evaluate them
    (`blocks`); ``tolerance`` bits are then added for every byte, for arithmetic that is another
    machine's. ``coded`` steps train a coded model beside (`coded`); its certificate is one of those
    that hold together. The settings are on a list of ``tried`` that was fixed before any of them
    read these texts, and every certificate pays for the choice. That is a union bound over the
    list: settings that were thought of after a look at results on these texts are not on it, and no
    count pays for them. ``seed`` gives the order; one that is not given is drawn, and a pass that
    goes on reads it back.
    """

    n: int = 0
    start: int | None = None
    smoothing: float = 1 / 64
    seed: int | None = None
    delta: float = 0.05
    population: str = ""
    unit: str = "document"
    tokens: bool = False
    checkpoints: int = 0
    coded: int = 0
    tried: int = 1
    tolerance: float = 1e-4

    @property
    def among(self) -> int:
        """How many certificates hold together, whichever of the settings was chosen."""
        return self.tried * (2 + self.tokens + (self.coded > 0))


@dataclass(frozen=True, eq=False)
class PassForm:
    """A form: its name, what its journal declares, and how its losses are smoothed."""

    name: str
    declared: dict[str, Any]
    smoothing: UnitSmoothing

    def losses(
        self, texts: Sequence[bytes], nats: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Smoothed bits and sizes, of documents or of their symbols, in their order."""
        if self.name == TOKENS:
            inside = np.arange(nats.shape[1]) < lengths[:, None]
            each = nats[inside]
            sizes = np.ones(len(each), np.int64)
        else:
            each, sizes = nats.sum(1), np.array([len(text) for text in texts], np.int64)
        return self.smoothing.bits(each, sizes), sizes


def forms_of(
    model: DocumentModel,
    documents: Documents,
    texts: Sequence[bytes],
    start: int,
    declared: TextPass,
) -> tuple[PassForm, ...]:
    """The forms of a pass over these texts."""
    of_bytes = UnitSmoothing(BYTES, declared.smoothing, documents.shortest)
    common = {
        "delta": declared.delta,
        "population": population_of(documents, declared),
        "loss": "bits",
        "among": declared.among,
    }
    blocks: dict[str, Any] = {}
    if declared.checkpoints:
        blocks = {"checkpoints": declared.checkpoints, "tolerance": declared.tolerance}
    about = {"about": "redraw" if documents.distinct else "mixture", "distinct": documents.distinct}
    mean = {"unit": declared.unit, "start": start, "limit": of_bytes.limit, "guess": 8.0}
    mean |= about | blocks
    sizes = {"totals": True, "longest": documents.longest, "shortest": documents.shortest}
    forms = [
        PassForm(MEAN, common | mean, of_bytes),
        PassForm(TOTALS, common | mean | sizes, of_bytes),
    ]
    if declared.tokens:
        alone = UnitSmoothing(model.symbols, declared.smoothing)
        parts = (texts[i : min(i + TOGETHER, start)] for i in range(0, start, TOGETHER))
        before = sum(int(model.read(part)[1].sum()) for part in parts)
        guess = math.log2(model.symbols)
        fields = {"unit": "token", "start": before, "limit": alone.limit, "guess": guess}
        forms.append(PassForm(TOKENS, common | fields, alone))
    return tuple(forms)


def population_of(documents: Documents, declared: TextPass) -> str:
    """What a document and its smoothed bits are, after the words of who declared the population.

    >>> documents = Documents.of([b"a cat", b"a dog"], longest=64, shortest=4)
    >>> population_of(documents, TextPass(population="short texts"))
    'short texts; documents of 4 to 64 bytes (longer ones cut, shorter ones left out), smoothed by
    1/64'
    """
    words = f"documents of {documents.shortest} to {documents.longest} bytes"
    words += " (longer ones cut, shorter ones left out)"
    smoothing = Fraction(declared.smoothing).limit_denominator(10**6)
    share = str(smoothing) if float(smoothing) == declared.smoothing else repr(declared.smoothing)
    return "; ".join(filter(None, [declared.population, f"{words}, smoothed by {share}"]))
