"""Pictures set apart: never in a sample, the same on every machine."""

from __future__ import annotations

import numpy as np
import pytest

from dudley.certificates.data import rows_of
from dudley.certificates.pictures import APART, pictures
from dudley.certificates.samples import draw_examples
from dudley.core.errors import InputError
from dudley.train.tasks.mnist import TRAIN


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_sample_holds_a_picture_that_is_apart(seed):
    apart, whole = pictures(split="apart"), pictures(seed=seed)
    assert apart.n == APART and whole.n == TRAIN - APART
    assert not rows_of(apart.X) & rows_of(whole.X)
    assert whole.repeated == apart.repeated == 0  # so that rows tell pictures apart


def test_seeds_draw_other_subsets_of_the_same_pool():
    first, second = pictures(10_000, 0), pictures(10_000, 1)
    shared = len(rows_of(first.X) & rows_of(second.X))
    assert 9_000 < shared < 9_200  # 10,000·10,000/11,000 is 9,091
    assert rows_of(pictures(seed=0).X) == rows_of(pictures(seed=1).X)
    assert np.array_equal(pictures(50, 0).X, first.X[:50])


def test_the_pictures_apart_do_not_change():
    """Their hash: another set would be one that nothing was chosen on."""
    assert pictures(split="apart").sha256.startswith("781ad88b088aca50")


def test_drawn_as_a_task():
    task = {"name": "mnist01", "tokens": "pictures"}
    assert draw_examples(task, 30, 2).sha256 == pictures(30, 2).sha256
    assert draw_examples(task, 2115, 2, "test").sha256 == pictures(split="test").sha256


def test_refusals():
    with pytest.raises(InputError, match="set apart"):
        pictures(TRAIN - APART + 1)
    with pytest.raises(InputError, match="1 to 2,115"):
        pictures(2116, split="test")
    with pytest.raises(InputError, match="split"):
        pictures(10, split="valid")
    with pytest.raises(InputError):
        pictures(0)
