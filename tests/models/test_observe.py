"""Activations measured on data are diagnostics: right numbers, and no guarantee accepts them."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
import torch

import dudley as du
from dudley.core.assumption import Status
from dudley.core.constraint import Observed
from dudley.models.observe import ENTROPY, observe
from each import each
from model_cases import CASES


@each("name", CASES)
def test_what_is_seen_is_what_happened(name):
    case = CASES[name]
    model = case.model()
    X = case.inputs(model, 5)
    seen = model.observe(X)
    assert seen.examples == 5
    assert float(seen.value("input")) == pytest.approx(float(X.norm(dim=-1).max()))
    last = [s for s in seen.rows if s.what != ENTROPY][-1]
    assert float(last.value) == pytest.approx(float(model(X).detach().norm(dim=-1).max()))
    entropies = [float(s.value) for s in seen.rows if s.what == ENTROPY]
    assert entropies and all(0 <= h <= math.log(X.shape[-2]) + 1e-12 for h in entropies)
    assert all(isinstance(s.value, Observed) for s in seen.rows)
    assert {a.status for a in seen.assumptions} == {Status.OBSERVED}
    assert len(str(seen).splitlines()) == 1 + len(seen.rows)
    facts = model.description(case.tokens(model)).facts(case.tokens(model).signal(model.width))
    assert float(last.value) <= float(facts.out.radius) * math.sqrt(2)  # two logits at most


def test_places_and_numbers_by_hand():
    model = CASES["and classifier"].model()
    X = CASES["and classifier"].inputs(model, 4)
    seen = model.observe(X)
    p = {n.removeprefix("weights."): W.detach() for n, W in model.named_parameters()}
    Z = X @ p["0.W_E"]
    assert float(seen.value("0 Dense")) == pytest.approx(float(Z.norm(dim=-1).max()))
    Z = Z + p["1.P"]
    assert float(seen.value("1 Positions")) == pytest.approx(float(Z.norm(dim=-1).max()))
    branch = model.node.nodes[2].nodes[0]  # pyright: ignore
    nest = [{n: p[f"2.0.{i}.{n}"] for n in own} for i, own in enumerate(
        (("gain", "bias"), ("W_Q", "W_K", "W_v", "W_c", "b_Q", "b_K", "b_v", "b_c"))
    )]  # fmt: skip
    after = branch.apply(nest, Z)
    assert float(seen.value("2.0 Residual")) == pytest.approx(float(after.norm(dim=-1).max()))
    with pytest.raises(du.InputError, match="1 Positions"):
        seen.value("nowhere")


def test_entropy_of_known_attention():
    node = du.Head(2, du.Spectral(1.0), du.Spectral(1.0), query="cls")
    X = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]])
    scores = torch.tensor([[0.0, 0.0], [math.log(2.0), 0.0]])  # the last row prefers the first
    seen = observe(node, {"W_QK": scores, "W_v": torch.eye(2)}, X)
    a = [1 / 2, 1 / 4, 1 / 4]
    wanted = -sum(x * math.log(x) for x in a)
    assert float(seen.value("Head", ENTROPY)) == pytest.approx(wanted)


def test_no_guarantee_accepts_what_was_observed():
    model = CASES["single head"].model()
    radius = model.observe(CASES["single head"].inputs(model)).value("input")
    tokens = du.Tokens(row2inf=radius, T=4)
    cap = du.capacity(model.description(tokens), tokens, n=1000)
    for union in (None, du.Grid()):
        with pytest.raises(du.NotYetPaid, match="measured on data"):
            cap.gap(0.05, union=union)
    declared = du.Head(4, du.Spectral(1.0), du.Spectral(1.0)) >> du.Readout(du.L2(1.0))
    with pytest.raises(du.NotYetPaid):
        du.capacity(declared, tokens, n=1000).gap(0.05)
    with pytest.raises(du.NotYetPaid):
        du.capacity(declared, tokens, n=1000).needed_n(0.5)


def test_observing_leaves_the_model_alone():
    model = CASES["and classifier"].make(seed=0)
    X = CASES["and classifier"].inputs(model, 2).float()
    before = {n: W.clone() for n, W in model.state_dict().items()}
    first, second = model.train().observe(X), model.observe(X)
    assert str(first) == str(second)  # without dropout, in training mode too
    assert model.training and all(W.grad is None for W in model.parameters())
    assert all(torch.equal(W, before[n]) for n, W in model.state_dict().items())


def test_an_observed_network_is_not_bounded():
    from dudley.models.observe import Watched

    with pytest.raises(du.InputError, match="observed"):
        Watched(du.ProjectRows(), print).facts(du.Tokens(1.0, T=2).signal(3))


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    ).stdout


def test_models_are_loaded_by_nobody_else():
    code = "import sys, dudley\n[getattr(dudley, n) for n in ('Head', 'capacity', 'Tokens')]\n"
    loaded = run(code + "print([m for m in sys.modules if 'torch' in m or 'models' in m])")
    assert loaded.strip() == "[]"
    code = "import sys, dudley as du; m = du.models; print('torch' in sys.modules, *dir(m))"
    listed = run(code).split()
    assert listed[0] == "False" and {"Block", "Model", "SingleHead"} <= set(listed)
    assert du.models.SingleHead.__name__ == "SingleHead"


def test_without_torch_there_is_one_clear_error():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try:\n    from dudley.models import SingleHead\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    said = run(code)
    assert said.startswith("ExtraMissing") and "pip install '.[torch]'" in said
