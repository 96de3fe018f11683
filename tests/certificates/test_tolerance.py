"""The measured tolerance: it covers what float32 does, and refuses what cannot be measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.predictor import margins
from dudley.certificates.tolerance import measured_tolerance
from dudley.core.backend import torch
from dudley.core.errors import InputError


def predictor(classes: int = 3, batch: int = 64) -> ModulePredictor:
    torch.manual_seed(0)
    first, last = torch.nn.Linear(50, 400), torch.nn.Linear(400, classes)
    return ModulePredictor(torch.nn.Sequential(first, torch.nn.GELU(), last).eval(), batch)


@pytest.mark.parametrize("classes", [1, 3])
def test_margins_of_other_batches_and_of_float64_stay_within_a_quarter_of_it(classes):
    rng = np.random.default_rng(0)
    X, other = (rng.standard_normal((500, 50)).astype(np.float32) for _ in range(2))
    y = rng.integers(0, max(2, classes), 500)
    measured = measured_tolerance(predictor(classes), X)
    assert 0 < measured.apart < measured.tolerance <= 1e-4
    assert math.log2(measured.tolerance).is_integer()
    here, alone = (margins(predictor(classes, batch).outputs(other), y) for batch in (500, 1))
    exact = ModulePredictor(predictor(classes).module.double().eval())
    there = margins(exact.outputs(other.astype(np.float64)), y)
    for moved in (here - alone, here - there):
        assert np.abs(moved).max() <= measured.tolerance / 4
    assert f"tolerance={measured.tolerance:.3g}" in str(measured)


def test_a_difference_that_all_logits_share_moves_no_margin():
    class Lifted(torch.nn.Module):
        def forward(self, X):
            return X + (1e-3 if X.dtype == torch.float32 else 0.0)

    X = np.ones((4, 2), np.float32)
    assert measured_tolerance(ModulePredictor(Lifted().eval()), X).apart < 1e-6


def test_what_cannot_be_measured_is_refused():
    class Rigid(torch.nn.Module):
        def forward(self, X):
            return X.float()

    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, X):
            return self.linear(X.float())

    class Broken(torch.nn.Module):
        def forward(self, X):
            return X / 0.0 * 0.0

    X = np.ones((4, 2), np.float32)
    for module, words in ((Rigid(), "float64"), (Mixed(), "float64"), (Broken(), "finite")):
        with pytest.raises(InputError, match=words):
            measured_tolerance(ModulePredictor(module.eval()), X)
    with pytest.raises(InputError, match="at least one"):
        measured_tolerance(predictor(), np.zeros((0, 50), np.float32))
    with pytest.raises(InputError, match="torch module"):
        measured_tolerance(object(), X)  # pyright: ignore[reportArgumentType]
