"""Files of language certificates: the model, and the documents it was made on.

**Model**: one safetensors file of schema ``dudley.language-model/1``. Its header holds the
architecture, the code word and what the decoder knows beside it; its tensors are the weights, which
must be what the word decodes to, bit for bit.

**Documents**: one ``.npz`` with ``codes`` (n, T) uint8, ``lengths`` (n,), ``signs`` (the alphabet,
a text), ``shortest`` (a number), and where it is known ``source`` (n,), the independent unit that
each document comes from: one that comes twice is refused.

Reading either executes nothing.

>>> import tempfile
>>> corpus = Corpus.of(["a cat sat", "the dog ran off"], ["cat", "dog"], T=12, shortest=4)
>>> with tempfile.TemporaryDirectory() as folder:
...     save_documents(corpus, f"{folder}/documents.npz")
...     documents(f"{folder}/documents.npz").sha256 == corpus.sha256
True
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates import tensors
from dudley.certificates.codes.base import same
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.methods.language.certificate import expect_sizes
from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.corpus import LONGEST, Alphabet, Corpus
from dudley.certificates.methods.language.gpt import Gpt
from dudley.core.boundary import archives
from dudley.core.errors import DudleyError, InputError

SCHEMA = "dudley.language-model/1"
HEADER = {"schema", "gpt", "code", "seed", "dimensions", "levels"}
ARRAYS = {"codes", "lengths", "signs", "shortest"}
MOST = 252  # symbols: 250 signs, the end, everything else


def save(model: Coded, path: str | Path) -> None:
    """Write the model file."""
    header = {
        "schema": SCHEMA,
        "gpt": model.gpt.to_json(),
        "code": model.word.to_json(),
        "seed": model.seed,
        "dimensions": list(model.dimensions),
        "levels": list(model.levels),
    }
    tensors.write(path, header, model.weights)


def load(path: str | Path) -> Coded:
    """Read the model file."""
    path = Path(path)
    header, arrays = tensors.read(path)
    if header.get("schema") != SCHEMA or set(header) != HEADER:
        raise InputError(path.name, f"a model file with the header {SCHEMA}", "a file without it")
    try:
        model = _read_model(header)
        decoded = model.weights
    except DudleyError:
        raise
    except Exception as error:  # values of a kind that no header has
        raise InputError(path.name, "an architecture and a code word", error) from None
    if not same(arrays, decoded):
        raise InputError(path.name, "the weights that its code word decodes to", "other weights")
    return model


def _read_model(header: dict[str, Any]) -> Coded:
    """The model of a header; sizes beyond the list are refused before anything is made of them."""
    gpt = Gpt(**header["gpt"])
    expect_sizes(gpt)
    if gpt.V > MOST or gpt.T > LONGEST:
        raise InputError(
            "V and T", f"up to {MOST} symbols, {LONGEST} of a document", (gpt.V, gpt.T)
        )
    lists = tuple(header["dimensions"]), tuple(header["levels"])
    return Coded(gpt, CodeWord.from_json(header["code"]), header["seed"], *lists)


def save_documents(corpus: Corpus, path: str | Path) -> None:
    """Write the documents file."""
    np.savez_compressed(
        path,
        codes=corpus.codes,
        lengths=corpus.lengths,
        signs=np.array(corpus.alphabet.signs),
        shortest=np.array(corpus.shortest),
    )


def documents(path: str | Path) -> Corpus:
    """Read the documents file."""
    path = Path(path)
    if not path.is_file():
        raise InputError("documents", "a file .npz", f"no file {path}")
    arrays = archives.arrays(path)
    if set(arrays) - {"source"} != ARRAYS:
        raise InputError(
            path.name, f"arrays {', '.join(sorted(ARRAYS))}", ", ".join(arrays) or "none"
        )
    signs, shortest = arrays["signs"], arrays["shortest"]
    if signs.shape != () or signs.dtype.kind != "U":
        raise InputError("signs", "one text", f"{signs.dtype} of shape {signs.shape}")
    if shortest.shape != () or shortest.dtype.kind not in "iu":
        raise InputError("shortest", "one whole number", f"{shortest.dtype} of {shortest.shape}")
    made = Corpus(arrays["codes"], arrays["lengths"], Alphabet(str(signs)), int(shortest))
    if "source" in arrays:
        _expect_sources(arrays["source"], made.n)
    return made


def _expect_sources(source: np.ndarray, n: int) -> None:
    if source.shape != (n,) or source.dtype.kind not in "iuUS":
        raise InputError("source", f"one name a document, ({n},)", f"{source.dtype} {source.shape}")
    if len(np.unique(source)) < n:
        raise InputError(
            "documents",
            "one for every source",
            f"{n} documents of {len(np.unique(source))} sources",
            "chunks of one document are one document: a bound counts independent units",
        )
