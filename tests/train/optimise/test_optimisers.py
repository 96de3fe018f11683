"""Optimisers of an ensemble walk, trial by trial, as torch.optim does alone."""

from __future__ import annotations

import pytest

from dudley.core.backend import torch
from dudley.train.optimise.adam import Adam, AdamW
from dudley.train.optimise.base import Optimiser
from dudley.train.optimise.clip import Clipped
from dudley.train.optimise.descent import SGD, GradientDescent
from each import each

E, STEPS, STOPS = 4, 50, 20  # trial 1 is finished after 20 steps
SHAPES = {"block.W_Q": (3, 5), "block.b": (1, 5), "head.W": (5, 2)}
DECAYED = {"block.W_Q": True, "block.b": False, "head.W": True}


def rates(e: int, t: int) -> float:
    return 0.02 * (1 + e) * 0.97**t


class Problem:
    """Per trial: 50 steps on ½ Σ curvature · (W − target)², a gradient that depends on W."""

    def __init__(self, dtype):
        g = torch.Generator().manual_seed(3)

        def draw():
            return {n: torch.randn(E, *s, generator=g, dtype=dtype) for n, s in SHAPES.items()}

        self.first, self.target = draw(), draw()
        self.curvature = {n: 3 * x.abs() for n, x in draw().items()}

    def grad(self, name, W, e: int | slice = slice(None)):
        return self.curvature[name][e] * (W - self.target[name][e])


def walked(optimiser: Optimiser, dtype, compiled: bool = False):
    problem = Problem(dtype)
    weights = {n: W.clone() for n, W in problem.first.items()}
    state = optimiser.start(weights)
    update = optimiser.update
    if compiled:
        update = torch.compile(update, backend="aot_eager", fullgraph=True)
    before = None
    for t in range(STEPS):
        alive = torch.tensor([True, t < STOPS, True, True])
        if t == STOPS:
            before = {n: x[1].clone() for n, x in (weights | state).items()}
        grads = {n: problem.grad(n, W) for n, W in weights.items()}
        if t >= STOPS:
            grads["head.W"][1] = torch.nan  # what a finished trial does not see
        rate = torch.tensor([rates(e, t) for e in range(E)], dtype=torch.float64)
        update(weights, grads, state, rate, alive, DECAYED)
    assert before is not None
    for name, tensor in (weights | state).items():
        assert torch.equal(tensor[1], before[name]), name
    assert state["step"].tolist() == [STEPS, STOPS, STEPS, STEPS]
    return weights


def walked_alone(factory, dtype, e: int, limit: float | None = None):
    problem = Problem(dtype)
    parameters = {n: torch.nn.Parameter(W[e].clone()) for n, W in problem.first.items()}
    groups = [
        {"params": [W for n, W in parameters.items() if DECAYED[n] is decays]}
        | ({} if decays else plain)
        for decays, plain in ((True, {}), (False, {"weight_decay": 0.0}))
    ]
    optimiser = factory(groups)
    for t in range(STOPS if e == 1 else STEPS):
        for n, W in parameters.items():
            W.grad = problem.grad(n, W.detach(), e)
        if limit is not None:
            torch.nn.utils.clip_grad_norm_(list(parameters.values()), limit)
        for group in optimiser.param_groups:
            group["lr"] = rates(e, t)
        optimiser.step()
    return {n: W.detach() for n, W in parameters.items()}


CASES = {
    "adam": (Adam(), lambda p: torch.optim.Adam(p)),
    "adam with an ℓ2 penalty": (
        Adam(betas=(0.8, 0.99), eps=1e-3, weight_decay=0.3),
        lambda p: torch.optim.Adam(p, betas=(0.8, 0.99), eps=1e-3, weight_decay=0.3),
    ),
    "adam that forgets": (Adam(betas=(0.0, 0.9)), lambda p: torch.optim.Adam(p, betas=(0.0, 0.9))),
    "adamw": (AdamW(weight_decay=0.3), lambda p: torch.optim.AdamW(p, weight_decay=0.3)),
    "sgd": (
        SGD(momentum=0.9, weight_decay=0.1),
        lambda p: torch.optim.SGD(p, momentum=0.9, weight_decay=0.1),
    ),
    "nesterov": (
        SGD(momentum=0.9, nesterov=True),
        lambda p: torch.optim.SGD(p, momentum=0.9, nesterov=True),
    ),
    "gd": (GradientDescent(weight_decay=0.1), lambda p: torch.optim.SGD(p, weight_decay=0.1)),
}


def apart(weights, factory, dtype, limit=None) -> float:
    """The largest distance from the trajectories' ends, relative to the weights' size."""
    worst = 0.0
    for e in range(E):
        for name, W in walked_alone(factory, dtype, e, limit).items():
            worst = max(worst, float((weights[name][e] - W).abs().max() / W.abs().max()))
    return worst


@each("case", CASES)
@each(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_walks_as_torch_does(case, dtype, tolerance):
    ours, theirs = CASES[case]
    assert apart(walked(ours, dtype), theirs, dtype) < tolerance


@pytest.mark.slow  # compiling takes seconds
@pytest.mark.parametrize("case", ["adam with an ℓ2 penalty", "adamw", "sgd", "nesterov", "gd"])
def test_compiled_the_same(case):
    """The masked path, which runs where a value must not be asked for, traced without a break.

    Other cases differ from these in numbers only, which a trace does not see.
    """
    ours, theirs = CASES[case]
    assert apart(walked(ours, torch.float64, compiled=True), theirs, torch.float64) < 1e-12


def test_clipped_walks_as_torch_does():
    ours, theirs = CASES["adamw"]
    weights = walked(Clipped(ours, 0.7), torch.float64)
    assert apart(weights, theirs, torch.float64, limit=0.7) < 1e-12
    assert apart(weights, theirs, torch.float64) > 1e-3  # and the clipping did something


def test_the_comparison_tells_rules_apart():
    weights = walked(Adam(weight_decay=0.3), torch.float64)
    assert apart(weights, CASES["adamw"][1], torch.float64) > 1e-3
    weights = walked(SGD(momentum=0.9, weight_decay=0.1), torch.float64)
    assert apart(weights, CASES["nesterov"][1], torch.float64) > 1e-3


@pytest.mark.parametrize("nesterov", [False, True])
def test_the_rate_inside_the_velocity(nesterov):
    """Keras' rule, written out for one number."""
    weights = walked(SGD(momentum=0.9, nesterov=nesterov, rate_inside=True), torch.float64)
    problem = Problem(torch.float64)
    for e in (0, 2):
        W = float(problem.first["head.W"][e, 0, 0])
        a, b = (float(x["head.W"][e, 0, 0]) for x in (problem.curvature, problem.target))
        v = 0.0
        for t in range(STEPS):
            g = a * (W - b)
            v = 0.9 * v - rates(e, t) * g
            W += 0.9 * v - rates(e, t) * g if nesterov else v
        assert float(weights["head.W"][e, 0, 0]) == pytest.approx(W, rel=1e-12)


def test_neighbours_do_not_matter():
    """Trial 2 alone ends where it ends in the pack, bit by bit."""
    problem = Problem(torch.float32)
    ends = []
    for trials in (slice(0, E), slice(2, 3)):
        weights = {n: W[trials].clone() for n, W in problem.first.items()}
        optimiser, n = Clipped(AdamW(), 1.0), len(weights["head.W"])
        state = optimiser.start(weights)
        for _ in range(5):
            grads = {name: problem.grad(name, W, trials) for name, W in weights.items()}
            alive = torch.ones(n, dtype=torch.bool)
            optimiser.update(weights, grads, state, torch.full((n,), 0.01), alive, DECAYED)
        ends.append({name: W[2 if n == E else 0] for name, W in weights.items()})
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in SHAPES)


def test_state_is_flat_and_can_be_saved():
    safetensors = pytest.importorskip("safetensors.torch")
    weights = Problem(torch.float32).first
    state = Adam().start(weights)
    assert set(state) == {"step"} | {f"{s}.{n}" for s in ("first", "second") for n in SHAPES}
    again = safetensors.load(safetensors.save(state))
    assert all(torch.equal(again[name], tensor) for name, tensor in state.items())


@pytest.mark.parametrize("case", CASES)
def test_none_means_that_all_are_alive(case):
    ends = []
    for alive in (None, torch.ones(E, dtype=torch.bool)):
        problem, optimiser = Problem(torch.float64), Clipped(CASES[case][0])
        weights = problem.first
        state = optimiser.start(weights)
        for _ in range(3):
            grads = {n: problem.grad(n, W) for n, W in weights.items()}
            optimiser.update(weights, grads, state, torch.full((E,), 0.1), alive, DECAYED)
        ends.append(weights | state)
    assert all(torch.equal(ends[0][n], ends[1][n]) for n in ends[0])
    assert ends[0]["step"].tolist() == [3] * E
