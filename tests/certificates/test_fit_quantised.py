"""Fits: closed forms against the reference forward, and models whose certificate is small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dudley.calculus.inversion import kl_upper
from dudley.certificates.base import METHODS
from dudley.certificates.codes.base import frame_of
from dudley.certificates.codes.kinds.sparse import SparsePart
from dudley.certificates.data import Dataset
from dudley.certificates.fit.forward import FitExamples, blank
from dudley.certificates.fit.quantised import Search, compress, prune, quantise, relaxed_bound
from dudley.certificates.fit.sparse import all_foldings, fit_sparse
from dudley.certificates.fit.subspace import fit_subspace
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.occam.declared import OccamChoices
from dudley.certificates.samples import draw_examples
from dudley.core.backend import torch
from dudley.core.errors import InputError

OCCAM = METHODS["occam"]
T = 8
BITS = {"name": "bits", "T": T}
HEAD = {
    "schema": "dudley.net/1",
    "input": {"T": T + 1, "V": 2 * T + 1},
    "layer": [
        {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1, "sigma": "identity"}
    ],
}
BLOCK = {
    "schema": "dudley.net/1",
    "input": {"T": T + 1, "V": 2 * T + 1},
    "layer": [
        {"node": "embedding", "d": 6, "W_E": "free"},
        {
            "node": "pre-ln-block",
            "H": 2,
            **dict.fromkeys(("W_Q", "W_K", "W_v", "W_c"), "free"),
            "ln": {"gain": "free"},
            "mlp": {"k": 7, "W_1": "free", "W_2": "free", "sigma": "relu"},
        },
        {"node": "logits", "V": 2, "W": "free", "b": "free"},
    ],
}
ROWS = {"name": "rows", "T": 3, "d": 4, "R": 2.0}
PATCHES = {
    "schema": "dudley.net/1",
    "input": {"T": 3, "d": 4, "X": {"row2inf": 2.0}},
    "layer": [
        {"node": "positions", "T": 3, "P": "free", "trained": True},
        {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 2, "sigma": "relu"},
    ],
}
PICTURES = {"name": "blocks", "height": 4, "width": 6, "side": 2, "white": 9.0}
SEEN = {
    "schema": "dudley.net/1",
    "input": {"T": 6, "d": 6, "X": {"row2inf": 1.0}},
    "layer": [
        {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 2, "sigma": "relu"},
    ],
}
SEEN_LATER = SEEN | {"layer": [{"node": "positions", "T": 6, "P": "free"}, *SEEN["layer"]]}
AND = draw_examples({"name": "and", "T": T, "s": 2}, 2000, seed=0)


def random_model(tables, encoding, seed=0) -> Hypothesis:
    generator = np.random.default_rng(seed)
    empty = blank(tables, encoding)
    weights = {name: generator.normal(size=W.shape) for name, W in empty.weights.items()}
    return Hypothesis(tables, encoding, weights)


@pytest.mark.parametrize(
    ("tables", "encoding", "closed"),
    [
        (HEAD, BITS, True),
        (BLOCK, BITS, True),
        (PATCHES, ROWS, False),
        (SEEN, PICTURES, True),
        (SEEN_LATER, PICTURES, False),
    ],
)
def test_forward_agrees_with_the_reference(tables, encoding, closed):
    model, generator = random_model(tables, encoding), np.random.default_rng(1)
    if encoding is BITS:
        data = AND.part(slice(0, 200))
    elif encoding is PICTURES:
        pictures = generator.integers(0, 12, (50, 4, 6)).astype(np.uint8)
        data = Dataset(pictures, generator.integers(0, 2, 50))
    else:
        data = Dataset(generator.normal(size=(50, 3, 4)), generator.integers(0, 2, 50))
    examples = FitExamples(model, data)
    assert (examples.closed is not None) == closed
    weights = {name: torch.tensor(W).float() for name, W in model.weights.items()}
    outputs, exact = examples.outputs(weights).numpy(), model.outputs(data.X)
    assert np.abs(outputs - exact).max() < 1e-5 * (1 + np.abs(exact).max())
    assert examples.errors(model.weights) == (model.margins(data) <= 0).sum()


def test_blocks_all_attended_alike():
    model = random_model(SEEN, PICTURES)
    flat = Hypothesis(SEEN, PICTURES, model.weights | {"0.v": np.zeros((6, 1))})
    X = np.random.default_rng(1).integers(0, 10, (50, 4, 6))
    data = Dataset(X, X[:, 0, 0] % 2)
    weights = {name: torch.tensor(W).float() for name, W in flat.weights.items()}
    outputs = FitExamples(flat, data).outputs(weights).numpy()
    assert np.abs(outputs - flat.outputs(X)).max() < 1e-6
    weights["0.v"].requires_grad_()  # scores that are trained are not left out
    FitExamples(flat, data).outputs(weights).sum().backward()
    assert weights["0.v"].grad is not None and weights["0.v"].grad.abs().sum() > 0


def test_causal_attention_has_no_closed_form():
    tables = BLOCK | {"layer": [BLOCK["layer"][0], BLOCK["layer"][1] | {"rope": True, "k": 4}]}
    assert FitExamples(blank(tables, BITS), AND).closed is None


@pytest.mark.parametrize(("share", "length"), [(0.0, 37), (0.01, 60), (0.3, 5)])
def test_relaxed_is_the_kl_inverse(share, length):
    c = (length * np.log(2) - np.log(0.05)) / 1000
    assert relaxed_bound(share, length, 1000, 0.05) == pytest.approx(
        kl_upper(share, float(c)), rel=1e-6
    )


def test_quantised_levels():
    part = quantise(np.array([[1.0, -0.3, 0.1]]), "plain", 4, digits=3)
    assert part.step == 0.25 and part.levels.tolist() == [[4, -1, 0]]
    assert quantise(np.zeros((2, 2)), "odd", 4).levels.sum() == 0


def test_the_search_only_goes_down_and_finds_the_planted_head():
    model = blank(HEAD, BITS)
    frame = frame_of(model, OCCAM.read_declared({}))
    search = Search(FitExamples(model, AND), frame, AND.n)
    generator = np.random.default_rng(0)
    hidden = [i for i in range(T) if AND.X[AND.y == 1, i].all()]
    start = generator.integers(-1, 2, (T + 1, 1))
    start[hidden], start[T] = 8, -5
    state = {
        "0.v": SparsePart("plain", 1.0, np.zeros((2 * T + 1, 1), int)),
        "0.W_v": SparsePart("odd", 1.0, start),
    }
    before = search.value(state)
    best, value = prune(search, state)
    assert value < before
    assert set(np.flatnonzero(best["0.W_v"].levels)) == {*hidden, T}
    assert search.examples.errors(search.weights(best)) == 0


def test_fit_sparse_and():
    folds = [{"0.W_v": "odd", "0.v": "zero"}]
    fitted = [
        fit_sparse(HEAD, BITS, AND, seed=0, foldings=folds, steps=150, batch=512) for _ in range(2)
    ]
    assert fitted[0].sha256 == fitted[1].sha256
    certificate = OCCAM(fitted[0], AND)
    assert certificate.facts.errors == 0 and certificate.facts.bits <= 40
    assert certificate.value < 0.016 and not certificate.vacuous
    trials = all_foldings(frame_of(fitted[0], OCCAM.read_declared({})))
    assert trials[0] == {"0.W_v": "plain", "0.v": "plain"} and len(trials) == 5


@pytest.mark.parametrize("rank", [0, 1])
def test_fit_subspace(rank):
    declared = {"dimensions": [12], "levels": [5]}
    model, word = fit_subspace(
        BLOCK, BITS, AND, D=12, L=5, rank=rank, steps=120, batch=128, lr=0.05, **declared
    )
    declaration = OCCAM.read_declared(declared)
    certificate = OCCAM.certify(model, AND, declaration, OccamChoices(word))
    assert certificate.facts.bits == word.length < 12 * np.log2(5) + 25
    if rank == 0:
        assert OCCAM(model, AND, **declared).facts.bits == word.length
    with pytest.raises(InputError):
        OCCAM.certify(model, AND, replace(declaration, seed=1), OccamChoices(word))
    with pytest.raises(InputError):
        fit_subspace(BLOCK, BITS, AND, D=13, L=5, **declared)


def test_compress_makes_a_certified_model_of_any():
    model = random_model(HEAD, BITS)
    W = model.weights["0.W_v"] * 0.01
    hidden = [i for i in range(T) if AND.X[AND.y == 1, i].all()]
    W[hidden], W[2 * T] = -np.pi, 1.7
    model = Hypothesis(HEAD, BITS, {"0.v": 0.02 * model.weights["0.v"], "0.W_v": W})
    assert (model.margins(AND) > 0).all()
    with pytest.raises(InputError):
        OCCAM(model, AND)
    certificate = OCCAM(compress(model, AND), AND)
    assert certificate.facts.errors == 0 and certificate.facts.bits <= 50
    single = Hypothesis(HEAD, BITS, {"0.v": 0 * W, "0.W_v": W})
    assert OCCAM(compress(single, AND, levels=(64,), looks=1), AND).value <= 1
