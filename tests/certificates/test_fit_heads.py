"""Training heads for a certificate: sparse, on their bounds, and certified as must hold."""

import numpy as np
import pytest

from dudley.certificates.data import Dataset
from dudley.certificates.fit.heads import HeadFit, fit_best, fit_head, tables
from dudley.certificates.methods.norm_cover.method import NormCover
from dudley.certificates.samples import draw_examples
from dudley.core.errors import InputError

SMALL = HeadFit(steps=220, polish=100, batch=384)


def test_a_sparse_and_is_found_and_certified():
    """T = 16, n = 10⁴: the hidden places and [CLS], and a number far below 6 %."""
    data = draw_examples({"name": "and", "T": 16, "s": 3}, 10_000, seed=7)
    model = fit_head(data, {"name": "bits", "T": 16}, SMALL)
    certificate = NormCover()(model, data, norms=["sparse"])
    assert certificate.value <= 0.01
    assert not certificate.vacuous
    assert np.abs(model.weights["0.W_v"]).max() == 1.0
    assert np.abs(model.weights["0.v"]).max() <= 8.0
    assert all(np.count_nonzero(W) <= 6 for W in model.weights.values())
    fresh = draw_examples({"name": "and", "T": 16, "s": 3}, 20_000, seed=7, split="test")
    assert not (model.margins(fresh) <= 0).any()


def test_the_same_seed_gives_the_same_head_and_settings_are_recorded():
    data = draw_examples({"name": "majority", "T": 6, "s": 3}, 400, seed=0)
    config = HeadFit(steps=30, polish=10, batch=64, seed=3)
    first, second = (fit_head(data, {"name": "bits", "T": 6}, config) for _ in range(2))
    assert first.sha256 == second.sha256
    assert (
        first.sha256
        != fit_head(
            data, {"name": "bits", "T": 6}, HeadFit(steps=30, polish=10, batch=64, seed=4)
        ).sha256
    )
    assert config.to_json()["seed"] == 3


def test_the_looked_up_scores_are_those_of_the_rows():
    """Bits are looked up, other encodings multiplied out: the same margins."""
    from dudley.certificates.fit.heads import _Training
    from dudley.core.backend import torch

    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 5)).astype(np.uint8)
    data = Dataset(X, X[:, 0].astype(np.int64))
    training = _Training(data, {"name": "bits", "T": 5}, SMALL)
    rows = torch.arange(40)
    fast = training.margins(rows)
    training.bits = None
    assert torch.allclose(fast, training.margins(rows), atol=1e-6)


def test_blocks_are_read_without_rows():
    from dudley.certificates.fit.heads import _Training
    from dudley.core.backend import torch

    X = np.random.default_rng(0).integers(0, 256, (40, 4, 6)).astype(np.uint8)
    blocks = {"name": "blocks", "height": 4, "width": 6, "side": 2, "white": 255.0}
    training = _Training(Dataset(X, (X[:, 0, 0] > 99).astype(np.int64)), blocks, SMALL)
    rows = torch.arange(40)
    fast = training.margins(rows)
    training.means = None
    assert torch.allclose(fast, training.margins(rows), atol=1e-6)


def test_rows_are_fitted_too():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 3, 4))
    data = Dataset(X, (X[:, :, 0].mean(axis=1) > 0).astype(np.int64))
    encoding = {"name": "rows", "T": 3, "d": 4, "R": 4.0}
    model = fit_head(data, encoding, HeadFit(steps=120, polish=0, batch=128, keep=0.0))
    assert (model.margins(data) > 0).mean() > 0.9
    assert tables(encoding)["input"]["d"] == 4


def test_the_better_of_two_trainings_is_kept():
    data = draw_examples({"name": "and", "T": 8, "s": 2}, 3000, seed=1)
    tried = [HeadFit(steps=2, polish=0, batch=64), HeadFit(steps=150, polish=60, batch=128)]
    model, used = fit_best(data, {"name": "bits", "T": 8}, tried, norms=["sparse"])
    assert used is tried[1]
    assert NormCover()(model, data).value < 0.05


def test_bad_settings_and_labels_are_refused():
    with pytest.raises(InputError):
        HeadFit(v_max=0.0)
    with pytest.raises(InputError, match="classes: expected at most 1000"):
        fit_head(Dataset(np.zeros((2, 2), np.uint8), np.arange(2) * 1000), {"name": "bits", "T": 2})
