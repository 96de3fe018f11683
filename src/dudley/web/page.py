"""The page itself: three answers, put together from the files of the package."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from dudley.core.provenance import provenance
from dudley.show.as_html import as_data, asset, filled
from dudley.show.figures.figure import COLOURS
from dudley.web import bounds

SCRIPTS = (
    "parts", "sliders", "curves", "picks", "bounds", "statements", "fields", "builder", "costs",
    "architecture", "files", "experiments", "start",
)  # fmt: skip


def static(name: str) -> str:
    return (resources.files("dudley.web") / "static" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def html() -> str:
    """The one document; what it must know before it asks stands in it."""
    data = bounds.settings() | {"colours": COLOURS}
    return filled(static("index.html"), {"DATA": as_data(data), "VERSION": provenance()["dudley"]})


@lru_cache(maxsize=1)
def style() -> str:
    """One style sheet."""
    return asset("vendor/uPlot.min.css") + asset("page.css") + static("app.css")


@lru_cache(maxsize=1)
def script() -> str:
    """One script."""
    shared = [asset("vendor/uPlot.iife.min.js"), asset("charts.js"), asset("tables.js")]
    return "\n".join([*shared, *(static(f"{name}.js") for name in SCRIPTS)])
