"""Forms: each turns the mean error on n examples and the nats of Q into a bound on L(Q).

With probability at least 1 − δ′ over the examples, for every Q at once, L(Q) ≤ ``bound(q, nats, n,
option)`` where q ≥ L̂(Q) and nats ≥ KL(Q‖P) + ln(1/δ′). Every form grows with q and with the nats,
so upper ends may stand for both. A form with a free number λ takes it from a list fixed before the
data (``options``), and the choice costs ``price(option)``.

Which form is shown is declared, or is a choice among k forms that costs ln k. The quadratic form
follows from the kl form on the same event, and is never below it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from dudley.certificates.price import Price
from dudley.core.registry import Registry

FORMS: Registry[PacBayesForm] = Registry(
    "PAC-Bayes form", "dudley.certificates.methods.pac_bayes.forms.*"
)


class PacBayesForm(ABC):
    """Abstract: a bound, uniform over all posteriors."""

    name: ClassVar[str]

    @abstractmethod
    def bound(self, q: float, nats: float, n: int, option: int = 0) -> float:
        """The bound on L(Q), rounded up, at most 1."""

    def options(self) -> Sequence[int]:
        """What can be chosen after the data; one entry where nothing can."""
        return (0,)

    def price(self, option: int) -> Price | None:
        """What the choice costs; ``None`` where there is none."""
        return None
