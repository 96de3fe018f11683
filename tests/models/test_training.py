"""The models as torch modules: gradients, first weights, training, dropout, state."""

from __future__ import annotations

import copy
import io
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats

import dudley as du
from dudley.models import (
    AndClassifier,
    Layers,
    MajorityClassifier,
    MultiHead,
    ShallowEncoder,
    SingleHead,
)
from dudley.models.dropout import Dropped, with_dropout
from each import each
from model_cases import CASES


@each("name", CASES)
def test_gradients_are_those_of_the_formula(name):
    model = CASES[name].model()
    X = CASES[name].inputs(model, n=1)
    names = [n for n, _ in model.named_parameters()]

    def run(*weights):
        named = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(model, named, (X,)).tanh().sum()

    weights = tuple(W.detach().clone().requires_grad_() for W in model.parameters())
    assert torch.autograd.gradcheck(run, weights, eps=1e-7, atol=1e-5, fast_mode=True)
    model(CASES[name].inputs(model, n=40) * 2).square().sum().backward()
    still = [n for n, W in model.named_parameters() if W.grad is None or not W.grad.any()]
    free = {n for n in names if n.endswith("b_K")}  # a bias of the keys moves no softmax
    assert set(still) <= free, still


@pytest.mark.parametrize("block", ["trauger", "li"])
def test_rows_of_zeros_have_a_gradient(block):
    """A row that ReLU silenced reaches Π as zeros; training must survive it."""
    model, X = Layers(4, 2, block=block), torch.zeros(1, 3, 4)
    model(X).sum().backward()
    assert all(bool(torch.isfinite(W.grad).all()) for W in model.parameters())


def test_inputs_get_gradients():
    model, source = SingleHead(4, seed=0).double(), torch.Generator().manual_seed(0)
    X = torch.randn(2, 3, 4, generator=source, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda X: model(X), (X,))


def sampled_std(values, std, kurtosis=3.0):
    """Is the standard deviation that of the law, within five standard errors?"""
    values = np.ravel(values.detach().double().numpy())
    error = std * math.sqrt((kurtosis - 1) / 4 / values.size)
    assert abs(values.std() - std) < 5 * error, (values.std(), std)
    assert abs(values.mean()) < 5 * std / math.sqrt(values.size)


def test_lecun_weights():
    model = ShallowEncoder(48, 300, seed=1)
    weights = model.weights[0]
    for W in (weights.W_Q, weights.W_K, weights.W_v):
        sampled_std(W, 1 / math.sqrt(48))
    sampled_std(model.weights[1].w, 1 / math.sqrt(300))
    assert stats.kstest(weights.W_Q.detach().flatten() * math.sqrt(48), "norm").pvalue > 1e-4
    assert not torch.equal(weights.W_Q, weights.W_K)


def test_min_gpt_weights():
    model = AndClassifier(T=100, seed=1)
    for path, W in model.named_weights():
        name = str(path[-1])
        if name.startswith("b"):
            assert not W.any(), path
        elif name == "gain":
            assert (W == 1).all(), path
        else:
            sampled_std(W, 0.02)
    shapes = {".".join(map(str, path)): tuple(W.shape) for path, W in model.named_weights()}
    assert shapes["0.W_E"] == (3, 64) and shapes["1.P"] == (101, 64)
    assert shapes["2.0.1.W_Q"] == (64, 64) and shapes["2.1.1.W_1"] == (64, 256)
    assert shapes["4.W"] == (64, 2)
    assert model.node.nodes[2].nodes[0].inner.nodes[1].H == 16  # pyright: ignore
    counted = sum(W.numel() for W in model.parameters())
    d = 64
    block = 4 * (d * d + d) + (d * 4 * d + 4 * d) + (4 * d * d + d) + 4 * d
    assert counted == 3 * d + 101 * d + block + 2 * d + 2 * d


def test_keras_weights():
    """Uniform: limits √(6/(fan_in + fan_out)), fans of (d, H, k) kernels d·H and d·k."""
    model = MajorityClassifier(T=20, seed=1)
    limits = {
        "W_Q": math.sqrt(6 / (128 + 4096)), "W_K": math.sqrt(6 / (128 + 4096)),
        "W_v": math.sqrt(6 / (128 + 4096)), "W_c": math.sqrt(6 / (2 * 64 + 2 * 64)),
        "W_1": math.sqrt(6 / 128), "W": math.sqrt(6 / 66),
    }  # fmt: skip
    for path, W in model.named_weights():
        limit = limits.get(str(path[-1]), 0.0)
        assert float(W.detach().abs().max()) <= limit
        if limit:
            sampled_std(W, limit / math.sqrt(3), kurtosis=1.8)
            assert float(W.detach().abs().max()) > 0.95 * limit
    assert model.weights[0].W_Q.shape == (64, 128) and model.weights[0].W_c.shape == (128, 64)


def test_seeds():
    first, same, other = SingleHead(4, seed=3), SingleHead(4, seed=3), SingleHead(4, seed=4)
    assert torch.equal(first.weights[0].W_v, same.weights[0].W_v)
    assert not torch.equal(first.weights[0].W_v, other.weights[0].W_v)
    other.reset_parameters(3)
    assert torch.equal(first.weights[0].W_v, other.weights[0].W_v)
    torch.manual_seed(0)
    before = torch.rand(1)
    torch.manual_seed(0)
    SingleHead(4, seed=torch.Generator().manual_seed(3))
    assert torch.equal(before, torch.rand(1))  # the global random numbers are left alone
    tables = [MajorityClassifier(4, 5, seed=s).table for s in (1, 1, 2)]
    assert torch.equal(tables[0], tables[1]) and not torch.equal(tables[0], tables[2])


@each("name", [name for name in CASES if not CASES[name].rows])
def test_a_few_steps_of_training_reduce_the_loss(name):
    case = CASES[name]
    model = case.model(moved=0.1)
    X = case.inputs(model, 32)
    goal = (X[:, 0].sum(-1) > X[:, 0].sum(-1).median()).long()
    if name == "and classifier":
        goal = X[:, 0, 1].long()
    optimiser = torch.optim.Adam(model.parameters(), 0.03)

    def loss():
        Y = model(X)[:, 0]
        if Y.shape[-1] == 2:
            return F.cross_entropy(Y, goal)
        return F.binary_cross_entropy_with_logits(Y[:, 0], goal.double())

    first = float(loss().detach())
    for _ in range(60):
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()
    assert float(loss().detach()) < 0.9 * first


@each("name", CASES)
def test_evaluation_is_deterministic_and_state_travels(name):
    case = CASES[name]
    model, fresh = case.model(seed=0), case.make(seed=5).double().eval()
    X = case.inputs(model)
    assert torch.equal(model(X), model(X))
    assert not torch.equal(model(X), fresh(X))
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    fresh.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(model(X), fresh(X))
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for W in twin.parameters():
            W.zero_()
    assert torch.equal(model(X), fresh(X))
    assert model.description(case.tokens(model)) == fresh.description(case.tokens(fresh))


@each("name", CASES)
def test_single_precision_by_default(name):
    model = CASES[name].make(seed=0)
    assert {W.dtype for W in model.state_dict().values()} == {torch.float32}
    twin = copy.deepcopy(model).double().eval()
    X = CASES[name].inputs(twin)
    near = model.eval()(X.float())
    assert near.dtype == torch.float32
    torch.testing.assert_close(near.double(), twin(X), rtol=1e-3, atol=1e-4)


def test_dropout_acts_in_training_only():
    model = AndClassifier(6, 8, 2, dropout=0.5, seed=1)
    X = model.tokens(torch.tensor([[0, 1, 1, 0, 1, 0]]))
    assert model.training and not torch.equal(model(X), model(X))
    torch.manual_seed(3)
    once = model(X)
    torch.manual_seed(3)
    assert torch.equal(once, model(X))
    model.eval()
    assert torch.equal(model(X), model(X))
    assert model.description(model.inputs) == model.train().description(model.inputs)
    still = AndClassifier(6, 8, 2, dropout=0.0, seed=1)
    assert torch.equal(still(X), model.eval()(X))


def test_dropout_stands_in_the_four_places():
    """Embeddings, attention weights, both residual branches; a mean over draws finds the size."""
    model = AndClassifier(6, 8, 2, dropout=0.25)
    text = repr(model.noisy)
    assert text.count("Dropped(") == 3 and text.count("DroppedWeights(") == 1
    branching = with_dropout(du.Residual(du.Dense(3, du.Spectral(1.0))), residual=0.25)
    torch.manual_seed(0)
    X = torch.ones(4000, 1, 3)
    branch = branching.apply({"W": torch.eye(3)}, X) - X
    survives = branch != 0
    assert abs(float(survives.float().mean()) - 0.75) < 5 * math.sqrt(0.25 * 0.75 / branch.numel())
    torch.testing.assert_close(branch[survives], torch.full_like(branch[survives], 1 / 0.75))


def test_attention_dropout_thins_the_weights_out():
    node = du.Head(2, du.Spectral(1.0), du.Spectral(1.0), sigma="identity", query="cls")
    thinned = with_dropout(node, attention=0.5)
    X = torch.eye(2).expand(2000, 2, 2)
    torch.manual_seed(0)
    Y = thinned.apply({"W_QK": torch.zeros(2, 2), "W_v": torch.eye(2)}, X)
    assert sorted(set(Y.flatten().tolist())) == [0.0, 1.0]  # ½ kept and doubled, or dropped
    assert abs(float(Y.mean()) - 0.5) < 5 * 0.5 / math.sqrt(Y.numel())


def test_a_network_with_dropout_is_not_bounded():
    model = AndClassifier(6, 8, 2)
    for noisy in (model.noisy, Dropped(du.ProjectRows(), 0.1)):
        with pytest.raises(du.InputError, match="dropout"):
            noisy.facts(model.inputs.signal(3))
    attention = with_dropout(du.Head(3, du.Spectral(1.0), du.Spectral(1.0)), attention=0.1)
    with pytest.raises(du.InputError, match="dropout"):
        attention.facts(model.inputs.signal(3))
    with pytest.raises(du.InputError, match="dropout of residual"):
        with_dropout(du.ProjectRows(), residual=1.0)
    S = du.Spectral(1.0)
    with pytest.raises(du.InputError, match="linear"):
        with_dropout(du.MultiHeadAttention(4, 2, S, S, S, S, attention="linear"), attention=0.1)


def test_decay_is_for_matrices_of_linear_maps_only():
    model = AndClassifier(6, 8, 2)
    with_decay, without = model.decayed()
    names = {id(W): n for n, W in model.named_parameters()}
    kinds = {names[id(W)].rpartition(".")[2] for W in with_decay}
    assert kinds == {"W_Q", "W_K", "W_v", "W_c", "W_1", "W_2", "W"}
    assert {names[id(W)].rpartition(".")[2] for W in without} >= {"W_E", "P", "gain", "bias"}
    assert len(with_decay) + len(without) == len(list(model.parameters()))


@pytest.mark.parametrize(
    "make",
    [
        lambda: SingleHead(0),
        lambda: MultiHead(4, H=0),
        lambda: Layers(4, 0),
        lambda: ShallowEncoder(4, -1),
        lambda: MajorityClassifier(4, 2),
        lambda: SingleHead(4, sigma=3),
        lambda: AndClassifier(4, 6, 4),
    ],
)
def test_sizes_that_make_no_model_are_refused(make):
    with pytest.raises(du.InputError):
        make()


def test_unknown_names_are_refused():
    with pytest.raises(du.UnknownName, match="trauger"):
        Layers(4, 1, block="traugr")
    with pytest.raises(du.UnknownName, match="relu"):
        SingleHead(4, sigma="rellu")
