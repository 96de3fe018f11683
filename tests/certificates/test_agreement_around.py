"""The τ rule around a start: which counts of another machine a verifier accepts."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dudley as du
from certificates.arounds import halves
from dudley.certificates.around.coded import CodedAround
from dudley.certificates.around.hashed import HashedPoint
from dudley.certificates.around.posterior import AroundPosterior
from dudley.certificates.around.start import ModuleStart
from dudley.certificates.around.words import WordSpace
from dudley.certificates.data import Dataset
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.methods.occam_around.declared import OccamAroundDeclared
from dudley.certificates.methods.occam_around.method import OccamAround
from dudley.certificates.methods.pac_bayes_around.declared import PacBayesAroundDeclared
from dudley.certificates.methods.pac_bayes_around.method import PacBayesAround
from dudley.core.backend import torch

DATA, TOLERANCE = Dataset(halves(800).X, np.ones(800, np.int64)), 0.1


class OffModule(torch.nn.Linear):
    """The same weights and the same hash; a machine whose arithmetic adds ``off`` to a logit."""

    off = 0.0

    def forward(self, input):
        return super().forward(input) + self.off * torch.tensor([1.0, 0.0])


def start(off: float) -> ModuleStart:
    module = OffModule(2, 2)
    module.off = off
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[-0.5, 0.1], [0.5, 0.0]]))
        module.bias.zero_()
    return ModuleStart(ModulePredictor(module.eval()))


def coded(off: float, **declared: Any) -> dict[str, Any]:
    at = start(off)
    space = WordSpace(at, dimensions=(4,), levels=(3,))
    point = HashedPoint(4, 3, 0.25, np.array([1, 0, -1, 1]))
    model = CodedAround(space, space.write("hashed", "*", point))
    whole = OccamAroundDeclared(
        start=at.sha256, dimensions=(4,), levels=(3,), tolerance=TOLERANCE, **declared
    )
    return OccamAround().made(model, DATA, whole).to_json()


def posterior(off: float) -> AroundPosterior:
    at = start(off)
    return AroundPosterior(at, "*", at.arrays(at.names("*")), {"weight": 0.05, "bias": 0.05})


def drawn(off: float, tolerance: float = TOLERANCE) -> dict[str, Any]:
    Q = posterior(off)
    declared = PacBayesAroundDeclared(
        start=Q.start.sha256, tolerance=tolerance, draws=60, examples=400
    )
    return PacBayesAround().made(Q, DATA, declared).to_json()


@pytest.mark.parametrize("declared", [{}, {"pool": 2000}])
@pytest.mark.parametrize("off", [-0.4, 0.4])
def test_a_word_is_verified_by_a_machine_within_half_the_tolerance(off, declared):
    file = coded(off * TOLERANCE, **declared)
    seen = du.verify_around(file, start(0.0), DATA)
    assert seen.holds, seen.differences
    assert any(line.startswith("failures: this machine's") for line in seen.remarks)
    assert not du.verify_around(file, start(off * TOLERANCE), DATA).remarks


def test_a_posterior_is_verified_by_a_machine_within_half_the_tolerance():
    for off in (-0.4, 0.4):
        file = drawn(off * TOLERANCE)
        seen = du.verify_around(file, start(0.0), DATA, posterior(0.0))
        assert seen.holds, seen.differences
        assert any(line.startswith("mean_failure_at_most: this machine's") for line in seen.remarks)
        there = posterior(off * TOLERANCE)
        assert not du.verify_around(file, there.start, DATA, there).remarks


@pytest.mark.parametrize("off", [-3.0, 3.0])
def test_a_machine_further_off_agrees_with_neither(off):
    word, bayes = coded(off * TOLERANCE), drawn(off * TOLERANCE)
    assert not du.verify_around(word, start(0.0), DATA).holds
    assert not du.verify_around(bayes, start(0.0), DATA, posterior(0.0)).holds


def test_without_a_tolerance_only_the_own_numbers_hold():
    file = drawn(0.001, tolerance=0.0)
    assert not du.verify_around(file, start(0.0), DATA, posterior(0.0)).holds
    maker = posterior(0.001)
    assert du.verify_around(file, maker.start, DATA, maker).holds


def test_claims_outside_the_limits_are_refused():
    """A smaller number of failures than at half the tolerance is no bound, and is seen."""
    word, bayes = coded(0.0), drawn(0.0)
    for file, name, claim in (
        (word, "failures", 0), (word, "share_failures", 3), (bayes, "mean_failure_at_most", 0.0),
        (bayes, "mean_failure", 0.0), (bayes, "mean_failures", 0),
    ):  # fmt: skip
        forged = copy.deepcopy(file)
        forged["facts"][name] = claim
        Q = posterior(0.0) if file is bayes else None
        assert not du.verify_around(forged, start(0.0), DATA, Q).holds, name


def test_draws_of_one_posterior_are_not_those_of_another_with_its_hash():
    """The hash of a module does not tell its code: what was counted stays with the object."""
    here, there = posterior(0.0), posterior(30.0)
    assert here.sha256 == there.sha256
    drawn(0.0)
    file = drawn(30.0)
    assert file["facts"]["mean_failure"] > 0.4
    assert not du.verify_around(file, here.start, DATA, here).holds


def test_a_file_that_asks_for_more_examples_than_there_are_takes_no_room():
    forged = drawn(0.0)
    forged["declared"]["examples"] = 2**52
    assert not du.verify_around(forged, start(0.0), DATA, posterior(0.0)).holds
