"""Every class of linear maps: its entropy keeps the contract and exceeds every packing found."""

import math

import numpy as np
import pytest

import checks
import dudley as du
import oracles
from each import each

each_case = each("case", checks.CASES, ids=lambda case: case.name)


@each_case
def test_entropy_keeps_the_contract(case):
    entropy = case.entropy()
    checks.check_entropy(entropy)
    checks.check_entropy(entropy.scaled(1e6), sizes=(50,), count=12)
    checks.check_entropy(entropy.scaled(3e-7), sizes=(50,), count=12)
    proper = entropy.proper()
    checks.check_entropy(proper, sizes=(None, 50), count=12)
    ε = float(entropy.radius) * np.array([0.9, 0.5, 0.1])
    for n in (None, 50):
        assert (entropy(ε, n) <= proper(ε, n)).all()
        assert (proper(ε, n) <= entropy(ε / 2, n)).all()  # N_proper(ε) ≤ N_any(ε/2)


@each_case
def test_scaling_law(case):
    checks.check_scaling(case)
    checks.check_scaling(case, 2.0**-20)


@each_case
def test_only_covers_on_points_depend_on_their_number(case):
    checks.check_points(case.entropy())


@each_case
def test_no_packing_is_larger(case):
    checks.check_packings(case)


@each_case
def test_no_packing_is_larger_than_any_single_cover(case):
    checks.check_covers_alone(case)


def test_volume_ratios():
    checks.check_volumes()


@pytest.mark.parametrize("constraint", [du.L1(1.0), du.L2(1.0), du.LInf(0.7)], ids=str)
def test_largest_packings_of_the_plane(constraint):
    """The largest 2ε-separated subset of a fine set of members, by integer programming."""
    norm = checks.NORMS[constraint.balls[0].norm]
    line = np.linspace(-1, 1, 9)
    points = np.array([(x, y) for x in line for y in line])
    points = points[[norm(p) <= constraint.balls[0].radius for p in points]]
    metric = np.linalg.norm(points[:, None] - points[None], axis=2)
    entropy = du.LinearMap((2, 1), constraint).entropy()
    for ε in (0.7, 0.5, 0.35):
        size = oracles.largest_packing(metric, 2 * ε)
        assert size >= len(oracles.greedy_net(metric, 2 * ε))
        assert entropy(ε) >= math.log(size)
        assert entropy.proper()(ε) >= math.log(size)


def test_a_number_is_covered_exactly():
    """[−B, B] needs exactly ⌈B/ε⌉ intervals, whatever the centres."""
    entropy = du.LinearMap((1, 1), du.LInf(3.0)).entropy()
    for ε in (2.999, 2.0, 1.5, 1.4999, 0.1, 1e-3, 1e-9):
        exact = math.log(oracles.ceil_ratio(3.0, over=ε))
        assert exact <= entropy(ε) <= exact * (1 + 1e-12)


def test_sign_vectors_on_an_orthonormal_sample():
    """Gilbert and Varshamov: signs w/√d in the ℓ2 ball, on d orthonormal points."""
    d, rng = 24, np.random.default_rng(0)
    weights = np.unique(rng.choice([-1.0, 1.0], size=(700, d)), axis=0) / math.sqrt(d)
    entropy = du.LinearMap((d, 1), du.L2(1.0)).entropy()
    metric = np.abs(weights[:, None] - weights[None]).max(axis=2)
    ε = 0.999 / math.sqrt(d)
    net = oracles.greedy_net(metric, 2 * ε)
    assert len(net) == len(weights)  # any two differ by 2/√d somewhere
    assert entropy(ε, d) >= d * math.log(2)  # and all 2^d sign vectors do
    metric = np.linalg.norm(weights[:, None] - weights[None], axis=2)
    for ε in (0.3, 0.45, 0.5):
        assert entropy(ε) >= math.log(len(oracles.greedy_net(metric, 2 * ε)))


def test_sparse_signs_in_the_l1_ball():
    """Disjoint-ish supports: k-sparse sign vectors of weight 1/k in R^p."""
    p, rng = 200, np.random.default_rng(1)
    for k in (1, 2, 5, 10):
        weights = np.zeros((300, p))
        for row in weights:
            row[rng.choice(p, k, replace=False)] = rng.choice([-1.0, 1.0], k) / k
        metric = np.linalg.norm(weights[:, None] - weights[None], axis=2)
        entropy = du.LinearMap((p, 1), du.L1(1.0)).entropy()
        for ε in np.array([0.49, 0.6, 0.69]) / math.sqrt(k):
            assert entropy(ε) >= math.log(len(oracles.greedy_net(metric, 2 * ε)))


def test_intersections_are_never_larger_than_their_parts():
    shape, ε = (6, 5), np.array([0.05, 0.2, 0.6, 1.1])
    parts = [du.L11(4.0), du.Spectral(1.3), du.Frobenius(2.0), du.Col2Inf(1.0)]
    for i, constraint in enumerate(parts):
        for other in parts[i + 1 :]:
            both = du.LinearMap(shape, constraint & other).entropy()
            for n in (None, 100):
                for part in (constraint, other):
                    assert (both(ε, n) <= du.LinearMap(shape, part).entropy()(ε, n)).all()


def test_what_leaves_the_class_is_not_called_proper():
    def proper(constraint, shape=(3, 2), **kw):
        covers = du.LinearMap(shape, constraint).entropy(**kw).covers
        return {cover.name for cover in covers if cover.proper}

    assert proper(du.L11(1.0)) == {"maurey", "rounding-inward", "volumetric"}
    assert proper(du.Row1Inf(1.0)) == {"maurey-rows", "volumetric"}
    assert proper(du.Spectral(1.0)) == {"volumetric"}
    assert proper(du.L11(1.0) & du.Spectral(0.5)) == {"volumetric"}
    assert proper(du.L11(1.0) & du.LInf(0.5), (4, 1)) == {"volumetric"}
    assert proper(du.LInf(0.5), (4, 1)) == {"grid", "volumetric"}
    assert proper(du.Rank(1) & du.Spectral(1.0)) == {"rank", "volumetric"}
    assert proper(du.Rank(1) & du.Frobenius(1.0)) == {"volumetric"}
    assert proper(du.L11(1.0, center=checks.W0)) == {"maurey", "rounding-inward", "volumetric"}


def test_a_centre_outside_the_class_is_not_proper():
    """One point covers at the radius: it must be a member before a cover is called proper."""
    two_centres = du.LinearMap((3, 2), du.L11(1.0, center=checks.W0) & du.Spectral(1.0)).entropy()
    full_rank = du.Spectral(1.0, center=2 * np.eye(3)) & du.Rank(2)  # the centre has rank 3
    for entropy in (two_centres, du.LinearMap((3, 3), full_rank).entropy()):
        assert entropy(float(entropy.radius)) == 0
        assert entropy.proper()(float(entropy.radius)) > 0
        assert not entropy.is_proper


def test_far_past_the_radius():
    """ε/B past e^372 makes (B/ε)² underflow: an integer part of zero, one below the least."""
    for case in checks.CASES:
        entropy = case.entropy()
        far = entropy.log_radius + np.array([373.0, 1e3, 1e5])
        assert (entropy.log_log(far) == -math.inf).all()
        assert (entropy.log_log(far, math.log(50)) == -math.inf).all()


def test_classes_that_are_one_point_or_unbounded():
    zero = du.LinearMap((3, 2), du.L11(0.0)).entropy()
    assert zero(1e-300) == 0
    assert zero.log_log(-1e5) == -math.inf
    with pytest.raises(du.InputError):
        du.LinearMap((3, 2), du.Rank(2))


@pytest.mark.parametrize("form", ["linear", "bilinear", "logits"])
def test_extremes_stay_finite(form):
    shape = (768, 768)
    for constraint in (du.L11(1e6), du.Spectral(1e-6), du.Rank(8) & du.Spectral(1e6)):
        entropy = du.LinearMap(shape, constraint).entropy(form, rows=512, pairs=512**2)
        logs = entropy.log_log(entropy.log_radius - np.array([1.0, 100.0, 2763.0, 1e5]), 27.6)
        assert np.isfinite(logs).all()
        assert (np.diff(logs) >= 0).all()
        radius = math.exp(entropy.log_radius)
        for share in (0.5, 1e-9, 1e-100, 1e-250):
            assert 0 < entropy(share * radius, 10**12) < math.inf


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((0, 2), {}),
        ((3, -1), {}),
        ((2.5, 2), {}),
        ((3, 2), {"l1": -1.0}),
        ((3, 2), {"l1": math.nan}),
        ((3, 2), {"rows": -1}),
        ((3, 2), {"rows": math.nan}),
        ((3, 2), {"pairs": 0}),
        ((3, 2), {"form": "quadratic"}),
    ],
)
def test_bad_shapes_and_options_are_refused(shape, options):
    with pytest.raises(du.InputError):
        du.LinearMap(shape, du.L11(1.0)).entropy(**options)


@pytest.mark.parametrize("n", [0, -3, math.nan, math.inf])
def test_bad_sample_sizes_are_refused(n):
    entropy = du.LinearMap((3, 2), du.Col2Inf(1.0)).entropy()
    with pytest.raises(du.InputError):
        entropy(0.1, n)


@pytest.mark.parametrize("ε", [0.0, -1.0, math.nan, math.inf])
def test_bad_resolutions_are_refused(ε):
    with pytest.raises(du.InputError):
        du.LinearMap((3, 2), du.Col2Inf(1.0)).entropy()(ε)


def test_a_centre_of_another_shape_is_refused():
    with pytest.raises(du.InputError):
        du.LinearMap((3, 3), du.Frobenius(1.0, center=np.ones((2, 3))))
