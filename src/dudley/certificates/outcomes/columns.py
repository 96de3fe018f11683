"""Which column of a table is what: declared by name, with the plain names as defaults.

A column that is not named is looked for under the plain name of its part: ``y``, ``prediction``,
``correct``, ``loss``, ``score``, ``id``. Groups, units, times, the old model and candidates are
always named, since to name them is to declare them. Columns of weights are refused: rows that were
drawn with other chances than the population has are no sample from it, and an exact bound for them
needs the chances themselves.

>>> OutcomeColumns(groups=("site",)).among(["y", "prediction", "site", "note"]).names
('y', 'prediction', 'site')
>>> OutcomeColumns().among(["correct", "sample_weight"])
Traceback (most recent call last):
dudley.core.errors.InputError: columns: expected no weights, for rows that are weighted are no
sample from the population, got sample_weight; draw rows by their weights, or drop the column
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

from dudley.certificates.records import expect_kinds, omitted
from dudley.core.errors import InputError, UnknownName

MOST = 4096  # columns of a table
PLAIN = ("y", "prediction", "correct", "loss", "score", "id")
WEIGHTS = ("weight", "weights", "sample_weight", "sample_weights")
UNWEIGHTED = "no weights, for rows that are weighted are no sample from the population"
DRAW = "draw rows by their weights, or drop the column"


def is_weight(name: str) -> bool:
    """Is this the name of a column of weights?"""
    return name.strip().lower() in WEIGHTS


@dataclass(frozen=True)
class OutcomeColumns:
    """Names of columns; an empty one is not used."""

    y: str = ""
    prediction: str = ""
    correct: str = ""
    loss: str = ""
    score: str = ""
    id: str = ""
    unit: str = ""
    time: str | None = omitted()
    old: str = ""
    groups: tuple[str, ...] = ()
    candidates: tuple[str, ...] = field(default=(), metadata={"entries": MOST})

    def __post_init__(self):
        expect_kinds(self, "columns")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are used, each once."""
        parts = (getattr(self, f.name) for f in fields(self))
        flat = [name for part in parts for name in (part if isinstance(part, tuple) else (part,))]
        return tuple(dict.fromkeys(name for name in flat if name))

    @property
    def form(self) -> str:
        """How a row says whether it is right: labels, correct or loss."""
        forms = {"labels": bool(self.y), "correct": bool(self.correct), "loss": bool(self.loss)}
        return next(name for name, there in forms.items() if there)

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns of other models, of the same form as that of the model itself."""
        return (*((self.old,) if self.old else ()), *self.candidates)

    def among(self, header: Sequence[str]) -> OutcomeColumns:
        """The columns as a table with this header has them; what it lacks is refused."""
        if len(header) > MOST:
            raise InputError("columns", f"at most {MOST:,}", f"{len(header):,}")
        if doubled := [name for name in header if header.count(name) > 1]:
            raise InputError("columns", "names that differ", f"{doubled[0]!r} twice")
        for name in self.names:
            if name not in header:
                raise UnknownName("column", name, header)
        if weights := [name for name in header if is_weight(name) and name not in self.names]:
            raise InputError("columns", UNWEIGHTED, weights[0], DRAW)
        chosen = self._with_plain(header)
        labelled = bool(chosen.y and (chosen.prediction or chosen.candidates))
        forms = (labelled, bool(chosen.correct), bool(chosen.loss))
        if sum(forms) != 1:
            if chosen.candidates and not any(forms):
                return chosen
            expected = "y and prediction, or correct, or loss: one of the three"
            raise InputError("columns", expected, ", ".join(header[:12]), "name them by options")
        return chosen

    def _with_plain(self, header: Sequence[str]) -> OutcomeColumns:
        """With the columns of plain names, where nothing else was named for their part."""
        forms = (self.y or self.prediction, self.correct, self.loss)
        used, plain = set(self.names), {}
        for name in PLAIN:
            form = name in ("y", "prediction", "correct", "loss")
            settled = form and any(forms) and not (forms[0] and name in ("y", "prediction"))
            if not getattr(self, name) and name in header and name not in used and not settled:
                plain[name] = name
        if self.candidates:
            plain = {k: v for k, v in plain.items() if k not in ("prediction", "correct", "loss")}
        if "y" in plain and not (self.prediction or "prediction" in plain or self.candidates):
            plain.pop("y")  # labels without predictions, beside a column that says it all
        return replace(self, **plain)
