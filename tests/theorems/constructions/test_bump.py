"""The 3-layer ReLU network: repaired exact, printed not."""

import numpy as np
import pytest

from dudley.core.errors import InputError
from dudley.theorems.constructions.bump import bump_weights, network_of
from each import each


def run(weights, x):
    return network_of(weights).apply(weights, x)[:, 0]


def random_points(rng, n, d_f, δ):
    """n points of a grid of step 4δ, moved a little: sup distances stay ≥ 4δ."""
    cells = rng.choice(6**d_f, n, replace=False)
    grid = np.stack([cells // 6**j % 6 for j in range(d_f)], axis=1)
    return (grid - 2.5) * 4 * δ


@each("d_f", [1, 2, 4])
@each("δ", [0.01, 0.25, 1.0, 3.0])
def test_repaired_is_exact_on_the_whole_neighbourhood(d_f, δ):
    rng = np.random.default_rng(5)
    points, values = random_points(rng, 6, d_f, δ), rng.normal(size=6)
    weights = bump_weights(points, values, δ)
    for z in (0.0, δ, -δ, *rng.uniform(-δ, δ, size=(20, d_f))):
        assert np.allclose(run(weights, points + z), values, atol=1e-9)
    assert weights[0]["W_1"].shape[1] == 4 * 6 * d_f and weights[1]["W_2"].shape[1] == 6
    B = np.abs(points).max()
    assert np.abs(weights[0]["W_1"]).max() <= 1 / δ + 1e-12
    assert np.abs(weights[0]["b_1"]).max() <= B / δ + 2 + 1e-12
    assert np.abs(np.vstack([weights[1]["W_2"], weights[1]["b_2"]])).max() == max(1, d_f - 1)


def test_separation_of_three_tolerances_is_enough_and_two_is_not():
    δ, values = 0.1, np.array([1.0, -2.0])
    for gap, exact in ((3.0, True), (2.0, False)):
        points = np.array([[0.0], [gap * δ]])
        inputs = points[[0, 0, 1, 1]] + np.array([[δ], [-δ], [δ], [-δ]])
        out = run(bump_weights(points, values, δ), inputs)
        assert np.allclose(out, values[[0, 0, 1, 1]]) == exact


@pytest.mark.parametrize("d_f", [1, 3])
def test_printed_is_zero_at_its_own_centre(d_f):
    weights = bump_weights(np.zeros((1, d_f)), np.array([1.0]), 0.25, "printed")
    assert run(weights, np.zeros((1, d_f)))[0] == 0.0
    assert weights[0]["W_1"].shape[1] == 4 * d_f and weights[1]["W_2"].shape[1] == 2


def test_printed_misses_by_every_value_on_a_line():
    n, δ = 5, 0.25
    points, values = 4 * δ * np.arange(n)[:, None], np.array([1.0] * (n - 1) + [-1.0])
    out = run(bump_weights(points, values, δ, "printed"), points)
    assert np.abs(out - values).max() == n


def test_printed_slope_of_layer_2_needs_a_small_tolerance():
    """With the right bump and δ = 2 the printed second layer is no indicator."""
    δ, points, values = 2.0, np.array([[0.0], [8.0]]), np.array([1.0, 5.0])
    first = bump_weights(points, values, δ)[0]
    _, second, last = bump_weights(points, values, δ, "printed")
    out = run([first, second, last], points)
    assert out[0] == pytest.approx(3.5)


@pytest.mark.parametrize("d_f, δ", [(1, 0.5), (2, 1.0), (4, 0.25)])
def test_printed_norms_can_be_met_by_rescaling_for_small_tolerances(d_f, δ):
    rng = np.random.default_rng(2)
    points, values = random_points(rng, 4, d_f, δ), rng.normal(size=4)
    first, second, last = bump_weights(points, values, δ)
    first = {name: value / 2 for name, value in first.items()}
    second = {"W_2": 2 * second["W_2"], "b_2": second["b_2"]}
    B = np.abs(points).max()
    assert max(np.abs(v).max() for v in first.values()) <= max(1, B) / δ + 1e-12
    assert max(np.abs(v).max() for v in second.values()) <= d_f / δ + 1e-12
    assert np.allclose(run([first, second, last], points + δ), values)


def test_printed_first_layer_exceeds_its_claim():
    weights = bump_weights(np.array([[1.0], [-1.0]]), np.ones(2), 0.25, "printed")
    assert np.abs(weights[0]["b_1"]).max() == 6.0 > max(1, 1) / 0.25


def test_bad_tolerance_and_form_are_refused():
    with pytest.raises(InputError, match="tolerance"):
        bump_weights(np.zeros((1, 1)), np.ones(1), 0.0)
    with pytest.raises(InputError, match="form"):
        bump_weights(np.zeros((1, 1)), np.ones(1), 1.0, "corrected")
