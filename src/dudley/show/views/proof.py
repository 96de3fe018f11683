"""A proof: its lemmas with their numbers; a row for each block at each resolution."""

from __future__ import annotations

from typing import Any, final

from dudley.networks.proof.steps import Proof
from dudley.show.as_article import article
from dudley.show.document import Document
from dudley.show.pages import proof as page
from dudley.show.views.base import VIEWS, ResultView


@final
@VIEWS.register("proof")
class ProofView(ResultView[Proof]):
    """What ``dudley derive --proof`` prints."""

    def document(self) -> Document:
        return page.document(self.result)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"step": i, "lemma": step.lemma.title, "table": table.title}
            | dict(zip(table.heads, row, strict=True))
            for i, step in enumerate(self.result.steps, 1)
            for table in step.tables
            for row in table.rows
        ]

    def latex(self) -> str:
        """A document that compiles by itself."""
        return article(self.document())
