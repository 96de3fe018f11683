"""Files dropped on the page: measured or verified on this machine, then deleted.

What comes is the bytes of all files one after the other; the address says their names and sizes.
Only plain weights (safetensors), arrays (npz) and JSON are taken: readers of the library that
refuse what is damaged or hostile and execute nothing. A name is used only if it is a plain one.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from dudley.core.boundary import documents, limits
from dudley.core.boundary.paths import is_plain
from dudley.core.errors import InputError
from dudley.show.as_html import fragment
from dudley.show.pages import certificate, measurement
from dudley.show.pages.read import built, is_certificate
from dudley.show.pages.stamp import Stamp, stamped

ENDINGS = (".safetensors", ".npz", ".json")
MOST = 8  # files at once
TOGETHER = (
    "Drop the model (.safetensors) and the data (.npz) together with the certificate, and every "
    "field is computed again."
)
_PART = re.compile(r"(.+):([0-9]{1,15})")


def read_announcement(texts: Sequence[str], limit: int) -> list[tuple[str, int]]:
    """Names and sizes as the address says them, refused before a byte is read.

    >>> read_announcement(["model.safetensors:1008", "config.json:296"], 10_000)
    [('model.safetensors', 1008), ('config.json', 296)]
    >>> read_announcement(["../../x.json:5"], 10_000)
    Traceback (most recent call last):
    dudley.core.errors.InputError: file: expected a plain name, ... got '../../x.json'
    """
    if not 1 <= len(texts) <= MOST:
        raise InputError("files", f"1 to {MOST}", len(texts))
    parts: list[tuple[str, int]] = []
    for text in texts:
        match = _PART.fullmatch(text)
        if match is None:
            raise InputError("file", "NAME:BYTES", repr(text))
        name, size = match[1], int(match[2])
        if not is_plain(name):
            raise InputError("file", "a plain name, letters, digits, . _ -", repr(name))
        if Path(name).suffix not in ENDINGS:
            raise InputError(name, f"a file that ends in {', '.join(ENDINGS)}", Path(name).suffix)
        if name.endswith(".json") and size > limits.JSON_BYTES:
            expected = f"at most {limits.JSON_BYTES >> 20} MiB of JSON"
            raise InputError(name, expected, f"{size:,} bytes")
        if name in dict(parts):
            raise InputError("files", "different names", f"{name} twice")
        parts.append((name, size))
    total = sum(size for _, size in parts)
    if total > limit:
        raise InputError("files", f"at most {limit >> 20} MiB together", f"{total:,} bytes")
    return parts


async def receive(
    parts: Sequence[tuple[str, int]], stream: AsyncIterator[bytes], folder: Path
) -> None:
    """Write the stream into the files that were announced; more or fewer bytes are refused."""
    rest, wanted = b"", list(parts)
    chunks = aiter(stream)
    for name, size in wanted:
        with (folder / name).open("xb") as file:
            while size:
                if not rest:
                    try:
                        rest = await anext(chunks)
                    except StopAsyncIteration:
                        raise InputError(name, f"{size:,} more bytes", "the end") from None
                taken, rest = rest[:size], rest[size:]
                size -= file.write(taken)
    while not rest:
        try:
            rest = await anext(chunks)
        except StopAsyncIteration:
            return
    raise InputError("files", "as many bytes as announced", "more")


def look_at(folder: Path, layout: str | None = None, heads: int | None = None) -> dict[str, Any]:
    """What the files in a folder are: a certificate is verified, weights are measured."""
    dropped = _certificate(folder)
    if dropped is not None:
        return _page_of_certificate(folder, *dropped)
    weights = sorted(folder.glob("*.safetensors"))
    if len(weights) != 1:
        wanted = "one certificate (.json), or one file of weights (.safetensors)"
        raise InputError("files", wanted, f"{len(weights)} of weights and no certificate")
    return _page_of_checkpoint(folder, weights[0], layout, heads)


def _certificate(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """The certificate among the files, if there is one."""
    certificates = []
    for path in sorted(folder.glob("*.json")):
        record = documents.read(path)
        if is_certificate(record):
            certificates.append((path, certificate.checked(record)))
    if len(certificates) > 1:
        raise InputError("files", "one certificate", len(certificates))
    return certificates[0] if certificates else None


def _page_of_certificate(folder: Path, path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Its page: verified where the model and the data came with it, else what it claims."""
    models, data = sorted(folder.glob("*.safetensors")), sorted(folder.glob("*.npz"))
    whole = len(models) == len(data) == 1
    stamp = stamped(record, models[0], data[0]) if whole else Stamp(fix=TOGETHER)
    kind = "verification" if whole else "certificate"
    about = {"kind": kind, "file": path.name} | stamp.to_json()
    return about | fragment(built("certificates", [record], stamp))


def _page_of_checkpoint(
    folder: Path, path: Path, layout: str | None, heads: int | None
) -> dict[str, Any]:
    from dudley.weights.layout import LAYOUTS
    from dudley.weights.measure import measure

    if layout:
        LAYOUTS[layout]  # a name only, no path: refuses, and names the nearest
    config = (folder / "config.json").is_file()
    whole = config and path.name == "model.safetensors"
    measured = measure(folder if whole else path, layout=layout or None, heads=heads)
    item = measured.to_json() | {"id": path.name}
    about = {"kind": "measurement", "holds": None, "file": path.name}
    return about | fragment(measurement.document([item]))
