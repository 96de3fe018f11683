"""The coded certificate of the same documents: a small Transformer that pays for every bit.

What certified language models before one pass was a code: the weights are written in few bits, and
the bound pays for them (`methods.language`). Here such a model is trained on all documents that the
pass reads, and certified from them, so that both stand side by side. It reads another alphabet:
small letters and a few signs, 32 symbols with the end and "any other", and at most 256 of them. So
its numbers are bits per *symbol*, which are fewer than those of the bytes they stand for. Equal
texts are taken once.

The folder has a certificate, a model and documents of its own, which `dudley verify` checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dudley.certificates.certificate import Certificate
from dudley.certificates.methods.language import files
from dudley.certificates.methods.language.certificate import certify
from dudley.certificates.methods.language.corpus import LONGEST, Corpus
from dudley.certificates.methods.language.fit import CodeTraining, fit
from dudley.certificates.methods.language.gpt import Gpt
from dudley.certificates.texts.documents import END
from dudley.core.errors import InputError
from dudley.core.files import written

CODED = "coded"
CERTIFICATE, MODEL, DOCUMENTS = "certificate.json", "model.safetensors", "documents.npz"


def symbol_corpus(texts: Sequence[bytes], longest: int, shortest: int) -> Corpus:
    """The documents in 32 symbols, each text once; those that are shorter so are left out.

    >>> symbol_corpus([b"The Cat sat\\0", b"a dog ran\\0", b"a dog ran\\0"], 64, 4).n
    2
    """
    whole = dict.fromkeys(text.removesuffix(END).decode("utf-8", "replace") for text in texts)
    T = min(longest, LONGEST)
    long = [text for text in whole if min(len(text) + 1, T) >= shortest]
    if len(long) < 2:
        raise InputError("documents", f"at least 2 of {shortest} symbols", len(long))
    return Corpus.of(long, [str(i) for i in range(len(long))], T, min(shortest, T))


def certify_coded(
    texts: Sequence[bytes],
    longest: int,
    shortest: int,
    folder: Path,
    *,
    steps: int,
    delta: float,
    among: int,
    population: str = "",
    say: Callable[[str], None] = lambda line: None,
) -> Certificate:
    """Train a coded model on the texts, certify it, and write its folder."""
    corpus = symbol_corpus(texts, longest, shortest)
    gpt = Gpt(corpus.V, corpus.T, 24, 4, 8, 96, 1)
    recipe = CodeTraining(steps=steps, q=4, shrink=0.03)
    model = fit(gpt, corpus, recipe, lambda step, loss: say(f"step {step:,}: {loss:.3f} bits"))
    words = "; ".join(filter(None, [population, "different texts, in 32 symbols"]))
    certificate = certify(model, corpus, delta=delta, among=among, population=words)
    folder.mkdir(parents=True, exist_ok=True)
    files.save(model, folder / MODEL)
    files.save_documents(corpus, folder / DOCUMENTS)
    with written(folder / CERTIFICATE) as file:
        file.write_text(certificate.text(), encoding="utf-8")
    return certificate
