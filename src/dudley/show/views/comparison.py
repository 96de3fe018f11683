"""A comparison: what ``dudley compare`` prints; a row for each statement, form and point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from dudley.core.bound import Bound
from dudley.show.document import Document
from dudley.show.figures import figure
from dudley.show.pages import comparison as page
from dudley.show.views.base import VIEWS, ResultView
from dudley.theorems.comparison import BoundOrReason, Comparison
from dudley.theorems.gaps import Gaps


@final
@VIEWS.register("comparison")
class ComparisonView(ResultView[Comparison]):
    """Bounds side by side.

    >>> import dudley as du
    >>> here = {"n": 100, "class.C": 1.0, "class.radius": 1.0}
    >>> row = du.compare(here, papers=("trauger2024",)).table()[0]
    >>> row["statement"], row["form"], row["n"]
    ('trauger2024/equation-2.4', 'printed', 100.0)
    """

    def document(self) -> Document:
        return page.summary(self.result)

    def rows(self) -> list[dict[str, Any]]:
        about = {
            row.id: {
                "statement": row.id,
                "as printed": row.standing,
                "bounds": row.statement.measure,
            }
            for row in self.result.rows
        }
        return outcomes_of(self.result, about)

    def figure(self) -> Any:
        return figure.of(self.result)


def outcomes_of(
    result: Comparison | Gaps, about: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """What is said about each row, by its id, with its number for every form and point."""
    sweep = result.sweep
    name = "n" if sweep is None else sweep.name
    points = [result.situation.values.get(name)] if sweep is None else sweep.values
    return [
        {**about[row.id], "form": form, name: x, **numbers_of(outcome)}
        for row in result.rows
        for form, outcomes in row.curves.items()
        for x, outcome in zip(points, outcomes, strict=True)
    ]


def numbers_of(outcome: BoundOrReason) -> dict[str, Any]:
    """A bound's numbers, or why there is none."""
    if not isinstance(outcome, Bound):
        return {"value": None, "log value": None, "vacuous": None, "refused": outcome}
    numbers = {"value": outcome.value, "log value": outcome.log_value}
    return {**numbers, "vacuous": outcome.vacuous, "refused": ""}
