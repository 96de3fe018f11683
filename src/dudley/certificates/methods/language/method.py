"""The method ``language``: `.certificate` as others are called, so that `verify` can.

Its model is a :class:`~dudley.certificates.methods.language.coded.Coded`, its data a
:class:`~dudley.certificates.methods.language.corpus.Corpus` of documents. The certificate names the
model's own code word and sizes among its choices, and V and T among what was declared. ``auto``
never stands for it: its data are no examples.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dudley.certificates.base import Method, method
from dudley.certificates.certificate import Certificate
from dudley.certificates.methods.language import certificate, files
from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.corpus import Corpus
from dudley.certificates.methods.language.declared import (
    LanguageChoices,
    LanguageDeclared,
    LanguageFacts,
)
from dudley.core.errors import InputError


@method
class LanguageMethod(Method[LanguageDeclared, LanguageChoices]):
    """Bits per symbol of a coded model on a new document."""

    name = certificate.NAME
    declares = LanguageDeclared
    chooses = LanguageChoices

    def expect(self, model: Any) -> None:
        """Refuse anything but a coded language model."""
        if not isinstance(model, Coded):
            fix = "dudley.certificates.methods.language.fit trains one"
            raise InputError("model for language", "a coded one", type(model).__name__, fix)

    def expect_independent(self, model: Coded, data: Any, declared: LanguageDeclared) -> None:
        """Refuse what is no corpus; the certificate itself refuses copies beyond chance."""
        if not isinstance(data, Corpus):
            raise InputError("data for language", "documents", type(data).__name__)

    def choose(self, model: Coded, data: Corpus, declared: LanguageDeclared) -> LanguageChoices:
        """The smoothing and the bets that give the least number, and the model's own word."""
        return certificate.certify_declared(model, data, declared, None).choices

    def certify(
        self, model: Coded, data: Corpus, declared: LanguageDeclared, choices: LanguageChoices
    ) -> Certificate[LanguageDeclared, LanguageChoices, LanguageFacts]:
        """The certificate."""
        return certificate.certify_declared(model, data, declared, choices)

    def read_model(self, path: str | Path) -> Coded:
        """The coded model of a file."""
        return files.load(path)

    def read_data(self, path: str | Path) -> Corpus:
        """The documents of a file."""
        return files.documents(path)
