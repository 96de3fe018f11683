"""Published statements: the list, and the page of one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dudley.show.as_html import fragment
from dudley.show.counterexamples import against
from dudley.show.pages.statement import document
from dudley.theorems import registry
from dudley.theorems.order import in_reading_order


def list_statements() -> list[dict[str, Any]]:
    """Every statement with its verdict, in the order of the papers."""
    return [
        {"id": s.id, "paper": s.paper, "verdict": s.verdict.as_printed.value,
         "repair": s.verdict.repair.value, "standing": s.standing, "says": s.says,
         "quantity": s.quantity, "measure": s.measure}
        for s in in_reading_order()
    ]  # fmt: skip


@lru_cache(maxsize=128)
def page(id: str) -> dict[str, Any]:
    """Hypotheses, formulas, verdict, erratum, counterexamples drawn."""
    s = registry.load()[id]
    item = s.to_json() | {"counterexamples": [one.to_json() for one in against(id)]}
    about = {
        "id": id,
        "verdict": s.verdict.as_printed.value,
        "judgement": s.judgement,
        "heading": s.heading,
        "example": {n: float(v) for n, v in s.example.items()},
        "counterexamples": {c["name"]: c["inputs"] for c in item["counterexamples"]},
    }
    return about | fragment(document([item]))
