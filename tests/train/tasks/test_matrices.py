"""Input matrices: laws of entries against scipy, planted maps against numpy."""

import math

import numpy as np
import pytest
from scipy import special, stats

from dudley.core.backend import torch
from dudley.core.errors import DudleyError
from dudley.core.philox import Stream, key, keys_tensor, normal
from dudley.train.tasks.entries import entries
from dudley.train.tasks.matrices import Matrices
from each import each

KEYS = keys_tensor([key("matrices", e) for e in range(4)])
CELLS, CELL = keys_tensor([key("cell", c) for c in range(2)]), torch.tensor([1, 0, 0, 1])


def pareto(α):
    """The symmetric Pareto law's distribution function."""
    return lambda x: np.where(x < 0, np.abs(x) ** -α / 2, 1 - np.abs(x) ** -α / 2)


@pytest.mark.parametrize(
    ("law", "tail", "distribution"),
    [
        ("gaussian", None, stats.norm.cdf),
        ("student", 1, stats.t(1).cdf),
        ("student", 3, stats.t(3).cdf),
        ("pareto", 2.5, pareto(2.5)),
        ("pareto", 1, pareto(1)),
    ],
)
def test_laws_of_entries(law, tail, distribution):
    x = entries(law, tail)(KEYS, Stream.INPUTS, 0, 20_000).flatten().numpy()
    assert stats.kstest(x, distribution).pvalue > 1e-3
    assert np.isfinite(x).all()
    far = np.sort(distribution(x))  # the far tail too: of 80,000 values, the fiftieth from each end
    assert stats.beta(50, 80_000 - 49).cdf(far[49]) == pytest.approx(0.5, abs=0.4999)
    assert stats.beta(50, 80_000 - 49).cdf(1 - far[-50]) == pytest.approx(0.5, abs=0.4999)


def test_entries_are_prefixes():
    for law, tail in (("student", 2), ("pareto", 3)):
        draw = entries(law, tail)
        assert torch.equal(draw(KEYS, 1, 0, 7), draw(KEYS[:, :], 1, 0, 30)[:, :7])


def test_the_linear_map():
    task = Matrices(T=3, d=5, m=20)
    data = task.sample(KEYS)
    A = normal(KEYS, Stream.INDICES, 0, 15).double().numpy() / math.sqrt(15)
    expected = np.einsum("enk,ek->en", data.inputs.reshape(4, 20, 15).double().numpy(), A)
    assert data.labels.dtype == torch.float32
    assert np.allclose(data.labels.numpy(), expected, rtol=1e-6, atol=1e-6)


def test_the_head():
    task = Matrices(T=3, d=5, planted="head", law="student", tail=3, holdout=20)
    data = task.held_out(KEYS, CELLS, CELL)
    assert data.inputs.shape == (2, 20, 3, 5)
    u, v = np.split(normal(KEYS, Stream.INDICES, 0, 10).double().numpy() / math.sqrt(5), 2, axis=1)
    for e in range(4):
        X = data.inputs[CELL[e]].double().numpy()
        expected = (special.softmax(X @ u[e], axis=-1) * (X @ v[e])).sum(-1)
        assert np.allclose(data.labels[e].numpy(), expected, rtol=1e-6, atol=1e-6)


def test_classes_and_their_noise():
    fields = {"T": 2, "d": 3, "m": 4000, "kind": "classification", "planted": "head"}
    clean, noisy = Matrices(**fields).sample(KEYS), Matrices(**fields, noise=0.1).sample(KEYS)
    assert torch.equal(clean.inputs, noisy.inputs) and clean.labels.dtype == torch.int64
    assert torch.equal(clean.labels, (Matrices(**fields).target(clean.inputs, KEYS) > 0).long())
    rate = float((clean.labels != noisy.labels).double().mean())
    assert abs(rate - 0.1) < 4.5 * math.sqrt(0.1 * 0.9 / 16000)


def test_noise_of_regression_spares_the_holdout():
    clean, noisy = Matrices(T=2, d=3, m=4000), Matrices(T=2, d=3, m=4000, noise=0.5)
    residual = (noisy.sample(KEYS).labels - clean.sample(KEYS).labels).double().flatten().numpy()
    assert stats.kstest(residual / 0.5, "norm").pvalue > 1e-3
    assert torch.equal(clean.held_out(KEYS).labels, noisy.held_out(KEYS).labels)
    loud = Matrices(T=2, d=3, noise=0.5, holdout_noise=True).held_out(KEYS)
    assert not torch.equal(loud.labels, clean.held_out(KEYS).labels)


def test_draws_are_prefixes_and_free_of_neighbours():
    fields = {"T": 2, "d": 3, "law": "pareto", "tail": 2, "noise": 0.1, "planted": "head"}
    large, small = Matrices(**fields, m=50).sample(KEYS), Matrices(**fields, m=20).sample(KEYS)
    assert torch.equal(small.inputs, large.inputs[:, :20])
    assert torch.allclose(small.labels, large.labels[:, :20])
    alone = Matrices(**fields, m=50).sample(KEYS[2:3])
    assert torch.equal(alone.inputs[0], large.inputs[2])
    assert torch.equal(alone.labels[0], large.labels[2])
    fresh = Matrices(**fields).stream(KEYS, torch.tensor(0), 50)
    assert not torch.equal(fresh.inputs, large.inputs)


@each(
    "wrong",
    [
        {"T": 0},
        {"law": "cauchy"},
        {"law": "student"},
        {"law": "student", "tail": 2.5},
        {"law": "pareto", "tail": 0},
        {"tail": 3},
        {"planted": "mlp"},
        {"kind": "ranking"},
        {"noise": -1},
        {"noise": 1.5, "kind": "classification"},
    ],
)
def test_refusals(wrong):
    with pytest.raises(DudleyError):
        Matrices(**{"T": 2, "d": 3, **wrong})
