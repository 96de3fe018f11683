"""What the calculus says of a network: what ``dudley derive`` prints; a row for each block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, final

import numpy as np

from dudley.core.errors import DudleyError, InputError
from dudley.networks import explain
from dudley.networks.capacity import Capacity
from dudley.show.document import Document, Properties, Prose
from dudley.show.figures import figure
from dudley.show.pages import derivation
from dudley.show.views.base import VIEWS, ResultView

DELTA = 0.05
LONGEST = 60  # letters of a network's name


@final
@VIEWS.register("capacity")
class CapacityView(ResultView[Capacity]):
    """The gap with confidence 0.95, and what makes it large."""

    @property
    def _at_one_n(self) -> Capacity:
        """Without its sizes, if there are many."""
        return replace(self.result, n=None) if np.ndim(self.result.n or 0) else self.result

    def document(self) -> Document:
        cap = self._at_one_n
        name = " >> ".join(type(part.node).__name__ for part in cap.network.stages())
        name = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
        try:
            return derivation.document(name, derivation.Derivation(cap, DELTA, None))
        except DudleyError as refusal:
            out = cap.facts.out
            facts = (
                ("network", name),
                ("output radius", explain.power(out.radius.log)),
                ("Lipschitz", explain.power(cap.facts.lipschitz.log)),
            )
            return Document("", (Properties(facts), Prose(f"no gap: {refusal}")))

    def rows(self) -> list[dict[str, Any]]:
        costs, log_ε, log_n = self._at_one_n.shares
        scale = {"epsilon": float(np.exp(log_ε)), "log n": float(log_n)}
        return [
            {
                "block": cost.block,
                "rows": cost.shape[0] if cost.shape else None,
                "columns": cost.shape[1] if cost.shape else None,
                "count": cost.count,
                "constraint": cost.constraint,
                "least log10 weight": cost.log10_weight[0],
                "largest log10 weight": cost.log10_weight[1],
                "share": cost.share,
                "cover": cost.cover,
                "costliest layer": cost.layer,
                **scale,
            }
            for cost in costs
        ]

    def figure(self) -> Any:
        """The gap over n, from where it says something to where it is a hundredth."""
        cap = self.result
        first = cap.log10_needed_n(cap.loss.range, DELTA)
        last = cap.log10_needed_n(cap.loss.range / 100, DELTA)
        if not last < 300:
            raise InputError("figure", "a gap that is 1/100 at fewer than 1e300 examples", "more")
        n = np.logspace(max(first - 1, 0), last, 60)
        with figure.drawn() as (drawing, (axis,)):
            axis.plot(n, cap.gaps(n, DELTA), color=figure.COLOURS[0])
            axis.axhline(cap.loss.range, color="#777777", lw=0.8)
            axis.set(xscale="log", yscale="log", xlabel="n   (examples)")
            axis.set_title(f"risk − training loss, δ = {DELTA:g}", loc="left", fontweight="bold")
            axis.grid(True, color="#e6e6e6", lw=0.6)
        return drawing
