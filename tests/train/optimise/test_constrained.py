"""Training inside balls: with any optimiser, every iterate of a trial that is alive."""

from __future__ import annotations

import pytest

from dudley.core.backend import torch
from dudley.core.errors import InputError, UnknownName
from dudley.core.norms import norm_named
from dudley.train.optimise.adam import Adam
from dudley.train.optimise.balls import WeightBall
from dudley.train.optimise.clip import Clipped
from dudley.train.optimise.constrained import Constrained
from dudley.train.optimise.descent import SGD, GradientDescent
from dudley.train.optimise.penalties import Penalty

E = 3


def drawn(scale=1.0, seed=0):
    g = torch.Generator().manual_seed(seed)
    shapes = {"0.W_Q": (4, 6), "0.W_K": (4, 6), "1.b": (1, 3)}
    return {n: scale * torch.randn(E, *s, generator=g) for n, s in shapes.items()}


BALLS = (
    WeightBall("l11", 1.0, "W_Q"),
    WeightBall("op", 0.3, "W_K"),
    WeightBall("fro", 0.2, "b", "start"),
)


@pytest.mark.parametrize("inner", [Adam(lr=0.1), Clipped(SGD(lr=0.1), 1.0), GradientDescent()])
def test_every_iterate_is_inside_and_the_finished_do_not_move(inner):
    weights, target = drawn(), drawn(seed=1)
    centre = weights["1.b"].clone()
    optimiser = Constrained(inner, BALLS)
    state = optimiser.start(weights)
    assert torch.equal(state["centre.1.b"], centre)
    alive = torch.tensor([True, False, True])
    rate = torch.full((E,), inner.first_rate)
    still = {n: x[1].clone() for n, x in (weights | state).items()}
    for _ in range(10):
        for e in range(E):
            inside = [(weights["0.W_Q"], "l11", 1.0), (weights["0.W_K"], "op", 0.3)]
            inside.append((weights["1.b"] - centre, "fro", 0.2))
            for W, norm, radius in inside:
                assert norm_named(norm)(W[e].numpy()) <= radius * (1 + 1e-5)
        grads = {n: W - target[n] for n, W in weights.items()}
        grads["0.W_K"][1] = torch.nan
        optimiser.update(weights, grads, state, rate, alive, {})
    assert all(torch.equal(x[1], still[n]) for n, x in (weights | state).items())
    for name in ("0.W_Q", "0.W_K", "1.b"):
        assert not torch.equal(weights[name][0], still[name])
    assert norm_named("fro")((weights["1.b"] - centre)[0].numpy()) == pytest.approx(0.2, rel=1e-5)


def test_projected_descent_finds_the_nearest_point():
    """min ½‖W − target‖² over the ball ends at the projection of the target."""
    target = drawn(seed=1)
    optimiser = Constrained(GradientDescent(), BALLS[:2])
    weights = drawn()
    state = optimiser.start(weights)
    for _ in range(200):
        grads = {n: W - target[n] for n, W in weights.items()}
        optimiser.update(weights, grads, state, torch.full((E,), 0.5), torch.ones(E).bool(), {})
    for name, ball in (("0.W_Q", BALLS[0]), ("0.W_K", BALLS[1])):
        torch.testing.assert_close(weights[name], ball.project(target[name]), rtol=0, atol=1e-6)


def test_penalties_come_before_balls():
    weights = drawn(10.0)
    both = Constrained(
        GradientDescent(), (WeightBall("linf", 0.5, "W_Q"),), (Penalty("l11", 2.0, "W_Q"),)
    )
    state, zero = both.start(weights), {n: torch.zeros_like(W) for n, W in weights.items()}
    start = {n: W.clone() for n, W in weights.items()}
    weights["0.W_Q"].copy_(drawn(10.0)["0.W_Q"])
    both.update(weights, zero, state, torch.ones(E), torch.ones(E).bool(), {})
    W = drawn(10.0)["0.W_Q"]
    expected = W.sign() * (W.abs() - 2).clamp(0, 0.5)
    torch.testing.assert_close(weights["0.W_Q"], expected)
    assert torch.equal(weights["0.W_K"], start["0.W_K"])


@pytest.mark.slow
def test_compiled_the_same():
    """Balls without singular values, traced without a break."""
    ends = []
    for compiled in (False, True):
        balls = (WeightBall("l11", 1.0, "W_Q"), WeightBall("col21", 0.3, "W_K"), BALLS[2])
        optimiser = Constrained(Clipped(Adam()), balls, (Penalty("row21", 0.1, "W_*"),))
        weights = drawn()
        state, update = optimiser.start(weights), optimiser.update
        if compiled:
            update = torch.compile(update, backend="aot_eager", fullgraph=True)
        for seed in range(3):
            alive = torch.tensor([True, seed < 1, True])
            update(weights, drawn(seed=seed), state, torch.full((E,), 0.1), alive, {})
        ends.append(weights)
    for name in ends[0]:
        torch.testing.assert_close(ends[1][name], ends[0][name], rtol=1e-6, atol=1e-7)


def test_who_needs_singular_values_is_not_captured():
    assert Constrained(Adam(), BALLS[::2], (Penalty("l11", 1.0),)).capturable
    assert not Constrained(Adam(), BALLS).capturable
    assert not Clipped(Constrained(Adam(), (), (Penalty("nuc", 1.0),))).capturable


def test_two_balls_for_one_weight_are_refused():
    optimiser = Constrained(Adam(), (WeightBall("l11", 1.0, "W_*"), WeightBall("op", 1.0, "W_K")))
    with pytest.raises(InputError, match=r"balls for 0\.W_K: expected one"):
        optimiser.start(drawn())


@pytest.mark.parametrize("units", [{"balls": (WeightBall("l11", 1.0, "W_V"),)},
                                   {"penalties": (Penalty("l11", 1.0, "W_V"),)}])  # fmt: skip
def test_a_pattern_that_chooses_nothing_is_refused(units):
    with pytest.raises(UnknownName, match="unknown weight 'W_V'"):
        Constrained(Adam(), **units).start(drawn())
