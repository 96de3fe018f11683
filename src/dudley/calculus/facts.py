"""Facts: what flows between nodes, and what a node declares about itself.

Errors and radii are measured in the largest ℓ2 norm of a row; a block's *weight* is the output
change per unit error of its map on unit inputs. The rule that composes them is ``compose``; what
an *alarm* is, ``augment`` says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dudley.classes.linear import LinearMap
from dudley.core.constraint import Constraint
from dudley.core.entropy import Entropy, Metric
from dudley.core.errors import InputError
from dudley.core.magnitude import ZERO, Magnitude, smallest


@dataclass(frozen=True, eq=False)
class Signal:
    """What flows between nodes: token rows of bounded norm.

    ``l1`` bounds the ratio of a row's ℓ1 to its ℓ2 bound where that is known to be below √width.
    Rows that are measured by their largest entry (logits) end a network.
    """

    radius: Magnitude
    rows: float
    width: int
    l1: float | None = None
    metric: Metric = Metric.ROWS

    def reach(self, parameter: Parameter) -> Magnitude:
        """A bound on ‖xW‖₂ for rows x of this signal: ‖x‖₂·op(W), or ‖x‖₁ times W's largest row."""
        largest = parameter.norm() * self.radius
        if self.l1 is None:
            return largest
        return smallest(largest, parameter.norm("row2inf") * self.l1 * self.radius)

    def expect_rows(self) -> Signal:
        """This signal, refused if it is measured otherwise than by the ℓ2 norm of its rows."""
        if self.metric is not Metric.ROWS:
            raise InputError("network", "logits as the last node", "a node after logits")
        return self


@dataclass(frozen=True)
class Parameter:
    """A block of weights: its shape, the set it lives in, and whether it is trained."""

    shape: tuple[int, int]
    constraint: Constraint
    trained: bool = True

    @property
    def map(self) -> LinearMap:
        return LinearMap(self.shape, self.constraint)

    def norm(self, name: str = "op") -> Magnitude:
        """The best implied bound on a norm of the weights."""
        return Magnitude.of(self.constraint.bounds(self.shape)[name])


@dataclass(frozen=True, eq=False)
class Use:
    """One use of a block: how it enters, how much it matters, at how many points per example.

    ``place`` is the way from the root of the network: an index for each step of a chain, one with
    a plus for each summand, a star for the layers of a Repeat. ``uniform``: only covers that serve
    all inputs at once. ``together``: so many blocks, this one included, decide its points.
    ``alarm`` is like ``weight``, for the alarms of norm layers in the place of the output.
    """

    name: str
    parameter: Parameter | Entropy
    weight: Magnitude
    form: str = "linear"
    rows: float = 1
    pairs: float = 1
    l1: float | None = None
    copies: int = 1
    place: tuple[str, ...] = ()
    uniform: bool = False
    together: int = 0
    alarm: Magnitude = ZERO

    @property
    def tie(self) -> str | None:
        """The name of the shared parameter, if it is one."""
        return self.parameter.constraint.tie if isinstance(self.parameter, Parameter) else None

    @property
    def entropy(self) -> Entropy:
        if isinstance(self.parameter, Entropy):
            return self.parameter
        linear = self.parameter.map
        every = linear.entropy(self.form, self.rows, self.pairs, self.l1, self.together)
        return every.uniform() if self.uniform else every

    @property
    def count(self) -> int:
        """How many blocks this stands for."""
        return self.copies * np.size(self.weight.log)


@dataclass(frozen=True, eq=False)
class Facts:
    """A node's local facts for inputs of a given radius.

    ``uses`` stand in an order of computation: what a use sees depends on those before it alone.
    ``alarm`` is the Lipschitz constant of the alarms inside, None where the node does not say.
    """

    out: Signal
    lipschitz: Magnitude
    uses: tuple[Use, ...] = ()
    alarm: Magnitude | None = None
