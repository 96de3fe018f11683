"""Documents as the tokens of a byte-level tokenizer, which must give every text back.

A document is its tokens and then the token that ends texts, unless it was cut. A text may have
other tokens as well, so its probability is at least that of these. No text may hold the end: two
documents would have the same tokens, and their probabilities could exceed 1 together. A text that
is not UTF-8, or that the tokenizer does not give back as it was, is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dudley.certificates.texts.documents import END
from dudley.core.backend import torch
from dudley.core.errors import InputError


def token_batch(
    tokenizer: Any, documents: Sequence[bytes], end: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (n, T) of documents, filled up with the end, and how many each has."""
    rows = [tokens_of(tokenizer, document, end) for document in documents]
    lengths = [len(row) for row in rows]
    codes = np.full((len(rows), max(lengths)), end, np.int64)
    for place, row in zip(codes, rows, strict=True):
        place[: len(row)] = row
    return torch.from_numpy(codes), torch.tensor(lengths)


def tokens_of(tokenizer: Any, document: bytes, end: int) -> list[int]:
    """The tokens of a document."""
    whole = document.endswith(END)
    try:
        text = document.removesuffix(END).decode("utf-8")
    except UnicodeDecodeError as error:
        fix = "a model of bytes (gru, gpt) reads any"
        raise InputError("document", "a text in UTF-8", error, fix) from None
    tokens = tokenizer.encode(text, add_special_tokens=False).ids
    if tokenizer.decode(tokens, skip_special_tokens=False) != text:
        expected, fix = "one that gives every text back", "a tokenizer of bytes does"
        raise InputError("tokenizer", expected, f"another text for {text[:40]!r}", fix)
    if end in tokens:
        fix = "leave such documents out, or write the token in another way"
        raise InputError("document", "a text without the token that ends texts", text[:40], fix)
    return tokens + [end] * whole or [end]
