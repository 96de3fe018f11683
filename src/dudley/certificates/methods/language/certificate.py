"""The certificate of a coded language model: bits per symbol on a new document, at most.

With probability 1 − δ over the draw of n documents, for every architecture of the list, every code
word, every smoothing and every bet at once,

    E[ bits per symbol of the *smoothed* model on a new document ] ≤ value      (`bound`)

A document is what `corpus` says: at most T symbols of the declared alphabet, at least
``shortest``; the loss is averaged over its symbols, then over documents. The forward pass is
float64 numpy (`gpt`); losses are rounded up to multiples of 2⁻¹⁶ bits. With ``evaluated`` = n_s >
0 the losses of n_s documents are computed, drawn with replacement by a seed that is made of the
hashes of the model and of all documents, from their canonical order; δ is split, r = n_s/(n_s + n)
of it for the code and the rest for the draw.

Prices: the code word, the domain (alphabet and lengths, 85 bits), the architecture (17 bits), the
smoothing (one of 16), the bet. The draw pays again for what is chosen after a look at the drawn
documents: the smoothing, the bets, the place, and the method that is shown.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dudley.calculus.inversion import kl_upper
from dudley.certificates import order
from dudley.certificates.certificate import ASSUMED, Certificate
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.copies import expect_chance
from dudley.certificates.methods.language.bound import (
    BETS,
    bet,
    bet_at,
    bet_from_part,
    certified_from_part,
    part_price,
    places,
    sublora,
)
from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.corpus import Corpus, domains
from dudley.certificates.methods.language.declared import (
    GptSizes,
    LanguageChoices,
    LanguageDeclared,
    LanguageFacts,
    OtherForms,
    SmoothingFacts,
)
from dudley.certificates.methods.language.gpt import TOGETHER, Gpt
from dudley.certificates.methods.language.smoothing import ENTRIES, Smoothing
from dudley.certificates.price import Bill, Price, bits, one_of
from dudley.certificates.records import from_json, to_json
from dudley.core.errors import InputError
from dudley.core.rounding import up

NAME = "language"
QUANTITY = "expected bits per symbol of the smoothed model on a new document"
SIZES = {  # the architectures that a certificate may be about
    "d": range(4, 68, 4),
    "heads": (1, 2, 4, 8),
    "window": range(1, 17),
    "width": range(8, 264, 8),
    "layers": range(1, 5),
}
OWN = (
    "documents are independent draws, or drawn without replacement from the pool that is the "
    "population; each is counted once, whatever its length",
    "the number is about the smoothed model, in the float64 program of language.gpt",
)
DRAWN = (
    "the hashes of the model and of the documents, which seed the draw of evaluated documents, "
    "were not searched",
)


def certify(
    model: Coded, corpus: Corpus, choices: LanguageChoices | None = None, **declared: Any
) -> Certificate[LanguageDeclared, LanguageChoices, LanguageFacts]:
    """The certificate; without ``choices`` the best entries are looked for first."""
    return certify_declared(
        model, corpus, from_json(LanguageDeclared, declared, "declaration", NAME), choices
    )


def certify_declared(
    model: Coded, corpus: Corpus, declared: LanguageDeclared, choices: LanguageChoices | None
) -> Certificate[LanguageDeclared, LanguageChoices, LanguageFacts]:
    """The same, of what is declared as a record."""
    declared = of_model(model, declared)
    if (model.gpt.V, model.gpt.T) != (corpus.V, corpus.T):
        raise InputError("corpus", f"V = {model.gpt.V}, T = {model.gpt.T}", (corpus.V, corpus.T))
    n, n_s, delta = corpus.n, declared.evaluated, declared.delta
    if not 0 <= n_s <= n:
        raise InputError("evaluated", f"0 (all) to {n} documents", n_s)
    expect_chance(corpus.counts, "documents")
    symbols, lengths = evaluate_documents(model, corpus, n_s)
    bill = Bill(delta, prices(model, corpus, n_s, declared.among))
    c = float(up(bill.log_confidence / n))
    c_part = 0.0
    if n_s:  # (1 − r)δ for the draw, at each entry of every list that is chosen from after it
        of_lists = part_price() + math.log(len(ENTRIES) * declared.among)
        c_part = float(up((of_lists - math.log(delta * n / (n_s + n))) / n_s, 8))
    if choices is None:
        choices = _choose(model, symbols, lengths, corpus, c, c_part)
    if {choices.place is None, choices.second is None} != {n_s == 0}:
        expected = "place and second where part of the documents are evaluated, and only there"
        raise InputError("choices of language", expected, to_json(choices))
    # The word and the sizes are those of the model, whatever a file says: then they differ.
    choices = replace(choices, code=model.word, gpt=_sizes(model.gpt))
    s = _entry(ENTRIES, choices.smoothing, "smoothing")
    x, B = s.losses(symbols, lengths, corpus.V), s.limit(corpus.V, corpus.shortest)
    value = _value(x, B, c, c_part, choices)
    mean, word = float(x.mean()), model.word.length
    Δ = s.range(corpus.V, corpus.shortest)
    facts = LanguageFacts(
        n=n,
        evaluated=n_s or n,
        mean_loss=mean,
        standard_deviation=round(float(x.std()), 6),
        largest_loss=float(x.max()),
        limit=B,
        bits=word,
        code=model.kind,
        smoothing=SmoothingFacts(s.kind, s.α),
        other_forms=OtherForms(
            sublora=sublora(mean, Δ, word, n, delta, n_s or None),
            kl=None if n_s else float(up(B * kl_upper(float(up(mean / B)), c))),
        ),
    )
    return Certificate(
        method=NAME,
        value=value,
        bill=bill,
        declared=declared,
        choices=choices,
        facts=facts,
        model={"sha256": model.sha256, "weights": sum(W.size for W in model.weights.values())},
        data={
            "sha256": corpus.sha256,
            "n": n,
            "V": corpus.V,
            "longest": corpus.T,
            "shortest": corpus.shortest,
            "signs": corpus.alphabet.signs,
            **({"repeated": corpus.repeated} if corpus.repeated else {}),
        },
        baseline={
            "worst": corpus.uniform(),
            "error_at_least": corpus.unigram_at_least(delta),
            "unigram": round(corpus.unigram(), 9),
        },
        declarations=ASSUMED + OWN + (DRAWN if n_s else ()) + _repetition_declared(corpus),
        quantity=QUANTITY,
        advice=_advice(x, B, bill, n, word, value, corpus) if not n_s else (),
    )


def _repetition_declared(corpus: Corpus) -> tuple[str, ...]:
    """What a reader must know of documents that come twice."""
    if not corpus.repeated:
        return ()
    return (f"{corpus.repeated:,} documents equal an earlier one: independent draws none the less",)


def of_model(model: Coded, declared: LanguageDeclared) -> LanguageDeclared:
    """What is declared, with what the model says of itself; anything else of it is refused."""
    facts: dict[str, Any] = {
        name: getattr(model, name) for name in ("seed", "dimensions", "levels")
    }
    facts |= {"V": model.gpt.V, "T": model.gpt.T}
    for name, value in facts.items():
        if getattr(declared, name) not in (None, value):
            raise InputError(name, f"that of the model, {value}", getattr(declared, name))
    return replace(declared, **facts)


def evaluate_documents(model: Coded, corpus: Corpus, n_s: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """−log₂ p of the symbols (T, documents), and lengths: of all, or of n_s drawn by the hashes."""
    rows = np.arange(corpus.n)
    if n_s:
        seed = f"evaluated documents {model.sha256} {corpus.sha256}"
        rows = corpus.order[order.draw(seed, n_s, corpus.n)]
    codes = corpus.codes[rows].astype(np.int64)
    parts = [
        model.gpt.losses(model.weights, codes[i : i + TOGETHER])
        for i in range(0, len(rows), TOGETHER)
    ]
    return np.concatenate(parts, axis=1), corpus.lengths[rows]


def expect_sizes(gpt: Gpt) -> None:
    """Refuse an architecture that is not of the list."""
    for name, known in SIZES.items():
        if getattr(gpt, name) not in known:
            raise InputError(f"{name} of the Transformer", f"one of {known}", getattr(gpt, name))


def prices(model: Coded, corpus: Corpus, n_s: int, among: int) -> tuple[Price, ...]:
    """What is paid for."""
    expect_sizes(model.gpt)
    word, n = model.word.length, corpus.n
    paid = [
        bits("code", word, f"{word} bits, {model.kind}"),
        one_of("domain", domains(corpus.alphabet, corpus.T), "alphabet and lengths"),
        one_of("architecture", math.prod(map(len, SIZES.values()))),
        one_of("smoothing", len(ENTRIES)),
        one_of("bet", len(BETS)),
    ]
    if n_s:
        paid.append(Price("draw", float(up(math.log((n_s + n) / n_s))), f"δ·{n_s}/{n_s + n}"))
    if among > 1:
        paid.append(one_of("method", among))
    return tuple(paid)


def held_out(model: Coded, smoothing: Smoothing, corpus: Corpus, delta: float) -> dict[str, float]:
    """The mean loss on documents that training did not see, and the bound from them alone."""
    symbols, lengths = evaluate_documents(model, corpus)
    x = smoothing.losses(symbols, lengths, corpus.V)
    c = (math.log(len(BETS)) - math.log(delta)) / corpus.n
    value, _ = bet(x, smoothing.limit(corpus.V, corpus.shortest), float(up(c)))
    return {"n": corpus.n, "mean_loss": float(x.mean()), "at_most": value}


def decode_model(file: dict[str, Any], corpus: Corpus) -> Coded:
    """The model that a certificate's JSON holds."""
    declared, choices = file["declared"], file["choices"]
    return Coded(
        Gpt(corpus.V, corpus.T, **choices["gpt"]),
        CodeWord.from_json(choices["code"]),
        declared["seed"],
        tuple(declared["dimensions"]),
        tuple(declared["levels"]),
    )


def recheck(file: dict[str, Any], corpus: Corpus) -> list[str]:
    """The fields of a certificate's JSON that differ when all is computed again from the corpus.

    The model is decoded from the file's own code word.
    """
    declared = from_json(LanguageDeclared, file["declared"], "declaration", NAME)
    choices = from_json(LanguageChoices, file["choices"], "choice", NAME)
    again = certify_declared(decode_model(file, corpus), corpus, declared, choices).to_json()
    names = (set(file) | set(again)) - {"provenance"}
    return sorted(name for name in names if file.get(name) != again.get(name))


def _choose(
    model: Coded, symbols, lengths, corpus: Corpus, c: float, c_part: float
) -> LanguageChoices:
    """The smoothing and the bets that give the least number."""
    best = None
    for i, s in enumerate(ENTRIES):
        x, B = s.losses(symbols, lengths, corpus.V), s.limit(corpus.V, corpus.shortest)
        value, g = bet(x, B, c)
        if best is None or value < best[0]:
            best = (value, i, g, x, B)
    assert best is not None
    _, i, g, x, B = best
    alone = LanguageChoices(model.word, _sizes(model.gpt), i, BETS.index(g))
    if not c_part:
        return alone
    at = bet_from_part(x, B, c, c_part)
    if at is None:
        return replace(alone, place=len(places(B)), second=0)
    m, g, g2 = at
    place = int(np.searchsorted(places(B), m))
    return replace(alone, bet=BETS.index(g), place=place, second=BETS.index(g2))


def _value(x, B: float, c: float, c_part: float, choices: LanguageChoices) -> float:
    g = _entry(BETS, choices.bet, "bet")
    if not c_part:
        return bet_at(x, B, c, g)
    if choices.place == len(places(B)):
        return B
    m, g2 = float(_entry(places(B), choices.place, "place")), _entry(BETS, choices.second, "second")
    if not certified_from_part(x, B, c, c_part, g, g2, m):
        raise InputError("place", "one that the evaluated documents certify", m)
    return m


def _entry(entries, at: int | None, name: str):
    if at is None or not 0 <= at < len(entries):
        raise InputError(name, f"an entry of the list, 0 to {len(entries) - 1}", at)
    return entries[at]


def _sizes(gpt: Gpt) -> GptSizes:
    return GptSizes(**{name: getattr(gpt, name) for name in SIZES})


def _advice(x, B, bill: Bill, n: int, word: int, value: float, corpus: Corpus) -> tuple[str, ...]:
    """Why the number is what it is, and what would lower it, each computed."""
    c, mean = bill.log_confidence, float(x.mean())
    half = bet(x, B, (c - bits("", word / 2).nats) / n)[0]
    double = bet(x, B, c / (2 * n))[0]
    uniform, unigram = corpus.uniform(), corpus.unigram()
    least = corpus.unigram_at_least(bill.delta)
    against = "vacuous: not below" if value >= min(uniform, least) else "below"
    return (
        f"{mean:.3f} bits per symbol on {n} documents, {word} bits of code: {value:.3f}; "
        f"{against} the {unigram:.3f} of symbol frequencies, at least {least:.3f} on new documents "
        f"({uniform:.3f} for guessing)",
        f"half the bits, the same losses: {half:.3f}",
        f"twice the documents, the same losses: {double:.3f}",
    )
