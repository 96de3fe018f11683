"""A proof and its steps: each a lemma, and what it says of this network, in numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from dudley.core.bound import Bound
from dudley.core.lemma import Lemma
from dudley.core.shown import Shown

DIGITS = 9  # so many are written, so that sums of what is written agree with what was computed
FLOATS = 600.0  # logs up to which a magnitude is written as a float

ProofValue = str | int | float


@dataclass(frozen=True)
class Numbers:
    """A table: heads, and rows of values; what no float holds is a text, as in 10^171.5."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[ProofValue, ...], ...]


@dataclass(frozen=True)
class ProofStep:
    """A lemma, and what follows from it here."""

    lemma: Lemma
    here: tuple[str, ...] = ()
    tables: tuple[Numbers, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The lemma, the sentences and the tables."""
        tables = [
            {"title": t.title, "heads": [*t.heads], "rows": [list(row) for row in t.rows]}
            for t in self.tables
        ]
        return vars(self.lemma) | {"here": [*self.here], "tables": tables}


@dataclass(frozen=True)
class Proof(Shown):
    """The steps of a bound, and the bound to which they add up, where n is known.

    >>> import dudley as du
    >>> net = du.Dense(4, du.Spectral(2.0)) >> du.Activate("relu") >> du.Readout(du.L2(1.0))
    >>> proof = du.capacity(net, du.Tokens(1.0, T=2), n=1e6).prove(0.05)
    >>> [step.lemma.title for step in proof.steps][-2:]
    ['Chaining', 'Deviation']
    """

    steps: tuple[ProofStep, ...]
    bound: Bound | None
    n: float | None
    shown_as: ClassVar[str] = "proof"

    def latex(self) -> str:
        """A LaTeX document that compiles by itself."""
        return self._view.latex()

    def to_json(self) -> list[dict[str, Any]]:
        """The steps as plain data."""
        return [step.to_json() for step in self.steps]


def power_of(log_x: Any) -> ProofValue:
    """A magnitude by its log: a float, or a power of ten where no float holds it.

    >>> power_of(0.0), power_of(2000.0)
    (1.0, '10^868.588963807')
    """
    log_x = float(log_x)
    if log_x == math.inf:
        return "unknown"
    fits = log_x == -math.inf or abs(log_x) < FLOATS
    return math.exp(log_x) if fits else f"10^{log_x / math.log(10):.9f}"


def written(value: ProofValue) -> str:
    """A value as a proof writes it.

    >>> written(2 / 3), written(16777216), written("10^868.6")
    ('0.666666667', '16777216', '10^868.6')
    """
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)
