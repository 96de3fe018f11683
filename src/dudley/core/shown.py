"""Shown: what results have in common where people read them, in Python and in notebooks.

How a result looks is known to the room ``show``, which stands above this one. It is looked up by
name when somebody asks, and nothing of it is imported before.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar


class Shown:
    """A result that prints on one screen, and as HTML in a notebook; its rows and its figure.

    ``shown_as`` names the view, a module of ``dudley.show.views``.

    >>> import dudley as du
    >>> print(du.Dense(4, du.Spectral(2.0)) >> du.Activate("relu") >> du.Readout(du.L2(1.0)))
    Chain   20 weights
    ├─ Dense   d = 4, W: op ≤ 2
    ├─ Activate   sigma = relu
    └─ Readout   w: fro ≤ 1
    """

    shown_as: ClassVar[str]

    def __str__(self) -> str:
        return self._view.screen()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self._view.html()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows on a terminal."""
        printer.text(str(self))

    def text(self) -> str:
        """All that ``print`` shows, however long."""
        return self._view.text()

    def table(self) -> list[dict[str, Any]]:
        """The rows behind it, with numbers in full."""
        return self._view.rows()

    def to_pandas(self) -> Any:
        """The rows of :meth:`table` as a pandas DataFrame (extra ``pandas``)."""
        return self._view.frame()

    def figure(self) -> Any:
        """A figure of matplotlib's (extra ``plots``), which a notebook shows."""
        return self._view.figure()

    @property
    def _view(self) -> Any:
        return import_module("dudley.show.views").view_of(self)
