"""A cover that a file adds takes part in the minimum, and a packing can judge it."""

from __future__ import annotations

import math

import pytest

import dudley as du
from dudley.classes.covers.base import COVERS
from dudley.classes.linear import LinearMap
from dudley.theorems.witness.linear_maps import linear

SOURCE = '''
from dataclasses import dataclass

import numpy as np

from dudley.classes.covers.base import COVERS, Cover, log_of
from dudley.core.entropy import Scope
from dudley.core.rounding import up


@COVERS.register("one-weight")
@dataclass(frozen=True)
class OneWeight(Cover):
    """One weight in [−B, B]: ⌈B/ε⌉ intervals of length 2ε, whose middles are members."""

    name = "one-weight"
    scope = Scope.UNIFORM
    latex = r"\\log N(\\varepsilon)\\le\\log\\lceil B/\\varepsilon\\rceil"
    citation = "intervals"

    @classmethod
    def of(cls, problem):
        if problem.shape == (1, 1) and not problem.centered:
            yield cls(problem.radius, True)

    def log_entropy(self, ratio, log_n):
        return log_of(up(np.log(ratio.ceil()), 8))
'''


@pytest.fixture
def one_weight(add):
    yield add("one_weight", SOURCE).OneWeight
    COVERS.remove("one-weight")


def test_it_covers_what_it_knows(one_weight):
    maps = LinearMap((1, 1), du.L11(3.625))
    sizes = maps.entropy().each(math.log(0.5))
    assert math.exp(float(sizes["one-weight"])) == pytest.approx(math.log(8))
    assert 0.8 * math.log(8) < linear(maps, 0.5, 1.0).value <= math.log(8)
    assert "one-weight" not in LinearMap((2, 1), du.L11(3.625)).entropy().each(math.log(0.5))


def test_it_is_gone_afterwards():
    assert "one-weight" not in COVERS
