"""Certified ends against 50 digits (mpmath) on adversarial matrices, and against exact norms."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from dudley.core.errors import InputError
from dudley.core.norms import NORMS
from dudley.weights import certified as c, entries, lanczos, spectral
from dudley.weights.entries import DenormalsFlushed
from dudley.weights.interval import LARGEST, Interval
from each import each

DIGITS = 60


def exact(W) -> mpmath.matrix:
    """The real matrix that a tensor stores."""
    W = np.asarray(W, dtype=float)
    return mpmath.matrix(*W.shape) + mpmath.matrix(
        [[mpmath.mpf(float(x)) for x in row] for row in W]
    )


def singular(A: mpmath.matrix) -> list:
    """Singular values to DIGITS digits, after taking the scale out."""
    size = max(abs(x) for x in A)
    if size == 0:
        return [mpmath.mpf(0)] * min(A.rows, A.cols)
    A = A / size
    return sorted((size * s for s in mpmath.svd_r(A, compute_uv=False)), reverse=True)


def true_norms(W) -> dict:
    A = exact(W)
    rows = [[abs(A[i, j]) for j in range(A.cols)] for i in range(A.rows)]
    cols = list(map(list, zip(*rows, strict=True)))

    def l2(v):
        return mpmath.sqrt(mpmath.fsum(x * x for x in v))

    values = singular(A)
    return {
        "op": values[0],
        "fro": l2([x for row in rows for x in row]),
        "nuc": mpmath.fsum(values),
        "l11": mpmath.fsum(x for row in rows for x in row),
        "linf": max(x for row in rows for x in row),
        "col21": mpmath.fsum(map(l2, cols)),
        "row21": mpmath.fsum(map(l2, rows)),
        "col2inf": max(map(l2, cols)),
        "row2inf": max(map(l2, rows)),
        "col1inf": max(map(mpmath.fsum, cols)),
        "row1inf": max(map(mpmath.fsum, rows)),
    }


def near_rank_one(rng, m, n):
    return np.outer(rng.normal(size=m), rng.normal(size=n)) + 1e-14 * rng.normal(size=(m, n))


def orthogonal(rng, m, n):
    return np.linalg.qr(rng.normal(size=(max(m, n), min(m, n))))[0].reshape(m, n)


def graded(rng, m, n):
    return rng.normal(size=(m, n)) * 10.0 ** -np.arange(0, 3 * n, 3) * 10.0 ** np.arange(m)[:, None]


def hilbert(rng, m, n):
    return 1.0 / (1 + np.arange(m)[:, None] + np.arange(n))


def integers(rng, m, n):
    return rng.integers(-3, 4, size=(m, n)).astype(float)


def denormals(rng, m, n):
    return rng.integers(-5, 6, size=(m, n)) * 5e-324


def mixed_scales(rng, m, n):
    return rng.normal(size=(m, n)) * 10.0 ** rng.integers(-300, 1, size=(m, n))


def twins(rng, m, n):
    return np.repeat(rng.normal(size=(m, 1)), n, axis=1) * (
        1 + 2.0**-52 * rng.integers(0, 2, (1, n))
    )


FAMILIES = [near_rank_one, orthogonal, graded, hilbert, integers, denormals, mixed_scales, twins]


@st.composite
def matrices(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    W = draw(st.sampled_from(FAMILIES))(rng, m, n)
    with np.errstate(under="ignore"):
        return W * draw(st.sampled_from([1.0, 1e150, 1e-150, 1e290, 1e-290, 3.0, 2.0**-1000]))


def holds(ends: Interval, truth) -> bool:
    tiny = mpmath.mpf(10) ** -45
    return bool(mpmath.mpf(ends.lower) <= truth * (1 + tiny)) and bool(
        truth * (1 - tiny) <= mpmath.mpf(ends.upper)
    )


@given(matrices())
@settings(max_examples=60)
def test_every_end_is_on_its_side_of_the_50_digit_value(W):
    with mpmath.workdps(DIGITS):
        truth, upper = true_norms(W), c.norms(W)
        assert list(upper) == list(NORMS)
        for name, value in truth.items():
            assert mpmath.mpf(upper[name]) >= value * (1 - mpmath.mpf(10) ** -45), name
        assert holds(c.spectral(W), truth["op"])
        assert holds(c.frobenius(W), truth["fro"])
        assert holds(c.nuclear(W), truth["nuc"])
        if truth["op"]:
            assert holds(c.stable_rank(W), (truth["fro"] / truth["op"]) ** 2)


@given(matrices())
@settings(max_examples=30)
def test_the_ends_are_close(W):
    ends, top = c.spectral(W), np.abs(W).max()
    if top > 1e-300:  # where floats have all their digits
        assert ends.excess < 1e-12
        assert c.norms(W)["op"] <= ends.upper
        exact_entries = float(np.sum([mpmath.mpf(float(x)) for x in np.abs(W).ravel()]))
        assert c.norms(W)["l11"] <= exact_entries * (1 + 1e-13)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([near_rank_one, orthogonal, hilbert, integers, twins]),
    st.sampled_from([near_rank_one, orthogonal, integers, twins]),
    st.sampled_from([1.0, 2.0**500, 2.0**-520]),
)
@settings(max_examples=15)
def test_kronecker_products_are_large_and_known_to_50_digits(seed, left, other, scale):
    """‖A⊗B‖ = ‖A‖‖B‖; products of float32 entries are exact in float64."""
    rng = np.random.default_rng(seed)
    A, B = (f(rng, *rng.integers(10, 14, size=2)).astype(np.float32) for f in (left, other))
    W = np.kron(A.astype(float), B.astype(float)) * scale  # more than 96 on each side: Lanczos
    with mpmath.workdps(DIGITS):
        truth = singular(exact(A))[0] * singular(exact(B))[0] * scale
        ends = c.spectral(W)
        assert holds(ends, truth)
        assert ends.excess < 1e-5  # float32 splits equal singular values into clusters


def test_floats_alone_fall_below_the_truth():
    """Teeth: numpy's spectral norm is below the 50-digit value in a good part of the cases."""
    rng, below = np.random.default_rng(0), 0
    with mpmath.workdps(DIGITS):
        for _ in range(12):
            W = near_rank_one(rng, 5, 5)
            below += mpmath.mpf(float(np.linalg.norm(W, 2))) < singular(exact(W))[0]
    assert below >= 2


# -- typical weights ---------------------------------------------------------------------------


def power_law(n: int, seed: int = 0, exponent: float = 0.7) -> torch.Tensor:
    source = torch.Generator().manual_seed(seed)
    left, right = (
        torch.linalg.qr(torch.randn(n, n, generator=source, dtype=torch.float64))[0]
        for _ in range(2)
    )
    return (left * torch.arange(1, n + 1, dtype=torch.float64) ** -exponent) @ right


KINDS = ["gaussian", "power law", "tall", "orthogonal"]


@each(("n", "kind"), [*((n, kind) for n in (64, 200, 512) for kind in KINDS), (1024, "gaussian")])
def test_typical_weights_are_met_to_nine_digits(n, kind):
    source = torch.Generator().manual_seed(n)
    W = torch.randn(n, n, generator=source, dtype=torch.float64)
    if kind == "tall":
        W = torch.randn(3 * n, n // 4, generator=source, dtype=torch.float64).T
    elif kind == "power law":
        W = power_law(n)
    elif kind == "orthogonal":
        W = torch.linalg.qr(W)[0]
    W = W.to(torch.float32)
    ends = c.spectral(W)
    assert ends.excess < 3e-9
    assert ends.lower <= float(torch.linalg.svdvals(W.double())[0]) * (1 + 1e-13)


def test_exact_norms_of_large_matrices():
    H = torch.ones(1, 1, dtype=torch.float64)
    for _ in range(8):
        H = torch.cat((torch.cat((H, H), 1), torch.cat((H, -H), 1)))
    assert c.spectral(H).contains(16.0)  # Hadamard: 256^(1/2), a flat spectrum
    assert c.stable_rank(H).contains(256.0)
    u, v = torch.arange(300.0), torch.arange(170.0)
    ends = c.spectral(torch.outer(u, v))  # integers, rank one: the norm squared is an integer
    square = int((u.double() ** 2).sum()) * int((v.double() ** 2).sum())
    assert int(ends.lower**2 * (1 - 1e-15)) <= square <= math.ceil(ends.upper**2 * (1 + 1e-15))
    assert ends.excess < 1e-10
    ones = torch.ones(400, 130, dtype=torch.bfloat16)
    assert c.spectral(ones).contains(math.sqrt(400 * 130))
    cycle = torch.roll(torch.eye(150, dtype=torch.float64), 1, 0) * 1e150
    assert c.spectral(cycle).contains(1e150)


def test_scales_beyond_the_floats():
    big = torch.full((4, 4), 1.5e308, dtype=torch.float64)
    assert c.spectral(big) == Interval(LARGEST, math.inf)
    assert c.stable_rank(big).excess < 1e-12
    small = torch.full((4, 4), 5e-324, dtype=torch.float64)
    assert c.spectral(small).contains(2e-323)
    assert c.norms(small)["l11"] >= 16 * 5e-324
    assert c.norms(torch.zeros(3, 2)) == dict.fromkeys(NORMS, 0.0)
    assert c.spectral(torch.zeros(0, 5)) == Interval(0.0, 0.0)


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.int8],
)
def test_every_format_is_read_exactly(dtype):
    rng = np.random.default_rng(1)
    W = torch.as_tensor(rng.normal(size=(6, 4)) * 4).to(dtype)
    if dtype in (torch.float32, torch.float16):
        W = W * torch.finfo(dtype).smallest_normal / 64  # denormals of that format
    values = np.array([[float(x) for x in row] for row in W.to(torch.float64)])
    assert np.abs(values).max() > 0
    with mpmath.workdps(DIGITS):
        assert holds(c.spectral(W), singular(exact(values))[0])


def test_blocks_of_any_size_bound_the_same_number(monkeypatch):
    W = torch.as_tensor(np.random.default_rng(2).normal(size=(50, 23)))
    whole, sums = c.spectral(W), c.norms(W)
    monkeypatch.setattr(entries, "BLOCK_ROWS", 7)
    cut, again = c.spectral(W), c.norms(W)
    assert max(whole.lower, cut.lower) <= min(whole.upper, cut.upper)
    assert all(abs(sums[name] / again[name] - 1) < 1e-12 for name in sums)


def test_what_a_gpu_would_run_bounds_the_same_number(monkeypatch):
    """The path without numpy, on the processor."""
    cases = [SUBJECT, torch.randn(300, 260, generator=torch.Generator().manual_seed(0)).double()]
    numpy = [c.measured(W, 0.1) for W in cases]
    for module in (spectral, lanczos):
        monkeypatch.setattr(module, "on_processor", lambda X: False)
    for W, there in zip(cases, numpy, strict=True):
        here = c.measured(W, 0.1)
        assert max(here.op.lower, there.op.lower) <= min(here.op.upper, there.op.upper)
        assert here.op.excess < 3e-9 and here.rank == there.rank


# -- sabotage: what is not trusted may fail ------------------------------------------------------

SUBJECT = torch.as_tensor(np.random.default_rng(3).normal(size=(40, 30)))
TRUTH = float(np.linalg.norm(SUBJECT.numpy(), 2))


def test_a_poor_estimate_makes_the_interval_wide_not_wrong(monkeypatch):
    monkeypatch.setattr(spectral, "WIDE", math.inf)  # no second estimate
    start = torch.ones(30, dtype=torch.float64)
    for factor in (0.01, 0.9, 3.0):
        guess = spectral.EigenEstimate(factor * TRUTH**2, start, 0.0)
        monkeypatch.setattr(spectral, "largest", lambda G, guess=guess: guess)
        ends = c.spectral(SUBJECT)
        assert ends.contains(TRUTH) and ends.upper < 4 * TRUTH


def test_a_wrong_factor_is_found_out(monkeypatch):
    right = spectral.factor

    def wrong(A):
        return right(A + 2 * TRUTH**2 * torch.eye(30, dtype=torch.float64))

    monkeypatch.setattr(spectral, "factor", wrong)
    monkeypatch.setattr(spectral, "WIDE", math.inf)
    low = spectral.EigenEstimate(0.5 * TRUTH**2, torch.ones(30, dtype=torch.float64), 0.0)
    monkeypatch.setattr(spectral, "largest", lambda G: low)
    assert c.spectral(SUBJECT).upper >= TRUTH
    monkeypatch.setattr(spectral, "residual", lambda L, A: 0.0)
    with pytest.raises(AssertionError):  # without the residual the wrong factor would pass
        assert c.spectral(SUBJECT).upper >= TRUTH


def test_without_any_factor_the_gram_iteration_stands_in(monkeypatch):
    monkeypatch.setattr(spectral, "factor", lambda A: None)
    for W in (SUBJECT, SUBJECT * 1e-170, SUBJECT * 1e160):
        truth = float(np.linalg.norm(W.numpy(), 2))
        ends = c.spectral(W)
        assert truth <= ends.upper <= 1.002 * truth


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "W",
    [
        [[1.0, math.nan]],
        [[math.inf, 1.0]],
        np.ones((2, 2, 2)),
        np.ones((2, 2), dtype=complex),
        torch.tensor([[2**53 + 1]]),
    ],
    ids=["nan", "inf", "three axes", "complex", "long integers"],
)
def test_what_is_no_finite_matrix_is_refused(W):
    for measure in (c.norms, c.spectral, c.stable_rank, c.nuclear):
        with pytest.raises(InputError):
            measure(W)


def test_flushed_denormals_are_refused():
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush denormals")
    try:
        with pytest.raises(DenormalsFlushed):
            c.norms(torch.ones(2, 2))
    finally:
        torch.set_flush_denormal(False)
