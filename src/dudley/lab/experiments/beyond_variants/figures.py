"""The figure of beyond-variants: means by setting."""

from __future__ import annotations

from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.lab.shared.beyond_figures import by_setting


@sketches("beyond-variants")
def figures(results: Results) -> list[Sketch]:
    shows = (
        "Means over trials with 95 % intervals, by what differs from the base: ReLU, softmax and "
        "LeCun's law."
    )
    return by_setting(results, "variant", [], "variant", shows)
