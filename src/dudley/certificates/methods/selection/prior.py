"""Weights of a list: what each entry costs in nats, with Σ e^{−nats} ≤ 1 proved.

*Uniform*: ln m each. *Weights*: −ln(w_i/Σw). *A language model*: the price of a text is
−ln p(text, end), log₂(1/p) bits. By the chain rule the probabilities of all texts that end sum to
at most 1, so a longer list makes no text dearer. The model is named by its hash; it must not have
seen the sample. A *product* of lists needs nothing new: prices of its factors add up, and the sum
over the product is the product of the sums (`candidates`).

Prices are rounded up. Where a list of prices is read, `expect_kraft` computes an upper bound of
Σ e^{−nats} with interval arithmetic and refuses one above 1.

>>> weights_prior([3, 1])
(0.287682072..., 1.386294361...)
>>> expect_kraft("prior", (0.1, 2.0))
Traceback (most recent call last):
dudley.core.errors.InputError: prior: expected weights that sum to at most 1, got a sum of 1.04
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.corpus import END, Alphabet
from dudley.core.errors import InputError
from dudley.core.rounding import up

SLACK = 1e-12  # nats, more than the rounding of a logarithm and of a normalised weight


def uniform_nats(count: int) -> float:
    """The price of one of ``count`` entries."""
    return float(up(math.log(count)))


def weights_prior(weights: Sequence[float]) -> tuple[float, ...]:
    """The prices of entries in proportion to their weights."""
    if not len(weights) or not all(0 < w < math.inf for w in weights):
        raise InputError("weights of a prior", "finite numbers > 0", list(weights)[:8])
    total = math.fsum(weights)
    return tuple(_priced(math.log(w / total)) for w in weights)


class TextModel(ABC):
    """Abstract: a language model as a prior over texts."""

    @property
    @abstractmethod
    def sha256(self) -> str:
        """Of all that decides its probabilities."""

    @abstractmethod
    def log_probability(self, text: str) -> float:
        """ln p(text, end): of the text and of its end after it."""


class CodedTextModel(TextModel):
    """Final: our own coded Transformer over an alphabet, for texts of fewer than T of its signs.

    A sign outside the alphabet is refused: all such signs share one symbol, and so several texts
    would share one probability.
    """

    def __init__(self, model: Coded, alphabet: Alphabet | None = None):
        self.model, self.alphabet = model, alphabet or Alphabet()
        if self.alphabet.V != model.gpt.V:
            raise InputError("alphabet", f"one of {model.gpt.V} symbols", self.alphabet.V)

    @property
    def sha256(self) -> str:
        return self.model.sha256

    def log_probability(self, text: str) -> float:
        T = self.model.gpt.T
        if len(text) >= T or not set(text) <= set(self.alphabet.signs):
            expected = f"fewer than {T} signs, each one of {self.alphabet.signs!r}"
            raise InputError("text", expected, repr(text))
        row = [self.alphabet.places[sign] for sign in text] + [END]
        codes = np.zeros((1, T), np.uint8)
        codes[0, : len(row)] = row
        bits = self.model.gpt.bits(self.model.weights, codes, np.array([len(row)]))
        return -float(bits[0]) * math.log(2)


def text_prior(model: TextModel, texts: Sequence[str]) -> tuple[float, ...]:
    """The prices of texts by a language model."""
    return tuple(_priced(model.log_probability(text)) for text in texts)


def expect_kraft(what: str, nats: Sequence[float]) -> None:
    """Refuse prices whose weights sum, or might sum, to more than 1."""
    from flint import arb, ctx

    if not all(isinstance(x, int | float) and 0 <= x < math.inf for x in nats):
        raise InputError(f"prices of {what}", "finite numbers of nats ≥ 0", "others")
    before, ctx.prec = ctx.prec, 128
    try:
        total = sum(((-arb(float(x))).exp() for x in nats), arb(0))
        small = bool(total <= 1)
    finally:
        ctx.prec = before
    if not small:
        got = f"a sum of {math.fsum(math.exp(-x) for x in nats):.3g}"
        raise InputError(what, "weights that sum to at most 1", got)


def _priced(log_weight: float) -> float:
    """Nats, rounded up by more than the error of the logarithm."""
    if not -math.inf < log_weight <= 1e-9:
        raise InputError("log-probability", "a finite number ≤ 0", log_weight)
    return float(up(max(0.0, -log_weight) * (1 + SLACK) + SLACK))
