"""The hold-out beside a choice: what is chosen, tested and paid, whatever the order of a file."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dudley as du
from certificates.validity import allowed
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.methods.selection.candidates import CandidateFactor, CandidateList
from dudley.certificates.methods.selection.outcomes import Outcomes
from dudley.certificates.selection import CertifiedSelection
from dudley.core.errors import InputError

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 400)
NAMES = [f"judge {i}" for i in range(30)]
SAID = np.stack([np.where(RNG.random(400) < 0.05 + i / 60, (Y + 1) % 3, Y) for i in range(30)], 1)


def chosen(said: np.ndarray = SAID, y: np.ndarray = Y, **declared) -> CertifiedSelection:
    return du.certify_selection(NAMES, said, y, **declared)


def test_every_split_is_tested_on_what_the_choice_did_not_see_at_its_share_of_delta():
    beside = chosen(among=2).beside(seed=0)
    assert [split.held_out for split in beside.splits] == [40, 80, 160] and beside.n == 400
    c = math.log(3 * 2 / 0.05)
    for split in beside.splits:
        assert split.value == pytest.approx(binomial_upper(split.errors, split.held_out, c))
        assert split.errors <= (SAID[:, split.candidate] != Y).sum()
    assert beside.best.value == min(split.value for split in beside.splits)


def test_the_sentence_compares_both_and_rounds_up():
    result = chosen()
    beside = result.beside(seed=0)
    words = beside.against(result.certificate)
    assert "hold-out" in words and "selection" in words and "the choice among 30 costs" in words
    assert float(str(beside).split()[3]) >= beside.best.value


def test_the_order_of_a_file_has_no_say():
    rows = np.random.default_rng(1).permutation(400)
    assert chosen(SAID[rows], Y[rows]).beside(seed=0) == chosen().beside(seed=0)
    assert chosen().beside(seed=1) != chosen().beside(seed=0)
    assert chosen().beside().seed != chosen().beside().seed, "drawn where none is given"


def test_thresholds_are_chosen_on_the_first_part_too():
    y = RNG.integers(0, 2, 300)
    scores = (y + 0.3 * RNG.standard_normal(300))[:, None]
    listed = CandidateList((CandidateFactor("cut", ("0.1", "0.5", "0.9")),))
    beside = du.certify_selection(listed, scores, y).beside(seed=0)
    assert {split.candidate for split in beside.splits} == {1}


def test_predictions_of_one_candidate_cannot_be_chosen_from():
    result = chosen()
    alone = result.outcomes.of_chosen(result.candidates, result.index)
    with pytest.raises(InputError, match="predictions to choose from"):
        CertifiedSelection(result.certificate, result.candidates, alone).beside()
    with pytest.raises(InputError, match="shares held out"):
        result.beside(shares=(0.0, 0.5))
    assert isinstance(alone, Outcomes)


def test_the_best_split_fails_no_more_often_than_declared():
    """Judges that guess fair coins: each errs on half of all inputs, one looks good by chance."""
    runs, δ, failed, rng = 300, 0.2, 0, np.random.default_rng(2)
    for seed in range(runs):
        y = rng.integers(0, 2, 60)
        said = rng.integers(0, 2, (60, 30))
        failed += chosen(said, y, delta=δ).beside(seed=seed).best.value < 0.5
    assert allowed(failed, runs, δ)
