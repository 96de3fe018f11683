"""Fast rates: offset complexities, exact excess risks, and why the conditions matter."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

import calculus_checks as checks
import oracles
from dudley.calculus import offset
from dudley.core.assumption import Status
from dudley.core.bound import Sense
from dudley.core.errors import InputError
from each import each


def constant(log_N):
    return lambda ε: 0.0 * np.asarray(ε) + log_N


def test_finite_classes():
    checks.check_offset_finite(offset.finite, np.random.default_rng(0))
    checks.check_offset_finite_is_sharp(offset.finite)


def test_the_moment_that_proves_it():
    """E exp(2β(τg − βg²)) = cosh(2βg)·exp(−2β²g²) ≤ 1."""
    g = np.linspace(-30, 30, 4001)
    for β in (0.01, 0.5, 3.0):
        log_moment = np.logaddexp(2 * β * g, -2 * β * g) - math.log(2) - 2 * β**2 * g**2
        assert (log_moment <= 1e-12).all()


def linear_offset(X, β, B, rng, draws=3000):
    """Simulated offset complexity of {x ↦ w·x, |w| ≤ B} for X ∈ R^n (one dimension): exact sup."""
    n = len(X)
    a = rng.choice([-1.0, 1.0], size=(draws, n)) @ X / n
    b = β * (X**2).mean()
    w = np.clip(a / (2 * b), -B, B)
    values = a * w - b * w**2
    M = B * np.abs(X).max()
    return values.mean() - M * (1 + β * M) * math.sqrt(2 * math.log(1e9) / draws)


@pytest.mark.parametrize("n", [20, 200, 3000])
@pytest.mark.parametrize("β", [0.05, 0.5, 5.0])
def test_one_scale_and_chained_are_above_the_simulated_complexity(n, β):
    rng = np.random.default_rng(n)
    X, B = rng.uniform(-1, 1, n), 2.0

    def log_N(ε):
        return np.log(np.maximum(np.ceil(B / np.asarray(ε)), 1))

    truth = linear_offset(X, β, B, rng)
    assert offset.one_scale(log_N, n, β, M=B, κ=1.0) >= truth
    assert offset.chained(log_N, n, β, M=B) >= truth
    for value in (offset.one_scale(log_N, n, β, B, 1.0), offset.chained(log_N, n, β, B)):
        assert value <= offset.ceiling(β, B)


@pytest.mark.parametrize("n", [3, 6, 10])
def test_finite_classes_by_enumeration(n):
    """All sign vectors, random real functions: every bound is above the exact complexity."""
    rng = np.random.default_rng(n)
    for N in (2, 20, 300):
        G = rng.uniform(-1, 1, size=(N, n))
        for β in (0.1, 1.0, 4.0):
            exact = (oracles.signs(n) @ G.T / n - β * (G**2).mean(axis=1)).max(axis=1).mean()
            assert offset.finite(math.log(N), n, β) >= exact
            assert offset.one_scale(constant(math.log(N)), n, β, 1.0, 1.0) >= exact
            assert offset.chained(constant(math.log(N)), n, β, 1.0) >= exact


def test_chained_form_by_hand():
    """log N = Γ/ε² (T8): at most √(Γ/n)(14 + 12 log⁺((n/Γ)^{1/4}/(6√β))), up to the grid."""
    for n in (1e4, 1e6, 1e9):
        for β in (0.1, 1.0):
            closed = math.sqrt(1 / n) * (14 + 12 * max(0, math.log(n**0.25 / (6 * math.sqrt(β)))))
            value = offset.chained(lambda ε: 1 / ε**2, n, β, 10.0)
            assert value <= 1.3 * closed
            assert value >= 0.3 * closed
            γ = np.geomspace(1e-6, 10, 400)[:, None]
            a = np.minimum(np.geomspace(1e-9, 5, 400)[None, :], γ / 2)
            tail = 12 * np.log(γ / (2 * a)) / math.sqrt(n)
            least = (1 / (γ**2 * n * β) + β * γ**2 + 4 * a + tail).min()
            assert value >= min(least, offset.ceiling(β, 10.0)) * (1 - 0.02)


def test_infinite_entropies_do_not_spoil_the_minimum():
    def log_N(ε):
        return np.where(np.asarray(ε) < 1e-3, np.inf, 1.0)

    for value in (
        offset.chained(log_N, 100, 1.0, 1.0),
        offset.one_scale(log_N, 100, 1.0, 1.0, 1.0),
    ):
        assert 0 < value < offset.ceiling(1.0, 1.0)


@pytest.mark.parametrize(("n", "d"), [(6, 2), (8, 5), (5, 9)])
def test_unconstrained_linear_functions(n, d):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((n, d))
    P = X @ np.linalg.pinv(X)
    β = 0.7
    exact = ((oracles.signs(n) @ P) ** 2).sum(axis=1).mean() / (4 * β * n)
    rank = int(np.linalg.matrix_rank(X))
    assert offset.linear_unconstrained(rank, n, β) == pytest.approx(exact, rel=1e-9)


def test_ceiling_is_the_largest_value_of_one_member():
    for β, M in itertools.product((0.01, 0.5, 10.0), (0.1, 1.0, 20.0)):
        t = np.linspace(0, M, 100001)
        assert offset.ceiling(β, M) == pytest.approx((t - β * t * t).max(), rel=1e-6)


# -- excess risk ------------------


def test_noise_free_constant_is_the_root_it_says():
    s = brentq(lambda s: 1 - math.exp(-3 * s) - s, 0.5, 1.0)
    assert offset.NoiseFree(1.0).rate == pytest.approx(1 / s, rel=1e-12)
    assert offset.NoiseFree(5.0).rate == pytest.approx(5 / s, rel=1e-12)
    p = np.linspace(0, 1, 1001)
    assert (np.exp(s * p) * (1 - p + p * math.exp(-3 * s)) <= 1 + 1e-12).all()


def test_bernstein_constant_is_the_root_it_says():
    """The moment that proves it, at the worst two-point distribution of g."""
    for V, M in ((1.0, 1.0), (5.0, 1.0), (0.5, 3.0), (100.0, 2.0)):
        t = 1 / offset.Bernstein(V, M).rate
        y = 2 * t * M
        assert 4 * t * V * (math.exp(y) - 1 - y) / y**2 == pytest.approx(1, rel=1e-6)
        for q in np.linspace(0.5, 1, 51):  # g = ±m, E g = (2q−1)m, E g² = m²
            for m in np.linspace(0.01, M, 30):
                mean = (2 * q - 1) * m
                if m * m <= V * mean:
                    moment = q * math.exp(t * (mean - 2 * m)) + (1 - q) * math.exp(
                        t * (mean + 2 * m)
                    )
                    assert moment <= 1 + 1e-12
    assert offset.Bernstein(1.0, 1.0).rate == pytest.approx(2.62, abs=0.005)


@pytest.mark.parametrize("V", [1e-3, 1e-9, 1e-300])
def test_bernstein_constants_far_below_the_range(V):
    """The root of 4tVφ(2tM) = 1 grows like log(M/V)/2M: no overflow on the way."""
    t = 1 / offset.Bernstein(V, 2.0).rate
    y = 4 * t
    assert math.log(4 * t * V) + y - 2 * math.log(y) == pytest.approx(0, abs=0.01)


def test_noise_free_excess_is_above_the_exact_one():
    checks.check_noise_free(offset.excess, offset.NoiseFree)


def test_noise_free_with_an_imperfect_class():
    """No predictor is perfect: the worst ERM of two, by enumeration, with 3 inf exc."""
    for n in (1, 4, 15, 60):
        for p1, p2 in ((0.1, 0.15), (0.3, 0.6), (0.5, 0.55), (0.02, 0.9)):
            k = np.arange(n + 1)
            first, second = binom.pmf(k, n, p1), binom.pmf(k, n, p2)
            picks_second = (second * np.cumsum(first[::-1])[::-1]).sum()  # errs no more often
            exact = p1 + (p2 - p1) * picks_second
            bound = offset.excess(
                constant(math.log(2)), n, 1.0, offset.NoiseFree(1.0), approximation=p1
            )
            assert bound.value >= exact


def test_bernstein_excess_is_above_the_exact_one():
    checks.check_bernstein(offset.excess, offset.Bernstein)


def label_noise(n):
    """C12: constants in [−1, 1], absolute loss, P(Y=1) = ½ + h; the worst h, exactly."""
    return max(
        4 * h * oracles.binomial_below_half(n, 0.5 + h) for h in np.geomspace(1e-4, 0.4, 300)
    )


@pytest.mark.parametrize("n", [101, 1001, 100001])
def test_without_its_condition_the_fast_rate_is_false(n):
    """An ERM is ±1 by linearity: two predictors, 0 ≤ exc, yet noise makes g negative."""
    wrong = offset.excess(constant(math.log(2)), n, 1.0, offset.NoiseFree(2.0)).value
    assert label_noise(n) > wrong


def test_without_its_condition_the_fast_rate_is_false_for_the_interval_too():
    n = 1_000_001

    def log_N(ε):
        return np.log(np.maximum(np.ceil(1 / np.asarray(ε)), 1))

    assert label_noise(n) > 5 * offset.excess(log_N, n, 1.0, offset.NoiseFree(2.0)).value


def test_bernstein_survives_where_noise_free_fails():
    for n in (101, 1001):
        for h in np.geomspace(1e-3, 0.4, 40):
            exact = 4 * h * oracles.binomial_below_half(n, 0.5 + h)
            bound = offset.excess(constant(math.log(2)), n, 1.0, offset.Bernstein(1 / h, 2.0))
            assert bound.value >= exact


def test_what_an_excess_bound_says():
    bound = offset.excess(constant(1.0), 1000, 1.0, offset.NoiseFree(1.0), approximation=0.01)
    assert bound.sense is Sense.EXPECTATION
    assert {a.name for a in bound.assumptions} >= {"noise-free"}
    statuses = {a.name: a.status for a in bound.assumptions}
    assert statuses.pop("sample") is Status.UNCHECKABLE
    assert set(statuses.values()) == {Status.DECLARED}
    assert bound.value == pytest.approx(sum(t.value for t in bound.terms))
    assert bound.terms[2].value == pytest.approx(0.03)
    names = {a.name for a in offset.Bernstein(1.0, 1.0).assumptions}
    assert {"bernstein", "target"} <= names
    assert offset.excess(constant(1e9), 10, 1.0, offset.NoiseFree(1.0)).vacuous


@each(
    "call",
    [
        lambda: offset.excess(constant(1.0), 10, 1.0, None),
        lambda: offset.excess(constant(1.0), 10, 1.0, "noise-free"),
        lambda: offset.excess(
            constant(1.0), 10, 1.0, offset.Bernstein(1.0, 1.0), approximation=0.1
        ),
        lambda: offset.excess(constant(1.0), -10, 1.0, offset.NoiseFree(1.0)),
        lambda: offset.excess(constant(1.0), 10, 1.0, offset.NoiseFree(1.0), approximation=-0.5),
        lambda: offset.excess(constant(1.0), 10, 0.0, offset.NoiseFree(1.0)),
        lambda: offset.excess(constant(1.0), 10, 1.0, offset.NoiseFree(-1.0)),
        lambda: offset.excess(constant(1.0), 10, 1.0, offset.Bernstein(-1.0, 1.0)),
        lambda: offset.excess(constant(1.0), 10, 1.0, offset.Bernstein(0.0, 1.0)),
        lambda: offset.finite(1.0, 10, -1.0),
        lambda: offset.one_scale(constant(1.0), 10, 0.0, 1.0, 1.0),
        lambda: offset.chained(constant(1.0), 10, -1.0, 1.0),
        lambda: offset.linear_unconstrained(-1, 10, 1.0),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(InputError):
        call()
