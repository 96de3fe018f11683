"""A tolerance from a measurement: how far float32 margins are from those of float64.

**Meaning.** A certificate counts examples whose margin is at most τ, and τ is declared before the
data. It should be so large that another machine's arithmetic moves no margin by more than τ/2
(`agreement`), and no larger, since every example within τ of a tie counts as an error.

**Formula.** The outputs of the module are computed as it stands, and by a copy of it in float64.
Let Δ be the difference of both outputs of an example. Its margin differs by at most
m = max_j Δ_j − min_j Δ_j (by |Δ| for one output): the margin is a logit less the largest other one.
With d the largest m of the given examples, two machines that are each within d of float64 differ by
2d at most, and τ = 4d would do for these examples. The proposal leaves another factor of four to
other examples and machines: the least power of two that is ≥ 16·max(d, u·F). F is the largest
|output|, and u = 2⁻²⁴ is the rounding unit of float32.

**Hypotheses.** None for a certificate: whatever τ was declared, the number holds. What was measured
proves nothing about another machine; too small a τ only lets a verifier's count disagree. The
examples must be others than those of the certificate, or τ would be a choice made after a look at
them. A model of the same recipe, trained on other data, is a good stand-in for the final one.

>>> from dudley.core.backend import torch
>>> from dudley.certificates.learners.module_predictor import ModulePredictor
>>> linear = torch.nn.Linear(2, 2, bias=False).eval()
>>> _ = torch.nn.init.constant_(linear.weight, 0.5)
>>> measured = measured_tolerance(ModulePredictor(linear), np.ones((3, 2), np.float32))
>>> measured.apart, measured.largest, measured.tolerance == 2.0**-20
(0.0, 1.0, True)
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np

from dudley.certificates.learners.module_predictor import ModulePredictor, logits
from dudley.core.backend import torch
from dudley.core.errors import InputError

SPARE = 16
UNIT = 2.0**-24  # of float32


@dataclass(frozen=True)
class MeasuredTolerance:
    """How far apart margins may be on ``examples`` examples, the largest output, and the τ."""

    examples: int
    apart: float
    largest: float

    @property
    def tolerance(self) -> float:
        """The least power of two that leaves the spare room."""
        return 2.0 ** math.ceil(math.log2(SPARE * max(self.apart, UNIT * self.largest, UNIT)))

    def __str__(self) -> str:
        return (
            f"margins of {self.examples:,} examples are within {self.apart:.3g} of float64; "
            f"declare tolerance={self.tolerance:.3g}"
        )


def measured_tolerance(model: ModulePredictor, X: np.ndarray) -> MeasuredTolerance:
    """Compare a module with its copy in float64, on examples that no certificate counts."""
    if not isinstance(model, ModulePredictor):
        raise InputError("model", "a torch module as a predictor", type(model).__name__)
    if not len(X):
        raise InputError("X", "at least one example", "none")
    plain, exact = model.outputs(X), _in_float64(model, X)
    if not (np.isfinite(plain).all() and np.isfinite(exact).all()):
        raise InputError("outputs", "finite numbers", "NaN or infinity")
    apart = plain - exact
    several = apart.shape[1] > 1
    move = apart.max(axis=1) - apart.min(axis=1) if several else np.abs(apart[:, 0])
    return MeasuredTolerance(len(X), float(move.max()), float(np.abs(exact).max()))


def _in_float64(model: ModulePredictor, X: np.ndarray) -> np.ndarray:
    """The outputs of a copy on the processor, with weights and inputs in float64."""
    module = copy.deepcopy(model.module).cpu().double()
    parts = []
    for first in range(0, len(X), model.batch):
        chunk = np.array(X[first : first + model.batch])
        inputs = torch.from_numpy(chunk.astype(np.float64) if chunk.dtype.kind == "f" else chunk)
        try:
            with torch.no_grad():
                made = logits(module(inputs), len(chunk))
        except RuntimeError as error:
            fix = "let forward take the type of its weights, or declare a tolerance by hand"
            raise InputError("module", "one that also runs in float64", error, fix) from None
        parts.append(made.numpy())
    if parts[0].dtype != np.float64:
        got, fix = str(parts[0].dtype), "let forward keep the type of its weights"
        raise InputError("outputs of the copy", "float64", got, fix)
    return np.concatenate(parts)
