"""``dudley verify FOLDER --texts TEXT``: the checkpoints of a text pass, evaluated again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.cli.certify_language import BESIDE
from dudley.cli.progress import watch_steps
from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.certificates.verify import Verification


def verify_texts(
    certificate: dict[str, Any],
    folder: Path,
    texts: Path,
    part: int | None,
    start: Path | None,
    device: str | None,
) -> Verification:
    """Read the texts as the folder says that they were read, and evaluate all or a part."""
    from dudley.certificates.methods.prequential.recheck import PassPart
    from dudley.certificates.records import from_json
    from dudley.certificates.texts.reading import TextReading
    from dudley.certificates.texts.recheck import recheck_texts
    from dudley.core.boundary import documents as json_documents

    if certificate["method"] != "prequential" or not folder.is_dir():
        expected = "the folder of a pass over texts, for --texts"
        raise InputError("verify", expected, f"a certificate of {certificate['method']}")
    beside = next(
        (place / BESIDE for place in (folder, folder.parent) if (place / BESIDE).is_file()), None
    )
    if beside is None:
        raise InputError(str(folder), f"a folder of certify language, with {BESIDE}", "none")
    reading = json_documents.read(beside).get("reading")
    if not isinstance(reading, dict):
        raise InputError(str(beside), "a table of how the texts were read", "none")
    with watch_steps() as watch:
        watch.begin("reading")
        documents = from_json(TextReading, reading, "option", "the texts").documents(texts)
        watch.begin("evaluating the checkpoints")
        return recheck_texts(
            certificate, folder, documents, None if part is None else PassPart(part),
            start=None if start is None else str(start), device=device or "cpu",
        )  # fmt: skip
