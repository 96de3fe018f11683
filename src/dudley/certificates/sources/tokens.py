"""Texts as token ids, with the tokenizer of a model's folder (``tokenizer.json``).

A row has T ids, filled up with the pad id. Of a longer text, ``keep="head"`` takes the beginning;
``keep="ends"`` takes as many ids from its beginning as from its end. In both cases the signs that
the tokenizer sets around a text stay.

The tokenizer belongs to the model and has not seen the sample, if the model has not: a vocabulary
that was made from the sample would be a function of all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dudley.core.boundary import documents
from dudley.core.boundary.paths import inside
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError
from dudley.core.extras import missing

TOKENIZER = "tokenizer.json"
CONFIG = "tokenizer_config.json"
LONGEST = 1 << 16  # ids of a row
BATCH = 512  # texts encoded at once: their words take more memory than their ids
PADS = ("[PAD]", "<pad>")
KEEP = ("head", "ends")


def tokenised(
    texts: Sequence[str], folder: str | Path, T: int, keep: Literal["head", "ends"] = "head"
) -> np.ndarray:
    """Token ids (n, T), uint16 where the vocabulary allows it and int32 elsewhere."""
    if type(T) is not int or not 1 <= T <= LONGEST:
        raise InputError("T", f"1 to {LONGEST:,} ids for each text", T)
    if keep not in KEEP:
        raise InputError("keep", " or ".join(KEEP), keep)
    tokenizer, pad = _tokenizer(Path(folder))
    signs = tokenizer.num_special_tokens_to_add(False)
    if signs >= T:
        raise InputError("T", f"more than the {signs} signs around each text", T)
    narrow = tokenizer.get_vocab_size(with_added_tokens=True) <= 1 << 16
    ids = np.full((len(texts), T), pad, np.uint16 if narrow else np.int32)
    if keep == "head":
        tokenizer.enable_truncation(T)
    for begin in range(0, len(texts), BATCH):
        encodings = tokenizer.encode_batch(list(texts[begin : begin + BATCH]))
        for i, encoding in enumerate(encodings, begin):
            row = encoding.ids
            if len(row) > T:
                row = row[: T - T // 2] + row[len(row) - T // 2 :]
            ids[i, : len(row)] = row
    return ids


def _tokenizer(folder: Path) -> tuple[Any, int]:
    """The tokenizer, which neither cuts nor fills, and its pad id."""
    try:
        from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise missing("tokenizers", "texts as token ids", "hf") from None
    path = inside(folder, TOKENIZER)
    documents.read(path)  # its limits; what it means is for the library
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise refusal(path, "a tokenizer that this version of tokenizers reads", error) from None
    pad = _pad(folder, tokenizer)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, pad


def _pad(folder: Path, tokenizer: Any) -> int:
    """The id that fills a row: as the tokenizer pads, as its folder says, or by its usual names."""
    if tokenizer.padding is not None:
        return int(tokenizer.padding["pad_id"])
    names: list[str] = []
    if (folder / CONFIG).is_file():
        name = documents.read(inside(folder, CONFIG)).get("pad_token")
        names = [str(name.get("content") if isinstance(name, dict) else name)]
    ids = [tokenizer.token_to_id(name) for name in (*names, *PADS)]
    known = next((i for i in ids if i is not None), None)
    if known is None:
        expected = f"a pad_token in {CONFIG}, or {' or '.join(PADS)} in the vocabulary"
        raise refusal(folder, expected, "none")
    return known
