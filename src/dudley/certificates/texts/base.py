"""What a model of texts is: settings, a module, and −ln p of every symbol of a document.

``read(documents)`` makes codes and lengths of a batch, padded at its end. ``nats(module, batch)``
gives −ln p of every symbol under the module, of which the training takes gradients. Documents of
other lengths in the same batch must not change it: padding stands after all that counts, and no
model looks ahead. Symbols are bytes or tokens. A model of tokens gives −ln p of the tokens of a
text; there may be other tokens of the same text, so the text has at least that probability.

A model is a frozen dataclass with ``@MODELS.register("name")`` in a file of ``texts/models``.

>>> model_of("gru", {"d": 8}).table()
{'name': 'gru', 'd': 8, 'layers': 1, 'orders': [2, 3, 4, 5, 6], 'bits': 16}
>>> model_of("gru", {"width": 8})
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown setting of gru 'width'; known: bits, d, layers, orders
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from dudley.certificates.records import from_json, to_json
from dudley.core.backend import torch
from dudley.core.errors import InputError, UnknownName
from dudley.core.registry import Registry

TextBatch = tuple[torch.Tensor, torch.Tensor]  # codes and lengths
MODELS: Registry[type[DocumentModel]] = Registry(
    "model of texts", "dudley.certificates.texts.models.{name}"
)


@dataclass(frozen=True, kw_only=True)
class DocumentModel(ABC):
    """Abstract: settings, a module, and how it reads documents."""

    name: ClassVar[str]

    def table(self) -> dict[str, Any]:
        """All that declares it, as plain data."""
        return {"name": self.name} | {f.name: to_json(getattr(self, f.name)) for f in fields(self)}

    @abstractmethod
    def make(self) -> torch.nn.Module:
        """The start."""

    @abstractmethod
    def read(self, documents: Sequence[bytes]) -> TextBatch:
        """Codes (n, T) and lengths (n,) of documents."""

    @abstractmethod
    def nats(self, module: torch.nn.Module, batch: TextBatch) -> torch.Tensor:
        """−ln p of every symbol, (n, T); 0 after the end."""

    @property
    def symbols(self) -> int:
        """How many symbols there are."""
        return 256

    def expect(self, longest: int) -> None:
        """Refuse documents that are longer than the model can read; without a context none is."""
        context = getattr(self, "context", longest)
        if longest > context:
            fix = f"--longest {context}, or --set context={longest} (gpt: or --set windows=true)"
            raise InputError("documents", f"up to the context, {context} bytes", longest, fix)

    @classmethod
    def from_folder(cls, folder: str, settings: Mapping[str, Any]) -> DocumentModel:
        """The model whose shape or weights a folder has."""
        raise InputError("model", f"{cls.name} alone: it begins at random weights", folder)


def model_of(spec: str, settings: Mapping[str, Any]) -> DocumentModel:
    """The model of a name as a user writes it: ``gru``, ``gpt``, ``hf:FOLDER``."""
    name, colon, folder = spec.partition(":")
    if name not in MODELS:
        raise UnknownName("model of texts", name, MODELS, all_named=True)
    kind = MODELS[name]
    return (
        kind.from_folder(folder, settings) if colon else from_json(kind, settings, "setting", name)
    )
