"""What commands print: strangers' text without effect, and a reader who leaves changes no verdict.

Every command prints through these streams, so no command has to remember it. Progress bars need
their control characters: Rich goes round a stream that names another one as `rich_proxied_file`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from dudley.core.boundary.text import screen


class Piped:
    """A stream that is silent once nobody reads it: ``deserted``."""

    def __init__(self, stream: Any):
        self._stream = stream
        self.deserted = False

    def write(self, text: str) -> int:
        with self._reader_may_leave():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._reader_may_leave():
            self._stream.flush()

    @contextlib.contextmanager
    def _reader_may_leave(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self.deserted = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Screened:
    """A stream on which control characters, and letters that it cannot encode, are spelled out."""

    def __init__(self, stream: Any):
        self.rich_proxied_file = Piped(stream)
        self._encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        safe = screen(text).encode(self._encoding, "backslashreplace")
        self.rich_proxied_file.write(safe.decode(self._encoding))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextlib.contextmanager
def screen_streams() -> Iterator[None]:
    """Standard output and standard error, screened; flushed at the end.

    A stream that is closed from the start, for which Python has None, is one that nobody reads.
    """
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        out: Any = Screened(nowhere if sys.stdout is None else sys.stdout)
        err: Any = Screened(nowhere if sys.stderr is None else sys.stderr)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                yield
            finally:
                out.flush()
