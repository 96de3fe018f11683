"""Bounds as gaps: what ``dudley compare --as gap`` prints; a row for each bound, form and point."""

from __future__ import annotations

from typing import Any, final

from dudley.show.document import Document
from dudley.show.figures import figure
from dudley.show.pages import gaps as page
from dudley.show.views.base import VIEWS, ResultView
from dudley.show.views.comparison import outcomes_of
from dudley.theorems.gaps import Gaps


@final
@VIEWS.register("gaps")
class GapsView(ResultView[Gaps]):
    """Every bound as a gap, best first.

    >>> import dudley as du
    >>> here = {"n": 1e6, "X.row2inf": 1.0, "w.l2": 1.0}
    >>> row = du.gaps(here).table()[0]
    >>> row["bound"], row["of"], round(row["value"], 5)
    ('edelman2021/definition-A.1', 'linear functions', 0.00322)
    """

    def document(self) -> Document:
        return page.summary(self.result)

    def rows(self) -> list[dict[str, Any]]:
        about = {
            row.id: {"bound": row.id, "of": row.subject, "as printed": row.standing}
            for row in self.result.rows
        }
        return outcomes_of(self.result, about)

    def figure(self) -> Any:
        return figure.of(self.result)
