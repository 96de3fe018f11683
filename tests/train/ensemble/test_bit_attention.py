"""Attention over bits: every way to compute it against the formula, and the masks of dropout.

Measured on the cases, largest relative error in norm of outputs and gradients, over `amplified`:
trial by trial 1e-15 in float64 and 6e-7 in float32; compiled 6e-7; the kernels 6e-7 in ieee and
1e-3 in fp16.
Inputs that are changed a little, and other processors, round otherwise: up to 1.5 times that.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from attention_cases import (
    CASES,
    CASES_OF_PROCESSOR,
    NAMES_OF_HEADS,
    NARROW,
    QUICK,
    Case,
    answers,
    answers_of_heads,
    by_compiled,
    by_definition,
    by_trial,
    heads_by_definition,
)
from dudley.core.philox import keys_tensor
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.bit_attention import anywhere, choose, masks, plain
from dudley.train.packed import pack
from each import each

TOLERANCES = {torch.float64: 2e-15, torch.float32: 1e-6, "ieee": 1e-6, "fp16": 2e-3}


def amplified(case: Case) -> float:
    """What a rounding error is multiplied by on its way, in norm.

    An error of a score is a relative one of its weight, and grows as scores do. Where gradients are
    the mass's, g is 0 at weights that are dropped and the same at all others, and those of scores
    are A∘(g − ⟨A, g⟩): as Var g = q·E g² at rate q, what is left is √q of what was there.
    """
    return max(1.0, case.sharp) * (case.dropout[1] ** -0.5 if case.pull < 1 else 1.0)


def assert_close(tensors: dict, expected: dict, case: Case, kind) -> None:
    tolerance = TOLERANCES[kind] * amplified(case)
    for name, x in expected.items():
        error = (tensors[name] - x).norm() / x.norm() if x.any() else tensors[name].norm()
        assert error < tolerance, (name, float(error))


def assert_near(tensors: dict, case: Case, kind) -> None:
    assert_close(tensors, answers(case, by_definition), case, kind)
    for e, m in enumerate(case.counts):
        past = tensors["mixed"][e, :, m:], tensors["mass"][e, m:], tensors["K"][e, :, m:]
        assert not any(x.any() for x in past), "rows that are no examples answer zero"


@each("dtype", [torch.float64, torch.float32])
@each("name", CASES_OF_PROCESSOR)
def test_trial_by_trial(name, dtype):
    case = CASES_OF_PROCESSOR[name]
    assert_near(answers(case, by_trial, dtype), case, dtype)


@pytest.mark.parametrize("dropout", list(itertools.product((0.0, 0.1, 0.7), repeat=2)))
def test_every_pair_of_rates(dropout):
    case = Case(T=33, D=8, H=2, counts=(3, 5), dropout=dropout)
    assert_near(answers(case, by_trial), case, torch.float64)


@pytest.mark.slow  # compiling takes seconds, where nothing was compiled before
@each("name", CASES_OF_PROCESSOR)
def test_compiled(numba, name):
    case = CASES_OF_PROCESSOR[name]
    assert_near(answers(case, by_compiled, torch.float32), case, torch.float32)


@pytest.mark.slow
@each("dropout", list(itertools.product((0.0, 0.1, 0.7), repeat=2)))
def test_compiled_at_every_pair_of_rates(numba, dropout):
    case = Case(T=33, D=8, H=2, counts=(3, 5), dropout=dropout)
    assert_near(answers(case, by_compiled, torch.float32), case, torch.float32)


@each("name", CASES_OF_PROCESSOR)
def test_the_formula_for_other_devices(name):
    """Padded rows taken to zero by a product, instead of left out."""
    case = CASES_OF_PROCESSOR[name]
    assert_near(answers(case, choose._by_formula), case, torch.float64)


OF_KERNELS = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]


@pytest.mark.parametrize("name", OF_KERNELS)
def test_kernels(kernels, name):
    case = CASES[name]
    expected = answers_of_heads(case, heads_by_definition)
    for kind in ("ieee", "fp16") if name in NARROW else ("ieee",):
        assert_close(kernels[name, kind], expected, case, kind)
        for e, m in enumerate(case.counts):
            assert not any(kernels[name, kind][of][e, m:].any() for of in ("heads", "q"))


@each("name", CASES_OF_PROCESSOR)
def test_heads_on_a_processor(name):
    case = CASES_OF_PROCESSOR[name]
    expected = answers_of_heads(case, heads_by_definition)
    assert_close(answers_of_heads(case, choose.attend_heads), expected, case, torch.float64)


@pytest.mark.parametrize("name", OF_KERNELS)
def test_kernels_drop_the_same_coordinates(kernels, name):
    case = CASES[name]
    for t, factors in zip((0, case.T, case.T + 2), kernels[name, "rows"], strict=True):
        sizes = case.M, t, case.D, case.H, case.dropout[0]
        assert factors.equal(masks.row_factors(*_counters(case.noise), *sizes))


def _counters(noise):
    return noise.keys, noise.step


def test_the_formula_is_softmax_attention_over_normalised_rows():
    """`plain` at one example, token by token, with LayerNorm and softmax in base e."""
    source = torch.Generator().manual_seed(2)
    T, D, H = 3, 4, 2
    base, lift, K, κ, μ = (
        torch.randn(shape, generator=source, dtype=torch.float64)
        for shape in ((T + 1, D), (D,), (H, D), (T + 1, D), (H, T + 1))
    )
    K = K - K.mean(-1, keepdim=True)
    bits = torch.tensor([1, 0, 1])
    words = pack(bits)[None, None]
    mixed, mass = plain.attend(
        base[None], lift[None], K[None, :, None], words, κ[None, None], μ[None, None]
    )
    rows = [(base[t] + (lift if t < T and bits[t] else 0)) * κ[t] for t in range(T + 1)]
    z = torch.stack([torch.nn.functional.layer_norm(row, (D,)) for row in rows])
    for h in range(H):
        weights = torch.softmax(np.log(2.0) * z @ K[h], 0) * μ[h]
        centred = mixed[0, h, 0] - mixed[0, h, 0].mean()
        torch.testing.assert_close(centred, weights @ z, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(mass[0, 0, h], weights.sum(), rtol=1e-12, atol=1e-12)


def test_without_noise_nothing_is_dropped():
    case = Case(dropout=(0.3, 0.3))
    calm = Case(dropout=(0.0, 0.0))
    assert_near(answers(case, lambda *inputs: choose.attend(*inputs[:5], None, case.dropout)), calm,
                torch.float64)  # fmt: skip
    noisy = answers(case, choose.attend)
    assert_near(noisy, case, torch.float64)
    assert not torch.allclose(noisy["mass"], answers(calm, by_definition)["mass"], atol=0.1)


def test_a_device_without_kernels_is_asked_for_no_value():
    """What a graph records: tensors of the meta device refuse to tell what they hold."""
    case = CASES_OF_PROCESSOR["two heads"]
    inputs = {name: x.to("meta") for name, x in case.inputs().items()}
    noise = Noise(case.noise.keys.to("meta"), case.noise.step.to("meta"))
    leaves = [inputs[name].requires_grad_() for name in NAMES_OF_HEADS[1:]]
    rest = inputs["words"], inputs["counts"], noise, case.H, (0.1, 0.1)
    torch.autograd.grad(choose.attend_heads(*leaves, *rest).sum(), leaves)
    factors = choose.row_factors(noise, case.M, case.T, case.D, case.H, 0.1)
    assert factors.shape == (3, case.M, case.D) and factors.device.type == "meta"


# Masks.

KEYS = [0, 1, 2, 3, 2**32, 2**63, 2**64 - 1, 12345]  # neighbours and extremes
STEPS, M, T, D, H = 8, 24, 8, 16, 4


def hash_by_integers(key: int, step: int, i: int, x: int) -> int:
    """The docstring of `masks`, in Python's integers."""
    r = [i, 0, step, 6]
    k0, k1 = key % 2**32, key >> 32
    for n in range(7):
        a, b = r[0] * 0xD2511F53, r[2] * 0xCD9E8D57
        left, right = (k0 + n * 0x9E3779B9) % 2**32, (k1 + n * 0xBB67AE85) % 2**32
        r = [(b >> 32) ^ r[1] ^ left, b % 2**32, (a >> 32) ^ r[3] ^ right, a % 2**32]
    x = (x * 0x9E3779B1 + r[0]) % 2**32
    x = (x ^ (x >> 16)) * 0x85EBCA6B % 2**32
    x = (x ^ (x >> 13) ^ r[1]) * 0xC2B2AE35 % 2**32
    return x ^ (x >> 16)


def test_masks_are_those_of_the_definition():
    keys, p, q = [2**64 - 3, 17], 0.3, 0.6
    noise = Noise(keys_tensor(keys), torch.tensor(2**31 - 1))
    κ, μ = anywhere.factors(noise, 3, T, D, H, (p, q))
    S = D // 2 + H
    for e, i, t in itertools.product(range(2), range(3), range(T + 1)):
        of = [hash_by_integers(keys[e], 2**31 - 1, i, S * t + j) for j in range(S)]
        halves = [h % 2**16 for h in of[: D // 2]] + [h >> 16 for h in of[: D // 2]]
        assert (κ[e, i, t] > 0).tolist() == [half >= round(p * 2**16) for half in halves]
        stays = [h % 2**16 >= round(q * 2**16) for h in of[D // 2 :]]
        assert (μ[e, i, :, t] > 0).tolist() == stays


def test_both_ways_to_make_masks_agree():
    noise = Noise(keys_tensor(KEYS), torch.tensor(3))
    words = masks.example_words(*_counters(noise), M)
    κ, μ = anywhere.factors(noise, M, T, D, H, (0.1, 0.4))
    for e, trial_words in enumerate(words):
        rows = masks.kept_rows(trial_words, np.arange(T + 1), D, H, 0.1)
        assert np.array_equal(rows, κ[e] > 0)
        assert np.array_equal(masks.kept_weights(trial_words, T, D, H, 0.4), μ[e] > 0)
    for t in (0, T, T + 2):
        here = masks.row_factors(*_counters(noise), M, t, D, H, 0.1)
        assert anywhere.row_factors(noise, M, t, D, H, 0.1).equal(here)
    assert here.dtype == torch.float32


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.3, 2**-16, 1 - 2**-16])
def test_thresholds_have_sixteen_bits_and_keep_the_mean(p):
    least, factor = masks.threshold(p)
    assert isinstance(least, int) and abs(least / 2**16 - p) <= 2**-17
    assert (1 - least / 2**16) * factor == pytest.approx(1, abs=1e-15)


def test_halves_are_uniform_to_the_last_bit():
    """All four quarters of the bits of a hash, over neighbouring numbers, at α = 1e-6."""
    words = masks.example_words(keys_tensor(KEYS), 0, 200).reshape(-1, 2)
    r = masks.hash_numbers(np.arange(400), words)
    for shift in (0, 8, 16, 24):
        counts = np.bincount(((r >> shift) & 0xFF).ravel(), minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-6


@pytest.fixture(scope="module")
def dropped():
    """Standardised drops: of rows (step, trial, example, token, coordinate), of weights
    (…, token, head), at rates .1 and .3."""
    noises = [Noise(keys_tensor(KEYS), torch.tensor(step)) for step in range(STEPS)]
    both = [anywhere.factors(noise, M, T, D, H, (0.1, 0.3)) for noise in noises]
    rows, weights = (np.stack([one[j].numpy() for one in both]) == 0 for j in (0, 1))
    masses = {}
    for name, drops, p in (("rows", rows, 0.1), ("weights", weights.swapaxes(-1, -2), 0.3)):
        exact = masks.threshold(p)[0] / 2**16
        masses[name] = (drops - exact) / np.sqrt(exact * (1 - exact))
    return masses


AXES = {"step": 0, "trial": 1, "example": 2, "token": 3, "coordinate": 4}
ALPHA = 1e-6


@pytest.mark.parametrize("name", ["rows", "weights"])
def test_rates_of_dropout(dropped, name):
    """Overall, and at each place of every axis."""
    z = dropped[name]
    for axes in ((), *((axis,) for axis in range(5))):
        rest = tuple(axis for axis in range(5) if axis not in axes)
        sums = z.mean(rest) * np.sqrt(z.size / np.size(z.mean(rest)))
        assert np.abs(sums).max() < stats.norm.isf(ALPHA / 2 / np.size(sums))


def assert_uncorrelated(first: np.ndarray, second: np.ndarray | None = None) -> None:
    """Variables × samples: no pair is correlated, none by much and not a little on the whole.

    A standardised product has mean 0 and variance 1, so √N times a correlation is about N(0, 1).
    """
    C = first @ (first if second is None else second).T / np.sqrt(first.shape[1])
    scores = C[np.triu_indices(len(C), 1)] if second is None else C.ravel()
    assert np.abs(scores).max() < stats.norm.isf(ALPHA / 2 / scores.size)
    assert stats.chi2.sf((scores**2).sum(), scores.size) > ALPHA


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["rows", "weights"])
def test_drops_are_uncorrelated_along_every_axis(dropped, name, axis):
    """Coordinates, tokens, examples, steps and trials; of weights, coordinates are heads."""
    z = np.moveaxis(dropped[name], AXES[axis], 0)
    assert_uncorrelated(z.reshape(len(z), -1))


def test_rows_and_weights_are_uncorrelated(dropped):
    """Coordinates against heads, of the same token and example."""
    rows, weights = (np.moveaxis(dropped[name], -1, 0) for name in ("rows", "weights"))
    assert_uncorrelated(rows.reshape(D, -1), weights.reshape(H, -1))


def test_the_test_of_correlation_can_fail(dropped):
    """A tenth of the drops copied from a neighbour is found."""
    z = np.moveaxis(dropped["rows"], -1, 0).reshape(D, -1).copy()
    z[1, ::10] = z[0, ::10]
    with pytest.raises(AssertionError):
        assert_uncorrelated(z)
