"""A measured checkpoint: the largest norms of each role on one screen; a row for each matrix."""

from __future__ import annotations

import math
from typing import Any, final

from dudley.core.errors import InputError
from dudley.core.rounding import ceiling
from dudley.show.document import Cell, Document, DocumentBlock, Points, Section, Table
from dudley.show.figures import figure
from dudley.show.pages import judgement, measurement as page
from dudley.show.views.base import VIEWS, ResultView
from dudley.weights.judgement import record_of
from dudley.weights.measurement import PRODUCTS, MatrixRow, Measurement


@final
@VIEWS.register("measurement")
class MeasurementView(ResultView[Measurement]):
    """Roles over all layers; W_QK and W_VO, which exist for each head alone, over all heads."""

    def document(self) -> Document:
        measured = self.result
        layers = "1 layer" if measured.layers == 1 else f"{measured.layers} layers"
        title = "largest norms of each role, certified upper ends, W ∈ R^{in×out} as in x ↦ xW"
        record = record_of(measured)
        blocks: list[DocumentBlock] = [
            *([] if record is None else [judgement.properties(record)]),
            Section(title, (self._largest(),)),
            Section("", (page.totals(measured),)),
        ]
        if measured.notes:
            notes = Points(tuple(f"note: {note}" for note in measured.notes), mark="")
            blocks.append(Section("", (notes,)))
        return Document(f"{measured.source}: {measured.layout}, {layers}", tuple(blocks))

    def _groups(self) -> dict[tuple[str, tuple[int, int]], list[MatrixRow]]:
        """The matrices of each role and shape."""
        groups: dict[tuple[str, tuple[int, int]], list[MatrixRow]] = {}
        for row in self.result.rows:
            if row.head is None or row.role in PRODUCTS:
                groups.setdefault((row.role, row.shape), []).append(row)
        return groups

    def _largest(self) -> Table:
        rows = []
        for (role, shape), group in self._groups().items():
            size = Cell("×".join(map(str, shape)), math.prod(shape))
            largest = [max(row.norms[norm] for row in group) for norm in page.NORMS]
            norms = [Cell(ceiling(x, 4), x) for x in largest]
            rows.append([role, size, Cell(str(len(group)), len(group)), *norms])
        return Table.of(["", "in×out", "matrices", *page.NORMS], rows)

    def rows(self) -> list[dict[str, Any]]:
        return [row.flat() for row in self.result.rows]

    def figure(self) -> Any:
        """The spectral norms over the layers, a curve for each role."""
        if self.result.layers == 0:
            raise InputError("figure", "a checkpoint with layers", "none")
        with figure.drawn() as (drawing, (axis,)):
            for i, ((role, _), group) in enumerate(self._groups().items()):
                largest: dict[int, float] = {}
                for row in group:
                    if row.layer is not None and min(row.shape) > 1:
                        largest[row.layer] = max(largest.get(row.layer, 0.0), row.op.upper)
                if largest:
                    colour, marker = figure.style(i)
                    axis.plot([*largest], [*largest.values()], marker or ".", ls="-", color=colour)
                    axis.lines[-1].set_label(role)
            axis.set(yscale="log", xlabel="layer")
            axis.set_title("largest spectral norms, upper ends", loc="left", fontweight="bold")
            axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False)
        return drawing
