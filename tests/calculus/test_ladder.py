"""Many layers: radii from above in few steps, and an allocation whose arrays stay small."""

import math
import tracemalloc

import numpy as np
import pytest

import calculus_checks as checks
import dudley as du
from dudley.calculus import ladder
from dudley.calculus.allocate import _ALONE, Allocated, WeightBlock
from dudley.calculus.compose import Residual
from dudley.calculus.repeat import Repeat
from dudley.core.magnitude import Magnitude
from dudley.networks.pointwise import MLP, LayerNorm, SwiGLU
from planting import goes_red

LOG2 = math.log(2)
MAPS = {  # log R ↦ log φ(R)
    "R + 1": lambda r: np.logaddexp(r, 0.0),
    "R + R/(R + 9)": lambda r: np.logaddexp(r, r - np.logaddexp(r, math.log(9))),
    "1.01 R": lambda r: r + math.log(1.01),
    "0.99 R": lambda r: r + math.log(0.99),
    "1.001 R + 3": lambda r: np.logaddexp(r + math.log(1.001), math.log(3)),
    "0.9999 R + 1": lambda r: np.logaddexp(r + math.log(0.9999), 0.0),
    "R + 1e-9 R²": lambda r: np.logaddexp(r, 2 * r + math.log(1e-9)),
    "R + √R": lambda r: np.logaddexp(r, r / 2),
    "min(R, 5)": lambda r: np.minimum(r, math.log(5)),
    "R + R²": lambda r: np.logaddexp(r, 2 * r),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("start", [-3.0, 4.0])
def test_radii_are_above_those_that_are_followed_one_by_one(name, start):
    step, exact = MAPS[name], [np.array(start)]
    for _ in range(3999):
        with np.errstate(all="ignore"):
            exact.append(np.asarray(step(exact[-1])))
    bound = ladder.radii(step, np.array(start), 4000)
    assert bound.shape == (4000,)
    rounding = 1e-13 * np.maximum(1, np.abs(exact))
    assert (np.array(exact) <= bound + np.where(np.isfinite(exact), rounding, 0)).all()
    assert np.array_equal(bound[:512], exact[:512])  # few layers are followed
    finite = np.isfinite(bound)
    assert (bound[finite] <= np.array(exact)[finite] + 0.12).all()


@pytest.mark.parametrize("name", [name for name in MAPS if name not in ("R + 1e-9 R²", "R + √R")])
def test_a_million_layers_take_few_steps(name):
    calls = []

    def step(r):
        calls.append(np.size(r))
        return MAPS[name](r)

    assert len(ladder.radii(step, np.array(0.0), 10**6)) == 10**6
    assert len(calls) < 3000
    assert sum(calls) < 10**7


def test_a_guess_that_is_too_small_is_not_accepted(monkeypatch):
    """Whatever is guessed: too small a step, and none but that."""
    monkeypatch.setattr(
        ladder,
        "_guesses",
        lambda step, last, m: iter([np.full(m, last), last + 1e-6 * np.arange(m)]),
    )
    bound = ladder.radii(MAPS["R + 1"], np.array(0.0), 2000)
    assert (np.exp(bound) >= np.arange(1, 2001) * (1 - 1e-12)).all()


def test_a_run_that_is_confirmed_a_fifth_too_low_is_seen(monkeypatch):
    def tolerant(step, last, run, layers):
        return holds(lambda r: step(r) - math.log(1.2), last, run, layers)

    holds = ladder._holds
    monkeypatch.setattr(ladder, "_holds", tolerant)
    goes_red(test_a_guess_that_is_too_small_is_not_accepted, monkeypatch)


def test_arrays_of_radii_are_bounded_entry_by_entry():
    start = np.array([0.0, 2.0, 5.0])
    bound = ladder.radii(MAPS["R + 1"], start, 3000)
    assert bound.shape == (3000, 3)
    truth = np.exp(start) + np.arange(3000)[:, None]
    assert (np.exp(bound) >= truth * (1 - 1e-12)).all()
    assert (np.exp(bound) <= truth * 1.001).all()


def capacity(layer, L, **inputs):
    net = Repeat(layer, L) >> du.Readout(w=du.L2(1.0))
    return du.capacity(net, du.Tokens(1.0, T=4, **inputs), n=1e6)


S = du.Spectral
LAYERS = {
    "residual MLP": Residual(MLP(8, 16, S(0.1), S(0.1), b_1=du.L2(1.0))),
    "pre-norm": Residual(LayerNorm(8) >> MLP(8, 16, S(2.0), S(2.0))),
    "residual SwiGLU": Residual(SwiGLU(8, 16, S(1.0), S(1.0), S(1.0))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYERS)
def test_a_million_layers_answer(name, monkeypatch):
    """Few evaluations of a layer's facts, and few entries to allocate."""
    layer, evaluated = LAYERS[name], []
    facts = type(layer).facts
    monkeypatch.setattr(
        type(layer), "facts", lambda self, signal: evaluated.append(1) or facts(self, signal)
    )
    cap = capacity(layer, 10**6)
    assert 0 <= cap.gap(0.05).value <= 1
    assert len(evaluated) < 6000  # of the network, and of all of it but the readout
    for block in cap.allocated.blocks:
        assert block.log_reach.size < 2 * _ALONE
        counted = np.exp(block.log_counts).sum()
        assert counted == pytest.approx(np.size(block.weight.log) * block.copies)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "c"), [(du.Spectral, 0.01), (du.L11, 1.0), (du.Spectral, 3.0)])
def test_residual_gated_layers_without_a_norm_ask_for_little_memory(make, c):
    """Radii square in each layer: after 96 of them log R itself is 10^28."""
    layer = Residual(SwiGLU(8, 16, make(c), make(c), make(c)))
    cap = capacity(layer, 96)
    tracemalloc.start()
    try:
        value = cap.gap(0.05).value
        assert cap.log10_needed_n(0.5) > 0
        assert np.isfinite(value) and cap.entropy(1e-3) >= 0
        log_radius = cap.allocated.log_radius
        below = log_radius - np.array([1.0, 1e3, 1e9, abs(log_radius) / 2])
        assert not np.isnan(cap.allocated.log_log(below, math.log(1e6))).any()
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()


def test_runs_of_weights_are_charged_as_their_largest():
    rng = np.random.default_rng(0)
    entropy = du.LinearMap((3, 2), du.L11(1.5)).entropy()
    for weights in (rng.normal(0, 3, 2000), np.linspace(0, 2000, 2000), np.zeros(999)):
        block = WeightBlock("", entropy, Magnitude(weights))
        counts = np.exp(block.log_counts).round().astype(int)
        charged = np.repeat(block.log_reach, counts) - entropy.log_radius
        assert (charged >= np.sort(weights)[::-1] - 1e-9).all(), "a run is charged too little"
        assert np.array_equal(block.log_reach, weights[block.places] + entropy.log_radius)
        allocated = Allocated((block,))
        for below in (1.0, 30.0):
            checks.check_feasible(allocated, allocated.log_radius - below)
    alone = WeightBlock("", entropy, Magnitude(rng.normal(0, 3, _ALONE)))
    assert np.array_equal(alone.log_reach, alone.weight.log + entropy.log_radius)


def test_runs_cost_a_few_percent():
    """Against every entry as a block of its own."""
    entropy = du.LinearMap((3, 2), du.L11(1.5)).entropy()
    weights = np.linspace(0, 1000, 400)
    runs = Allocated((WeightBlock("", entropy, Magnitude(weights)),))
    apart = Allocated(tuple(WeightBlock("", entropy, Magnitude(float(w))) for w in weights))
    log_ε = apart.log_radius - np.array([3.0, 30.0, 300.0])
    ratio = np.exp(runs.log_log(log_ε) - apart.log_log(log_ε))
    assert (ratio >= 0.99).all()
    assert (ratio <= 1.06).all()


def test_runs_that_are_charged_a_fifth_too_little_are_seen(monkeypatch):
    def cheaper(block):
        reach, counts, places = right(block)
        return reach - math.log(1.2) * (np.size(block.weight.log) > _ALONE), counts, places

    right = WeightBlock._rows.func
    monkeypatch.setattr(WeightBlock, "_rows", property(cheaper))
    with pytest.raises(AssertionError, match="charged too little"):
        test_runs_of_weights_are_charged_as_their_largest()
