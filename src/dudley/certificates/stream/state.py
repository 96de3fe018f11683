"""The state of a watch: a small file that is replaced whole, so that a kill at any time is safe.

It has what was declared, how lines are read, the place in the stream, and the sums. The place and
the sums are of one moment, so a line is counted once, whenever the process ends; and of two watches
that write to one state the last leaves a whole one. A hash of the rest shows whether the file was
changed by hand or by a damaged disk. It is no signature: whoever wants to can make another one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dudley.certificates.records import from_json, to_json
from dudley.certificates.stream.line_format import LineFormat
from dudley.certificates.stream.source import StreamPosition
from dudley.certificates.stream.stream import OutcomeStream, StreamDeclared, StreamSums
from dudley.core.boundary import documents
from dudley.core.boundary.damage import refusing
from dudley.core.boundary.refusal import refusal
from dudley.core.boundary.text import json_text
from dudley.core.files import written

SCHEMA = "dudley.watch/1"
SEAL = "sha256"


@dataclass(frozen=True)
class StreamState:
    """A watch between two lines."""

    declared: StreamDeclared
    format: LineFormat | None
    position: StreamPosition
    sums: StreamSums

    @property
    def stream(self) -> OutcomeStream:
        return OutcomeStream.of(self.declared, self.sums)

    def write(self, path: Path) -> None:
        """Put the file in place of the one before."""
        text = json_text({"schema": SCHEMA, **sealed(to_json(self))}) + "\n"
        with written(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def sealed(table: dict[str, Any]) -> dict[str, Any]:
    """The table with its hash."""
    plain = json.dumps(table, sort_keys=True)
    return table | {SEAL: hashlib.sha256(plain.encode()).hexdigest()}


def read_state(path: Path) -> StreamState:
    """The state in a file."""
    table = documents.read(path)
    schema = table.pop("schema", None)
    if schema != SCHEMA:
        raise refusal(path, f"a state of dudley watch ({SCHEMA})", repr(schema))
    if sealed({name: part for name, part in table.items() if name != SEAL}) != table:
        fix = "begin again, with another state"
        raise refusal(path, "a state as a watch wrote it", "a changed one", fix=fix)
    del table[SEAL]
    with refusing(str(path), "a state of dudley watch"):
        state = from_json(StreamState, table, "entry", "a state")
        _ = state.stream  # refuses sums that do not fit what was declared
        return state
