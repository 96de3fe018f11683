"""The covering number of a statement as an entropy, so that it can be chained."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.calculus.memory import scanning
from dudley.core.entropy import Entropy
from dudley.core.statement import Statement


@dataclass(frozen=True)
class Stated(Entropy):
    """ε ↦ log N(ε) by one form of a statement, for n examples fixed among its inputs.

    Centres need not be members of the class: N_proper(ε) ≤ N(ε/2).
    """

    statement: Statement
    form: str
    inputs: tuple[tuple[str, float], ...]
    radius: float
    by: float = 1.0  # ε is divided by this

    @property
    def log_radius(self) -> float:
        return math.log(self.radius) if self.radius > 0 else -math.inf

    @property
    def uses_points(self) -> bool:
        return False  # n is among the inputs

    def log_log(self, log_ε, log_n=None):
        log_ε = np.asarray(log_ε, dtype=float)
        scales = np.ravel(log_ε).tolist()
        epsilons = [self._epsilon(x) for x in scales if x < self.log_radius]
        with scanning(math.log(epsilon) for epsilon in epsilons if epsilon > 0):
            logs = [self._at(x) for x in scales]
        return np.reshape(np.array(logs), log_ε.shape)

    def _at(self, log_ε: float) -> float:
        if log_ε >= self.log_radius:
            return -math.inf
        inputs = dict(self.inputs) | {"epsilon": self._epsilon(log_ε)}
        return self.statement.evaluate_on(inputs, self.form).log_value

    def _epsilon(self, log_ε: float) -> float:
        return math.exp(log_ε) / self.by

    def proper(self) -> Entropy:
        """Members of the class within 2ε of each other, for a cover at ε."""
        if self.by != 1:
            return self
        return Stated(self.statement, self.form, self.inputs, self.radius, 2.0)
