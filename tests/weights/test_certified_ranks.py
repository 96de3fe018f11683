"""Products, differences and ranks, against exact values."""

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from dudley.core.errors import InputError
from dudley.weights import certified as c, inertia, ranks

DIGITS = 60
U = 2.0**-53


def exact(W) -> mpmath.matrix:
    return mpmath.matrix([[mpmath.mpf(float(x)) for x in row] for row in np.asarray(W)])


def top(A) -> mpmath.mpf:
    size = max(abs(x) for x in A)
    return size * max(mpmath.svd_r(A / size, compute_uv=False)) if size else mpmath.mpf(0)


def between(interval, truth) -> bool:
    tiny = mpmath.mpf(10) ** -45
    return truth * (1 - tiny) <= mpmath.mpf(interval.upper) and mpmath.mpf(
        interval.lower
    ) <= truth * (1 + tiny)


@given(
    st.integers(0, 2**32 - 1),
    st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(1, 4)),
    st.sampled_from([(1.0, 1.0), (1e150, 1e-150), (1e-200, 1e-100), (1e155, 1e140)]),
    st.booleans(),
)
@settings(max_examples=40)
def test_products_are_bounded_on_both_sides(seed, shape, scales, cancel):
    rng, (a, b, k) = np.random.default_rng(seed), shape
    A, B = rng.normal(size=(a, k)), rng.normal(size=(b, k))
    if cancel and k > 1:  # columns of B nearly orthogonal to the rows of A: a small product
        A[:, 1:] = A[:, :1] * rng.normal(size=k - 1)
        B[:, 0] = -(B[:, 1:] @ A[0, 1:]) / A[0, 0]
    A, B = A * scales[0], B * scales[1]
    interval = c.product_spectral(A, B)
    with mpmath.workdps(DIGITS):
        assert between(interval, top(exact(A) * exact(B).T))
    size = np.linalg.norm(A / scales[0]) * np.linalg.norm(B / scales[1])
    width = (interval.upper / scales[1] - interval.lower / scales[1]) / scales[0]
    assert width <= 200 * (a + b + k) * U * size  # linear in u, cancellation or not


def test_a_product_of_tall_factors_agrees_with_the_product():
    rng = np.random.default_rng(0)
    A, B = (torch.as_tensor(rng.normal(size=(300, 40))).to(torch.bfloat16) for _ in range(2))
    interval = c.product_spectral(A, B)
    whole = c.spectral(A.double() @ B.double().T)
    assert interval.excess < 1e-10
    assert max(interval.lower, whole.lower) <= min(interval.upper, whole.upper) * (1 + 1e-12)
    assert c.product_spectral(A, torch.zeros(7, 40)).upper == 0
    with pytest.raises(InputError, match="columns"):
        c.product_spectral(A, B.T)


def spectrum(values, seed=0) -> torch.Tensor:
    n = len(values)
    source = torch.Generator().manual_seed(seed)
    left, right = (
        torch.linalg.qr(torch.randn(n, n, generator=source, dtype=torch.float64))[0]
        for _ in range(2)
    )
    return (left * torch.as_tensor(values, dtype=torch.float64)) @ right


@pytest.mark.parametrize("n", [40, 200])  # by singular values, and by inertia
@pytest.mark.parametrize("scale", [1.0, 1e160, 1e-170])
def test_ranks_are_counted(n, scale):
    W = spectrum(np.geomspace(1.0, 1e-4, n)) * scale
    for tolerance in (0.5, 0.1, 1e-2, 1e-3):
        want = int((np.geomspace(1.0, 1e-4, n) > tolerance).sum())
        rank = c.numerical_rank(W[: n - 1], tolerance)
        assert c.numerical_rank(W, tolerance) == ranks.Rank(want, want, tolerance)
        assert int(rank) in (want, want - 1) and rank.exact  # interlacing
        assert c.measured(W, tolerance).rank == ranks.Rank(want, want, tolerance)


def test_a_tie_is_not_decided():
    W = torch.diag(torch.tensor([1.0, 0.5, 0.5, 0.25], dtype=torch.float64))
    assert c.numerical_rank(W, 0.5) == ranks.Rank(1, 3, 0.5)
    many = spectrum([1.0] * 60 + [0.5] * 60)
    rank = c.numerical_rank(many, 0.5)
    assert rank.lower == 60 and rank.upper == 120
    assert not rank.exact and int(rank) == 120


def test_inertia_with_a_wrong_factor_proves_nothing(monkeypatch):
    import scipy.linalg

    G = torch.diag(torch.arange(1.0, 6.0, dtype=torch.float64))
    assert inertia.above(G, 2.5, 2.5, 1e-15) == (3, 3)

    def wrong(A, **_):
        L, D, order = right(A)
        return L, -D, order

    right = scipy.linalg.ldl
    monkeypatch.setattr(scipy.linalg, "ldl", wrong)
    low, high = inertia.above(G, 2.5, 2.5, 1e-15)
    assert low <= 3 <= high


def test_the_signs_of_blocks_are_exact():
    d, e = np.array([0.0, 0.0, -1.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.0, 3.0])
    assert inertia._signs(d, e) == 2  # {±1}, −1, {1 and 2 with 3 beside: one positive}


def test_nuclear_norm_of_a_known_spectrum():
    interval = c.nuclear(spectrum(np.arange(1.0, 61.0)))
    assert interval.contains(30.0 * 61.0) and interval.excess < 1e-10


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1e-9, 1e-17, 1e300, 1e-310]))
@settings(max_examples=25)
def test_distances_from_initialisation(seed, step):
    rng = np.random.default_rng(seed)
    start = rng.normal(size=(4, 3)) * (1e-300 if step < 1e-300 else 1.0)
    W = start + step * rng.normal(size=(4, 3))
    upper = c.difference(W, start)
    with mpmath.workdps(DIGITS):
        D = exact(W) - exact(start)
        assert mpmath.mpf(upper["op"]) >= top(D) * (1 - mpmath.mpf(10) ** -45)
        assert mpmath.mpf(upper["l11"]) >= mpmath.fsum(abs(x) for x in D)
        assert mpmath.mpf(upper["linf"]) >= max(abs(x) for x in D)
    assert c.difference(W, W) == dict.fromkeys(upper, 0.0)


def test_differences_refuse_other_shapes():
    with pytest.raises(InputError, match="shape"):
        c.difference(torch.ones(2, 3), torch.ones(3, 2))


def test_one_pass_agrees_with_the_parts():
    W = torch.randn(150, 120, generator=torch.Generator().manual_seed(5))
    seen = c.measured(W, tolerance=0.1)
    assert seen.norms == c.norms(W)
    assert seen.op.upper == seen.norms["op"] and seen.stable_rank == c.stable_rank(W)
    assert seen.rank == c.numerical_rank(W, 0.1)
    assert c.measured(torch.zeros(3, 3), tolerance=0.1).rank == ranks.Rank(0, 0, 0.1)
    with pytest.raises(InputError, match="tolerance"):
        c.measured(W, tolerance=2.0)
    graded = spectrum(np.geomspace(1.0, 1e-10, 100))  # squares cannot tell these from zero
    assert c.measured(graded, tolerance=1e-8).rank == ranks.Rank(80, 80, 1e-8)
    assert c.measured([[2.0]], tolerance=0.1).rank == ranks.Rank(1, 1, 0.1)
