"""Every registered cover really covers: members are encoded, code words are counted."""

import math

import numpy as np
from hypothesis import given, strategies as st

import checks
import dudley as du
import oracles
from dudley.classes import directions
from dudley.classes.covers.base import COVERS
from each import each


def test_every_cover_has_an_explicit_construction():
    assert set(checks.CODES) == set(COVERS)


@each("kind", list(COVERS))
def test_every_cover_serves_some_class_and_says_what_it_is(kind):
    assert any(cover.name == kind for case in checks.CASES for cover in case.entropy().covers)
    cover = COVERS[kind]
    assert cover.name == kind
    assert cover.latex
    assert cover.citation


@each("case", checks.CASES, ids=lambda case: case.name)
def test_members_are_within_reach_of_a_counted_code_word(case):
    """By every cover of the class, at four resolutions each."""
    for kind in {cover.name for cover in case.entropy().covers}:
        assert checks.check_cover(kind, case, count=16) == 4, kind


@each("case", checks.CASES, ids=lambda case: case.name)
def test_a_cover_for_one_point_of_each_example_is_nowhere_larger(case):
    entropy = case.entropy()
    log_ε = entropy.log_radius - np.linspace(0, 20, 200)
    for log_n in (0.0, 7.3, 40.0):
        every, fewest = entropy.each(log_ε, log_n), entropy.on_fewest_points().each(log_ε, log_n)
        for name, logs in every.items():
            assert (fewest[name] <= logs).all(), name


@each("p", [1, 2, 3])
@each("ε", [0.9, 0.7, 0.5, 0.36])
def test_maurey_covers_the_whole_ball(p, ε):
    """All D(p, K) centres written out, against a fine lattice of members."""
    K = oracles.ceil_ratio(1.0, over=ε, power=2) - 1
    words = oracles.lattice(p, K)
    assert len(words) == oracles.delannoy(p, K)
    fine = oracles.lattice(p, 24) / 24
    off = np.linalg.norm(fine[:, None] - words[None] / K, axis=2).min(axis=1)
    assert off.max() <= ε
    claimed = du.LinearMap((p, 1), du.L1(1.0)).entropy()
    maurey = next(cover for cover in claimed.covers if cover.name == "maurey")
    H = math.exp(float(maurey.log_entropy(checks.ExactRatio((1.0,), ε), math.nan)))
    assert math.isclose(H, math.log(len(words)), rel_tol=1e-9)


@given(
    st.integers(1, 6),
    st.floats(0.05, 1.5),
    st.integers(0, 2**32 - 1),
)
def test_maurey_and_perceptron_never_need_more(p, ε, seed):
    """Random members and points: K = ⌈1/ε²⌉ − 1 draws or steps, never one more."""
    rng = np.random.default_rng(seed)
    K = oracles.ceil_ratio(1.0, over=ε, power=2) - 1
    f = rng.standard_normal(p) * (rng.random(p) < 0.7)
    f /= max(np.abs(f).sum(), 1e-9) * (1 + 1e-12)
    word = oracles.maurey(f, 1.0, K)
    assert np.abs(word).sum() <= K
    assert np.linalg.norm(f - word / max(K, 1)) <= ε * (1 + 1e-12)
    v = rng.standard_normal(p)
    v /= np.linalg.norm(v) * (1 + 1e-12)
    assert np.abs(oracles.perceptron(v, oracles.inputs(rng, 7, p), ε)).sum() <= K


def test_the_perceptron_count_is_sharp_on_basis_vectors():
    """v = (1, …, 1)/√d on the basis takes d steps at ε just below 1/√d: no smaller K is true."""
    for d in (1, 4, 9, 25):
        ε = (1 - 1e-9) / math.sqrt(d)
        word = oracles.perceptron(np.full(d, 1 / math.sqrt(d)), np.eye(d), ε)
        assert np.abs(word).sum() == d == oracles.ceil_ratio(1.0, over=ε, power=2) - 1


def test_the_count_of_steps_by_directions_is_sharp():
    """Orthonormal points whose rows lie half-way between two of sixteen lines: a step for each."""
    t, log_m = directions.lines(2)[-1]
    m = round(math.exp(log_m))
    V, X = oracles.directions(2, m, t), np.eye(20)
    half_way = np.array([math.cos(math.pi / m / 2), math.sin(math.pi / m / 2)])
    ε = 0.1
    W = np.tile(half_way * ε * (1 + 1e-9), (1, 20, 1))

    def worst(D):
        off = np.linalg.norm(X @ D, axis=2)
        return X[off.argmax(axis=1)], off.max(axis=1)

    _, (steps,) = oracles.spherical(W, worst, V, t, ε)
    K = oracles.ceil_ratio(float(np.linalg.norm(W)), over=ε, power=2, times=t) - 1
    assert steps == 20 == K


def test_perceptron_centres_may_leave_the_ball():
    """Why it is not called proper."""
    rng = np.random.default_rng(7206)
    d, N = rng.integers(2, 8), rng.integers(2, 12)
    points, v = rng.standard_normal((N, d)), rng.standard_normal(d)
    points, v = points / np.linalg.norm(points, axis=1, keepdims=True), v / np.linalg.norm(v)
    ε = rng.uniform(0.05, 0.8)
    assert np.linalg.norm(ε * oracles.perceptron(v, points, ε) @ points) > 1.01
    for case in checks.CASES:
        for cover in case.entropy().covers:
            if cover.name.startswith(("perceptron", "spherical", "adaptive", "zhang")):
                assert not cover.proper
            if cover.name == "rounding-nearest":
                assert not cover.proper


def test_zhang_is_never_smaller_than_the_perceptron():
    entropy = du.LinearMap((5, 3), du.Col2Inf(2.0)).entropy()
    log_ε = np.log(2.0) - np.linspace(0.01, 8, 100)
    for log_n in (0.0, 5.0, 27.0):
        by_cover = entropy.each(log_ε, log_n)
        assert (by_cover["zhang"] >= by_cover["perceptron-columns"]).all()


def test_the_winner_is_the_smallest():
    entropy = du.LinearMap((5, 3), du.L11(2.0) & du.Frobenius(1.0)).entropy("bilinear")
    for log_n in (None, math.log(1000)):
        seen = set()
        for log_ε in entropy.log_radius - np.linspace(0.01, 12, 60):
            by_cover = entropy.each(log_ε, log_n)
            name = entropy.winner(log_ε, log_n)
            seen.add(name)
            assert by_cover[name] == min(by_cover.values()) == entropy.log_log(log_ε, log_n)
        assert {"maurey" if log_n is None else "perceptron", "volumetric"} <= seen
    assert entropy.winner(entropy.log_radius) == "one point"
