"""ResultView: a result as a document, as rows and as a figure; what all views do with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar

from dudley.core.errors import DudleyError
from dudley.core.extras import missing
from dudley.core.registry import Registry
from dudley.core.shown import Shown
from dudley.show import as_html, as_text
from dudley.show.document import Document

SCREEN = 60  # lines
Result = TypeVar("Result")


@dataclass(frozen=True)
class ResultView(ABC, Generic[Result]):
    """Abstract: how one kind of result looks."""

    result: Result

    @abstractmethod
    def document(self) -> Document:
        """What is printed, and shown in a notebook."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Plain values by name, a row each; numbers in full."""

    def figure(self) -> Any:
        """A figure of matplotlib's; refused where there is nothing to draw."""
        raise DudleyError(f"{type(self.result).__name__} has no figure")

    def text(self) -> str:
        """The whole document."""
        return as_text.text(self.document()).rstrip("\n")

    def screen(self) -> str:
        """The text, but no more than fits a screen; the last line says what is missing."""
        lines = self.text().split("\n")
        if len(lines) > SCREEN:
            left = len(lines) - SCREEN + 1
            lines[SCREEN - 1 :] = [f"… {left:,} more lines; .text() has all"]
        return "\n".join(lines)

    def html(self) -> str:
        """The whole document, without a script."""
        return as_html.still(self.document())

    def frame(self) -> Any:
        """The rows as a DataFrame."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise missing("pandas", "a DataFrame", "pandas") from None
        return pandas.DataFrame(self.rows())


VIEWS: Registry[type[ResultView[Any]]] = Registry("view", "dudley.show.views.{name}")


def view_of(result: Shown) -> ResultView[Any]:
    """The view of a result."""
    return VIEWS[result.shown_as](result)
