"""The figure of beyond-length: means by setting."""

from __future__ import annotations

from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.lab.shared.beyond_figures import by_setting


@sketches("beyond-length")
def figures(results: Results) -> list[Sketch]:
    return by_setting(results, "T", ["task", "arm"], "T (sequence length)")
