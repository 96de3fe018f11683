"""The perceptron cover of columns whose norms have a bounded sum."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dudley.classes.counting import log_binomial
from dudley.classes.covers import perceptron
from dudley.classes.covers.base import log_of
from dudley.classes.covers.perceptron import by_column_norms
from dudley.classes.ratio import LogRatio
from planting import goes_red


def by_every_q(b: int, per_step: float, u: np.ndarray) -> np.ndarray:
    best = np.full(u.shape, math.inf)
    for q in np.unique(np.ceil(b * 2.0 ** np.arange(-3, 9))):
        steps = 2 * u + 2 * math.log1p(b / q) + math.log(per_step) + 1e-12
        best = np.minimum(best, np.logaddexp(steps, log_of(log_binomial(b, q))))
    return best


@pytest.mark.parametrize("b", [1, 2, 3, 5, 64, 768, 50_257])
def test_the_best_rounding_of_the_norms_is_found_as_by_trying_each(b):
    u = np.linspace(-1, 60, 4001)
    for per_step in (0.7, 14.5, 40.0):
        value = by_column_norms(b, per_step, LogRatio(u))
        assert np.allclose(value, by_every_q(b, per_step, u), rtol=1e-14, atol=1e-13)


def test_a_wrong_rounding_is_seen(monkeypatch):
    lines = perceptron._lines
    monkeypatch.setattr(perceptron, "_lines", lambda b: (*lines(b)[:2], lines(b)[2] + 0.2))
    goes_red(test_the_best_rounding_of_the_norms_is_found_as_by_trying_each, 64)
