"""What a search is about: a node, the rows it is run on, and what may vary.

>>> import dudley as du
>>> SearchProblem(du.Dense(4, du.Spectral(2.0), 3)).radii
(0.1, 1.0, 3.0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dudley.audit.leaves import Path
from dudley.calculus.compose import Node
from dudley.calculus.facts import Signal
from dudley.core.magnitude import Magnitude

RADII = (0.1, 1.0, 3.0)


def signal_of(R, T: int, d: int, l1: float | None = None) -> Signal:
    """Rows like those a network gets from ``Tokens``."""
    return Signal(Magnitude.of(R), float(T), d, l1)


@dataclass(frozen=True)
class SearchProblem:
    """A node on T rows of width d, at several radii.

    ``l1`` bounds a row's ℓ1 norm by that multiple of R; ``one_hot`` rows stay as they are drawn.
    ``logits`` measures the output by its largest entry. ``ties`` sends the path of a leaf to its
    master's and says whether it is transposed. ``witness`` gives a start of one's own at radius R
    to the first two restarts. ``hat_apply(params, x, R)`` is the covered network where it differs,
    and ``free_hats`` lets its weights leave their balls.
    """

    node: Node
    T: int = 4
    d: int = 4
    radii: tuple[float, ...] = RADII
    logits: bool = False
    one_hot: bool = False
    l1: float | None = None
    witness: Callable | None = None
    ties: dict[Path, tuple[Path, bool]] = field(default_factory=dict)
    hat_apply: Callable | None = None
    free_hats: bool = False
