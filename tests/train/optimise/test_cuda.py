"""On a GPU, captured in a CUDA graph, an update walks as it does on the processor."""

from __future__ import annotations

import pytest

from dudley.core.backend import torch
from dudley.train.optimise.adam import Adam, AdamW
from dudley.train.optimise.balls import WeightBall
from dudley.train.optimise.clip import Clipped
from dudley.train.optimise.constrained import Constrained
from dudley.train.optimise.descent import SGD, GradientDescent
from dudley.train.optimise.penalties import Penalty
from dudley.train.optimise.schedules import Cosine, Warmup

E, STEPS = 3, 6
BALLS = (
    WeightBall("l11", 1.0, "W_Q"),
    WeightBall("col21", 0.5, "W_K"),
    WeightBall("fro", 0.2, "b", "start"),
)
CASES = [
    Adam(),
    AdamW(),
    SGD(nesterov=True),
    GradientDescent(),
    Constrained(Clipped(AdamW()), BALLS, (Penalty("row21", 0.1, "W_*"),)),
]
SINGULAR = Constrained(
    GradientDescent(), (WeightBall("op", 0.5, "W_Q"), WeightBall("nuc", 0.5, "W_K"))
)


def drawn(seed):
    g = torch.Generator().manual_seed(seed)
    shapes = {"0.W_Q": (4, 6), "0.W_K": (4, 6), "1.b": (1, 3)}
    return {n: torch.randn(E, *s, generator=g, dtype=torch.float64) for n, s in shapes.items()}


def walked(optimiser, device, captured):
    weights = {n: W.to(device) for n, W in drawn(0).items()}
    target = {n: W.to(device) for n, W in drawn(1).items()}
    state = optimiser.start(weights)
    alive = torch.ones(E, dtype=torch.bool, device=device)
    schedule = Warmup(2, Cosine(10))

    def step():
        rate = schedule.rate(state["step"], 0.1)
        grads = {n: W - target[n] for n, W in weights.items()}
        optimiser.update(weights, grads, state, rate, alive, dict.fromkeys(weights, True))

    first = {n: x.clone() for n, x in (weights | state).items()}
    if captured:
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        for name, x in (weights | state).items():
            x.copy_(first[name])
        step = graph.replay
    for t in range(STEPS):
        alive[1] = t < 3
        step()
    return {n: W.cpu() for n, W in weights.items()}


@pytest.mark.parametrize("optimiser", [*CASES, SINGULAR], ids=lambda unit: str(unit)[:40])
def test_a_gpu_walks_as_the_processor(require, optimiser):
    require("cuda", torch.cuda.is_available(), "no GPU")
    here = walked(optimiser, "cpu", captured=False)
    there = walked(optimiser, "cuda", captured=optimiser.capturable)
    for name in here:
        torch.testing.assert_close(there[name], here[name], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("optimiser", CASES, ids=lambda unit: str(unit)[:40])
def test_no_value_is_asked_for(optimiser):
    """What a graph captures: a tensor without values, as on a device, refuses to tell any."""
    weights = {n: W.to("meta") for n, W in drawn(0).items()}
    state, alive = optimiser.start(weights), torch.ones(E, dtype=torch.bool, device="meta")
    rate = Warmup(2, Cosine(10)).rate(state["step"], 0.1)
    optimiser.update(weights, dict(weights), state, rate, alive, dict.fromkeys(weights, True))
    with pytest.raises(RuntimeError):
        rate.tolist()
