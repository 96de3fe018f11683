"""Read texts: the files of a folder, the lines of JSONL, or a text with separators.

- A folder: every regular file below it is a text. Hidden files and links are passed over.
- ``NAME.jsonl``: every line is a JSON text, or an object with the text under ``field``.
- Any other file: the texts between separators; a separator is a line break unless another is
  given (``\\\\n`` in it stands for a line break). Empty texts are passed over.

What is read is text and nothing is executed. Of a file in a folder only what counts is read.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "texts.txt"
...     _ = path.write_bytes(b"a cat\\n%%\\nthe dog\\nran off\\n%%\\n")
...     list(texts_of(path, separator="\\\\n%%\\\\n"))
[b'a cat', b'the dog\\nran off']
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dudley.certificates.texts.documents import Documents
from dudley.core.boundary import limits
from dudley.core.boundary.paths import expect_named, regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

MOST_FILE = 1 << 32  # bytes of a file of texts
MOST_FILES = 10**6  # of a folder
BREAK = "\n"


@dataclass(frozen=True)
class TextReading:
    """How texts become documents: what stands between them, and `Documents`."""

    separator: str = "\\n"
    field: str = "text"
    longest: int = 1024
    shortest: int = 10
    distinct: bool = False

    def documents(self, path: Path) -> Documents:
        """The documents of a folder or a file."""
        raw = texts_of(path, self.separator, self.field, self.longest)
        return Documents.of(raw, self.longest, self.shortest, self.distinct)


def texts_of(
    path: Path, separator: str = BREAK, field: str = "text", longest: int = 1 << 20
) -> Iterator[bytes]:
    """The texts of a folder or a file; of a file in a folder the first ``longest`` + 3 bytes."""
    expect_named(path, "texts")
    if not path.exists():
        raise InputError("texts", "a folder or a file", f"nothing at {path}")
    if path.is_dir():
        yield from _of_folder(path, longest)
    elif path.suffix == ".jsonl":
        for number, line in enumerate(_lines(path), 1):
            if line.strip():
                yield _of_json(line, f"{path.name}, line {number}", field)
    else:
        yield from filter(None, _between(path, _bytes_of(separator)))


def _of_folder(folder: Path, longest: int) -> Iterator[bytes]:
    files = 0
    for place, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if name.startswith(".") or path.is_symlink() or not path.is_file():
                continue
            files += 1
            if files > MOST_FILES:
                raise InputError(str(folder), f"at most {MOST_FILES:,} files", "more")
            try:
                with path.open("rb") as file:
                    yield file.read(longest + 3)
            except OSError as error:
                raise refusal(path, "a readable file", error.strerror or error) from None


def _of_json(line: bytes, where: str, field: str) -> bytes:
    try:
        if len(line) > limits.JSON_BYTES:
            raise ValueError("a longer line")
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(where, "JSON", error) from None
    if isinstance(value, dict):
        value = value.get(field)
    if not isinstance(value, str):
        fix = "--field names it"
        raise InputError(where, f"a text, or an object with a text {field!r}", "another value", fix)
    return value.encode("utf-8", "surrogatepass")


def _between(path: Path, separator: bytes) -> Iterator[bytes]:
    if separator == b"\n":
        for line in _lines(path):
            yield line.rstrip(b"\r\n")
        return
    with regular(path).open("rb") as file:
        raw = file.read(MOST_FILE + 1)
    _expect_size(path, len(raw))
    yield from (text.strip(b"\r\n") for text in raw.split(separator))


def _lines(path: Path) -> Iterator[bytes]:
    _expect_size(path, regular(path).stat().st_size)
    with path.open("rb") as file:
        yield from file


def _expect_size(path: Path, size: int) -> None:
    if size > MOST_FILE:
        raise refusal(path, f"at most {MOST_FILE:,} bytes", "more")


def _bytes_of(separator: str) -> bytes:
    text = separator.replace("\\n", "\n").replace("\\t", "\t")
    if not text:
        raise InputError("--separator", "a text that stands between documents", "an empty one")
    return text.encode("utf-8", "surrogatepass")
