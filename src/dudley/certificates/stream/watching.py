"""Watching: lines are read, counted, and the state is put away, until the stream or the wait ends.

    watcher = StreamWatcher("outcomes.log", StreamDeclared(alarm_at=0.02), Path("watch.json"))
    look = watcher.run()

With a state the watch goes on where it was, however it ended; without one it begins at the first
line. A stream that goes on in another file (`next_part`) keeps its sums.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dudley.certificates.stream.line_format import LineFormat, Unreadable, format_of
from dudley.certificates.stream.source import (
    NEXT,
    PIPE,
    StreamPosition,
    StreamReader,
    expect_other,
    source,
)
from dudley.certificates.stream.state import StreamState, read_state
from dudley.certificates.stream.stream import OutcomeStream, StreamDeclared, StreamLook
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError
from dudley.core.files import expect_place

EVERY = 1.0  # seconds between two states while lines come, and between two looks for more lines


@dataclass(frozen=True)
class LineReading:
    """How lines are read, where the first line does not say it."""

    format: str | None = None
    column: str | None = None
    correct: bool = False


def expect_same_reading(state: Path, format: LineFormat | None, reading: LineReading) -> None:
    """Refuse options that say otherwise than the first line of the stream was read."""
    if format is None:
        return
    columns = getattr(format, "columns", getattr(format, "keys", ()))
    right = getattr(format, "meaning", "") == "correct" or getattr(format, "correct", False)
    agree = (
        reading.format in (None, format.name)
        and (reading.column is None or columns == (reading.column,))
        and (right or not reading.correct)
    )
    if not agree:
        fix = "a watch goes on as it began; take another state for another one"
        raise InputError(str(state), f"lines as {format}", f"{reading}", fix)


class StreamWatcher:
    """Final: a stream, where it is read from, and where its state is."""

    def __init__(
        self,
        name: str,
        declared: StreamDeclared | None = None,
        state: Path | None = None,
        reading: LineReading | None = None,
        next_part: bool = False,
    ) -> None:
        self.name, self.path, self.next_part = name, state, next_part
        self.reading = reading or LineReading()
        self.format: LineFormat | None = None
        self.position = StreamPosition()
        self.waiting = 0
        if state is not None and state.exists():
            before = read_state(state)
            if declared is not None and declared != before.declared:
                fix = "a watch goes on as it was declared; take another state for another one"
                raise InputError(str(state), f"{before.declared}", f"{declared}", fix)
            expect_same_reading(state, before.format, self.reading)
            self.format, self.position = before.format, before.position
            self.stream = before.stream
        else:
            if state is not None:
                expect_place(state, (".json",), "--state")
            if next_part:
                raise InputError("--next", "a state with the parts before", "none")
            self.stream = OutcomeStream(declared)

    def run(
        self, follow: bool = False, say: Callable[[StreamLook], None] | None = None
    ) -> StreamLook:
        """Read to the end, or with ``follow`` wait for more lines until the alarm comes."""
        with source(self.name) as file:
            if self.next_part:
                expect_other(file, self.name, self.position)
                self.position = StreamPosition(self.position.part + 1)
            reader = StreamReader(file, self.name, self.position)
            while True:
                self._read(reader, say)
                if not follow or self.name == PIPE or self._alarmed():
                    break
                time.sleep(EVERY)
                self._expect_longer(file)
            self.waiting = reader.waiting
        return self.stream.look()

    def save(self) -> None:
        """Put the state away, if there is a place for it."""
        if self.path is not None:
            state = StreamState(
                self.stream.declared, self.format, self.position, self.stream.sums()
            )
            state.write(self.path)

    def _read(self, reader: StreamReader, say: Callable[[StreamLook], None] | None) -> None:
        """Count what is there."""
        saved, behind = time.monotonic(), False
        for lines in reader.blocks():
            self.stream.add(self._losses(reader, lines))
            reader.counted()
            self.position, behind = reader.position, True
            if time.monotonic() - saved >= EVERY or self._alarmed():
                self.save()
                saved, behind = time.monotonic(), False
                if say is not None:
                    say(self.stream.look())
        if behind:
            self.save()

    def _losses(self, reader: StreamReader, lines: list[str]) -> list[float]:
        """The losses of a block; blank lines are none, and the heads of a table are none."""
        first, begins = reader.position.lines, self.format is None or not reader.position.lines
        numbered = [(first + i, text) for i, text in enumerate(lines) if text]
        if not numbered:
            return []
        try:
            if self.format is None:
                how = self.reading
                self.format = format_of(numbered[0][1], how.format, how.column, how.correct)
            if self.format.header and begins:
                self._expect_heads(reader, *numbered.pop(0))
            return self.format.losses([text for _, text in numbered])
        except Unreadable as error:
            raise reader.refused(numbered[error.at][0], error.expected, error.got) from None

    def _expect_heads(self, reader: StreamReader, at: int, text: str) -> None:
        """Refuse the heads of another part where they are not those of the first."""
        assert self.format is not None
        columns = getattr(self.format, "columns", ())
        column = columns[0] if len(columns) == 1 else None
        correct = getattr(self.format, "meaning", "") == "correct"
        if self.format.begin(text, column, correct) != self.format:
            raise reader.refused(at, "the heads of the parts before", text)

    def _alarmed(self) -> bool:
        return self.stream.alarm is not None and self.stream.alarm.at is not None

    def _expect_longer(self, file: IO[bytes]) -> None:
        """Refuse to wait at the end of a file that was cut or put away under our hands."""
        size = os.fstat(file.fileno()).st_size
        if file.seekable() and size < self.position.bytes:
            got = f"{size:,} bytes"
            raise refusal(self.name, f"at least {self.position.bytes:,} bytes", got, fix=NEXT)
        try:
            there = os.stat(self.name)
        except OSError:
            there = None
        if there is None or not os.path.samestat(there, os.fstat(file.fileno())):
            raise refusal(self.name, "the file that was opened", "another or none", fix=NEXT)
