"""``bpe:TEXTS``: the causal Transformer of `gpt`, over tokens that were learnt from other texts.

A byte-level BPE of ``vocabulary`` tokens is learnt from TEXTS, a folder or a file as `reading` has
it, before the pass. They must not be those of the pass: a tokenizer of the whole corpus knows what
is to come. Whoever evaluates checkpoints learns it again from the same texts, and its hash must be
the one that is declared.

A document is its tokens and an end (`tokens`); its bits are per byte, as those of any other model.
The context counts tokens, and a document has no more of them than bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dudley.certificates.records import from_json
from dudley.certificates.texts.base import MODELS, DocumentModel, TextBatch
from dudley.certificates.texts.models.gpt import ByteGpt, TextGpt, windowed_nats
from dudley.certificates.texts.reading import texts_of
from dudley.certificates.texts.tokens import token_batch
from dudley.certificates.trainings.base import expect_number
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.extras import expect_installed

STOP = "<|end|>"


@dataclass(frozen=True, kw_only=True)
class BpeSizes:
    """What a user sets: the sizes of `gpt`, and how many tokens there are."""

    vocabulary: int = 1024
    d: int = 128
    layers: int = 2
    heads: int = 4
    hidden: int = 4
    context: int = 1024


@MODELS.register("bpe")
@dataclass(frozen=True, kw_only=True)
class TextBpe(DocumentModel):
    """Final: sizes, and the tokenizer by its hash."""

    name = "bpe"

    sha256: str
    sizes: BpeSizes
    texts: str = field(default="", compare=False, repr=False)

    def __post_init__(self):
        expect_number("vocabulary", self.sizes.vocabulary, 257, 1 << 20)
        _ = self.shape

    @property
    def shape(self) -> TextGpt:
        """The Transformer."""
        sizes = self.sizes
        return TextGpt(
            d=sizes.d, layers=sizes.layers, heads=sizes.heads, hidden=sizes.hidden,
            context=sizes.context,
        )  # fmt: skip

    @classmethod
    def from_folder(cls, folder: str, settings: Mapping[str, Any]) -> TextBpe:
        """Learn the tokens from the texts of a folder or a file."""
        expect_installed("tokenizers", "a byte-level BPE", "hf")
        if isinstance(settings.get("sizes"), Mapping):  # as a table has them
            settings = settings["sizes"]
        sizes = from_json(BpeSizes, settings, "setting", "bpe")
        return cls(sha256=_digest(_learnt(folder, sizes.vocabulary)), sizes=sizes, texts=folder)

    def table(self) -> dict[str, Any]:
        """Without the place of the texts."""
        return {name: value for name, value in super().table().items() if name != "texts"}

    @cached_property
    def tokenizer(self) -> Any:
        """Learnt again; other texts are refused."""
        from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]

        learnt = _learnt(self.texts, self.sizes.vocabulary)
        if _digest(learnt) != self.sha256:
            raise InputError(self.texts, "the texts that the tokens were learnt from", "others")
        return Tokenizer.from_str(learnt)

    @property
    def symbols(self) -> int:
        return self.sizes.vocabulary

    def make(self) -> torch.nn.Module:
        return ByteGpt(self.shape, self.symbols)

    def read(self, documents: Sequence[bytes]) -> TextBatch:
        return token_batch(self.tokenizer, documents, 0)

    def nats(self, module: torch.nn.Module, batch: TextBatch) -> torch.Tensor:
        return windowed_nats(module, *batch, self.shape.context)  # 0 is the end

    def expect(self, longest: int) -> None:
        self.shape.expect(longest)


def _learnt(texts: str, vocabulary: int) -> str:
    """The tokenizer as JSON; token 0 is the end."""
    from tokenizers import ByteLevelBPETokenizer  # pyright: ignore[reportMissingImports]

    lines = (text.decode("utf-8", "replace") for text in texts_of(Path(texts)))
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(lines, vocabulary, 2, False, [STOP])
    return tokenizer.to_str()


def _digest(learnt: str) -> str:
    return hashlib.sha256(learnt.encode()).hexdigest()
