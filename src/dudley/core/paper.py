"""A paper, in the version that was examined: what is said of its statements is said of no other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """Where statements are from; ``key`` is the first part of their ids.

    ``label`` names the version in a word or two, for tables: ``false (arXiv v1)``.
    ``version`` says in full which text was read, and ``unexamined`` which texts were not.
    """

    key: str
    title: str
    authors: str
    year: int
    label: str
    version: str
    unexamined: str = "later versions, if there are any"

    @property
    def caveat(self) -> str:
        """The sentence that stands wherever something of this paper is called false."""
        return f"{self.key}: examined was {self.version}; not examined: {self.unexamined}."
