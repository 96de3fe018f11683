"""``dudley certify language``: texts to a model trained in one pass, its certificates, a folder.

The folder holds the certificate of the mean over documents with its journal and the hashes of the
documents, the same for totals (and for symbols, where it is asked for) in folders below, and what
stands beside them. While the pass goes on it holds its state: after a kill the same command goes
on from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.cli.output import print_document, print_json
from dudley.cli.progress import watch_steps
from dudley.core.errors import InputError
from dudley.core.files import written

if TYPE_CHECKING:
    from dudley.certificates.certificate import Certificate
    from dudley.certificates.texts.documents import Documents
    from dudley.certificates.texts.forms import TextPass
    from dudley.certificates.texts.one_pass import CertifiedTexts
    from dudley.certificates.texts.reading import TextReading

BESIDE = "beside.json"
NAMES = {
    "mean": "mean over documents",
    "totals": "all bits over all bytes (totals)",
    "tokens": "symbols, mean over the sampled contexts",
    "coded": "coded model, bits per symbol of 32 (mean over documents)",
}


@dataclass(frozen=True)
class TextOptions:
    """What the command line says of texts and of the model."""

    path: Path
    reading: TextReading
    model: str
    settings: Mapping[str, Any]
    device: str
    out: Path


def certify_language(options: TextOptions, declared: TextPass, as_json: bool) -> None:
    """Read, train, certify, write the folder, and print what came out."""
    from dudley.certificates.texts.base import model_of
    from dudley.certificates.texts.one_pass import certify_texts

    descent, settings = _descent(options.settings)
    other = options.model.partition(":")[2]
    if other and Path(other).resolve() == options.path.resolve():
        fix = "a tokenizer of the texts of the pass knows what is to come"
        raise InputError("--model", "other texts, for its tokens", options.path, fix)
    model = model_of(options.model, settings)
    model.expect(options.reading.longest)
    with watch_steps() as watch:
        watch.begin("reading")
        documents = options.reading.documents(options.path)
        watch.begin("one pass")
        result = certify_texts(
            model, documents, options.out, declared, descent,
            device=options.device, say=watch.say,
        )  # fmt: skip
        watch.begin("compressing the same documents")
        result.beside  # noqa: B018
    _keep_beside(result, documents, options.reading, options.out / BESIDE)
    if as_json:
        items = [certificate.to_json() for certificate in result.certificates.values()]
        print_json("certificates", items)
        return
    _print(result, documents, options.out)


def _descent(settings: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The settings of the training, and those of the model."""
    from dudley.certificates.records import from_json
    from dudley.certificates.texts.learner import TextDescent

    known = TextDescent.__dataclass_fields__
    table = {name: value for name, value in settings.items() if name in known}
    rest = {name: value for name, value in settings.items() if name not in known}
    return from_json(TextDescent, table, "setting", "the training"), rest


def _keep_beside(
    result: CertifiedTexts, documents: Documents, reading: TextReading, path: Path
) -> None:
    counts = {name: getattr(documents, name) for name in ("n", "cut", "short", "copies")}
    table = {
        "documents": counts,
        "reading": asdict(reading),
        "stretch": {"documents": len(result.stretch), "bytes": sum(map(len, result.stretch))},
        "weights": result.weights,
        "bits_per_byte": [asdict(row) for row in result.beside],
    }
    text = json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with written(path) as file:
        file.write_text(text, encoding="utf-8")


def _counted(certificate: Certificate) -> int:
    """Units of a stretch, or the documents that a coded model was evaluated on."""
    facts = certificate.facts
    return facts.evaluated if certificate.method == "language" else facts.counted


def _print(result: CertifiedTexts, documents: Documents, out: Path) -> None:
    """The certificates, and what stands beside them, in bits per byte."""
    from dudley.core.rounding import ceiling
    from dudley.show.document import Cell, Document, Listing, Prose, Section, Table

    certificates = result.certificates
    delta = certificates["mean"].declared.delta
    facts = certificates["mean"].facts
    rows = [
        [
            NAMES[form],
            Cell(ceiling(certificate.value), certificate.value),
            Cell(f"{certificate.facts.mean_loss:.4f}", certificate.facts.mean_loss),
            Cell(f"{(n := _counted(certificate)):,}", n),
        ]
        for form, certificate in certificates.items()
    ]
    beside = [
        [
            row.name,
            Cell("–") if row.mean is None else Cell(f"{row.mean:.3f}", row.mean),
            Cell(f"{row.totals:.3f}", row.totals),
        ]
        for row in result.beside
    ]
    left = f"{documents.n:,} documents of {documents.shortest} to {documents.longest} bytes"
    left += f" ({documents.cut:,} cut, {documents.short:,} shorter ones left out"
    left += f", {documents.copies:,} copies left out)" if documents.copies else ")"
    which = f"{result.weights:,}-weight models before the last {facts.counted:,} documents"
    model = (
        f"a model that is drawn for every document from the {which} of {facts.units:,}, on a "
        "document that had not come before"
        if documents.distinct
        else f"the mixture of the {which} of {facts.units:,}"
    )
    apart = "; the coded one is about a model of its own" * ("coded" in certificates)
    apart += ", and for symbols each model in the contexts that it met" * ("tokens" in certificates)
    about = (
        f"With probability at least {1 - delta:g} all of them hold together, for {model}{apart}; "
        "not for the last model."
    )
    check = "\n".join(
        [f"wrote {out}; check it: dudley verify {out}"]
        + [f"dudley verify {out / form}" for form in certificates if form != "mean"]
        + [f"dudley verify {out} --texts TEXT  # evaluates the checkpoints again"]
        * (facts.checkpoints > 0)
    )
    print_document(
        Document(
            "",
            (
                Section("", (Prose(left),)),
                Section("", (Table.of(["bits per byte", "at most", "measured", "units"], rows),)),
                Section("", (Prose(about),)),
                Section("", (Table.of(["the same documents", "mean", "totals"], beside),)),
                Section("", (Listing(check),)),
            ),
        )
    )
