"""The method ``language``: `certificate.certify` as others are called, so that `verify` can.

Its model is a :class:`~dudley.certificates.methods.language.coded.Coded`, its data a
:class:`~dudley.certificates.methods.language.corpus.Corpus` of documents; the certificate names the
model's own code word and sizes among its choices, and V and T among what was declared. It is not
among the methods that are tried on examples (`dudley.certificates.auto`): its data are of another
kind.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dudley.certificates.base import COMMON, Method
from dudley.certificates.certificate import Certificate
from dudley.certificates.methods.language import certificate
from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.corpus import Corpus
from dudley.core.errors import InputError

OF_MODEL = {"gpt.V": "V", "gpt.T": "T"}


class Language(Method):
    """Bits per symbol of a coded model on a new document."""

    name = certificate.NAME
    DECLARED: ClassVar[dict[str, Any]] = {
        name: value for name, value in certificate.DECLARED.items() if name not in COMMON
    } | dict.fromkeys(OF_MODEL)

    def expect(self, model: Any) -> None:
        """Refuse anything but a coded language model."""
        if not isinstance(model, Coded):
            fix = "dudley.certificates.methods.language.fit trains one"
            raise InputError("model for language", "a coded one", type(model).__name__, fix)

    def expect_independent(self, model: Coded, data: Any, declared: dict[str, Any]) -> None:
        """Refuse what is no corpus; the certificate itself refuses copies beyond chance."""
        if not isinstance(data, Corpus):
            raise InputError("data for language", "documents", type(data).__name__)

    def choose(self, model: Coded, data: Any, declared: dict[str, Any]) -> dict[str, Any]:
        """The smoothing and the bets that give the least number, and the model's own word."""
        return _certified(model, data, declared, None).choices

    def certify(
        self, model: Coded, data: Any, declared: dict[str, Any], choices: dict[str, Any]
    ) -> Certificate:
        """The certificate."""
        rest = {name: value for name, value in choices.items() if name not in ("code", "gpt")}
        return _certified(model, data, declared, rest)


def _certified(
    model: Coded, data: Any, declared: dict[str, Any], choices: dict[str, Any] | None
) -> Certificate:
    for name, field in OF_MODEL.items():
        own = getattr(model.gpt, field)
        if declared[name] not in (None, own) or isinstance(declared[name], bool):
            raise InputError(name, f"that of the model, {own}", declared[name])
    told = {name: value for name, value in declared.items() if name not in OF_MODEL}
    return certificate.certify(model, data, choices, **told)
