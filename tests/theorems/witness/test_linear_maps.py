"""Codes, volumes, and lower bounds on linear maps, against tables, simulation and covers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

import checks
import dudley as du
from dudley.core.norms import NORMS
from dudley.theorems.witness import inside_networks
from dudley.theorems.witness.codes import gilbert_varshamov, sparse_signs
from dudley.theorems.witness.exact_covers import largest_packing
from dudley.theorems.witness.linear_maps import linear
from dudley.theorems.witness.members import draw
from dudley.theorems.witness.patterns import (
    entries_of_signs,
    pattern_norms,
    rows_of_signs,
    scattered_norms,
    scattered_signs,
)
from dudley.theorems.witness.volumes import inscribed, log_volume, volume_ratio, whole
from each import each

# The largest binary codes, A(n, d) (Brouwer's table).
LARGEST = {(5, 3): 4, (6, 3): 8, (7, 3): 16, (8, 3): 20, (9, 3): 40, (10, 3): 72, (8, 5): 4,
           (9, 5): 6, (10, 5): 12, (11, 5): 24, (4, 2): 8, (6, 2): 32, (11, 7): 4}  # fmt: skip


def test_codes_are_not_larger_than_the_largest():
    for (m, distance), count in LARGEST.items():
        log_size = gilbert_varshamov(m, distance)
        assert math.log(2) * (1 - 1e-12) <= log_size <= math.log(count)
    assert gilbert_varshamov(7, 3) > math.log(4)  # 128/29, rounded up to 5
    assert gilbert_varshamov(3, 4) == 0.0


def test_long_codes_join_the_summed_ones():
    for m in (3000, 4000):
        for distance in (2, m // 100, m // 10, m // 3):
            α = (distance - 1) / m
            bits = -α * math.log(α) - (1 - α) * math.log1p(-α)
            assert m * (math.log(2) - bits) <= gilbert_varshamov(m, distance)
    values = [gilbert_varshamov(m, m // 10) / m for m in (3000, 4001, 10**6, 10**9)]
    assert max(values) - min(values) < 0.01
    assert gilbert_varshamov(5000, 2600) == pytest.approx(math.log(2))


@pytest.mark.parametrize(("m", "k"), [(4, 1), (4, 2), (5, 2), (4, 3), (3, 3), (4, 4)])
def test_sparse_codes_against_the_largest(m, k):
    """All vectors with k signs, and the largest subset at each distance, by integer programming."""
    words = np.array([w for w in itertools.product((-1, 0, 1), repeat=m) if np.abs(w).sum() == k])
    squares = ((words[:, None] - words[None]) ** 2).sum(axis=2).astype(float)
    for square in range(1, 4 * k + 2):
        largest = len(largest_packing(squares, square - 0.5))
        log_size = sparse_signs(m, k, square)
        ball = (squares[0] < square).sum()
        assert math.log(len(words) / ball) - 1e-9 <= log_size or square > 4 * k
        assert log_size <= math.log(largest), (m, k, square)


# -- volumes ------------------


@each("norm", [name for name in NORMS if name != "nuc"])
def test_volumes_by_simulation(norm):
    """The share of a cube that the ball takes, ± 5 standard errors."""
    rng, count = np.random.default_rng(0), 15_000
    for shape in ((2, 2), (3, 1), (1, 3), (2, 3)):
        W = rng.uniform(-1, 1, size=(count, *shape))
        share = float((NORMS[norm].batch(torch.from_numpy(W)) <= 1).double().mean())
        expected = math.exp(log_volume(norm, shape) - shape[0] * shape[1] * math.log(2))
        error = 5 * math.sqrt(expected * abs(1 - expected) / count) + 1e-9
        assert abs(share - expected) <= error, (norm, shape, share, expected)


def test_volumes_of_large_spectral_balls():
    """Between the inscribed and the circumscribed Frobenius balls; symmetric."""
    for a, b in ((5, 3), (20, 20), (64, 2)):
        volume = log_volume("op", (a, b))
        assert math.isclose(volume, log_volume("op", (b, a)), rel_tol=1e-12)
        low = log_volume("fro", (a, b))
        assert low <= volume <= low + a * b / 2 * math.log(min(a, b))
        assert volume <= min(log_volume("row2inf", (a, b)), log_volume("col2inf", (a, b)))


def test_inscribed_balls_are_inside():
    rng = np.random.default_rng(0)
    radii = {"l11": 3.0, "op": 1.0, "row2inf": 0.8}
    for norm, r in inscribed(radii, (3, 2)).items():
        for W in draw(du.ball(norm, r), (3, 2), 60, rng):
            assert all(NORMS[inputs](W) <= radius for inputs, radius in radii.items())


def test_a_ratio_of_volumes_of_one_norm():
    for ε in (0.9, 0.5, 1e-3, 1e-200):
        value, name = volume_ratio({"op": 1.0}, (3, 2), "op", ε)
        assert name == "op" and value <= 6 * math.log(1 / ε) + math.log(1.5)
        assert value >= 6 * math.log(1 / ε) * (1 - 1e-9)
    assert volume_ratio({"op": 1.0}, (3, 2), "op", 1.0)[0] == 0
    assert volume_ratio({"op": 0.0}, (3, 2), "op", 0.1)[0] == 0


def test_whole_numbers():
    assert whole(math.log(7)) == pytest.approx(math.log(7)) and whole(math.log(7)) <= math.log(7)
    assert whole(math.log(7.1)) == pytest.approx(math.log(8))
    assert whole(math.log(7) + 1e-12) == pytest.approx(math.log(7))
    assert whole(40.3) == 40.3


# -- patterns ------------------


def test_norms_of_patterns():
    rng = np.random.default_rng(0)
    for a, b in ((1, 5), (3, 4), (4, 3), (6, 1)):
        for k in range(1, b + 1):
            W = np.zeros((a, b))
            for row in W:
                row[rng.choice(b, k, replace=False)] = rng.choice([-1.0, 1.0], k)
            for name, limit in pattern_norms(a, b, k).items():
                assert NORMS[name](W) <= limit * (1 + 1e-14), (name, a, b, k)
        for k in range(1, a * b + 1):
            W = np.zeros(a * b)
            W[rng.choice(a * b, k, replace=False)] = rng.choice([-1.0, 1.0], k)
            for name, limit in scattered_norms(a, b, k).items():
                assert NORMS[name](W.reshape(a, b)) <= limit * (1 + 1e-14), (name, a, b, k)


def test_patterns_by_exhaustion():
    """All sign matrices of 2×2 and 2×3: the largest subset that is far enough apart."""
    for a, b in ((2, 2), (2, 3), (1, 4)):
        words = np.array(list(itertools.product([-1.0, 1.0], repeat=a * b))).reshape(-1, a, b)
        for name, radius in (("l11", 1.0), ("row2inf", 1.0), ("op", 2.0), ("col21", 0.7)):
            c = radius / pattern_norms(a, b, b)[name]
            D = c * (words[:, None] - words[None])
            by_row = np.linalg.norm(D, axis=-1).max(axis=-1)
            by_entry = np.abs(D).max(axis=(-1, -2))
            for ε in c * np.array([0.3, 0.999, 1.2, 1.5, 1.9]):
                rows = len(largest_packing(by_row, 2 * ε))
                assert rows_of_signs({name: radius}, a, b, b, ε) <= math.log(rows)
                entries = len(largest_packing(by_entry, 2 * ε))
                assert entries_of_signs({name: radius}, a, b, ε) <= math.log(entries)
    assert rows_of_signs({"l11": 0.0}, 2, 2, 2, 0.1) == 0


def test_scattered_patterns_by_exhaustion():
    a, b = 2, 3
    for k in (1, 2):
        words = np.array([w for w in itertools.product((-1.0, 0.0, 1.0), repeat=a * b)
                          if np.abs(w).sum() == k]).reshape(-1, a, b)  # fmt: skip
        D = (words[:, None] - words[None]) / k
        by_op = np.linalg.norm(D, ord=2, axis=(-2, -1))
        by_row = np.linalg.norm(D, axis=-1).max(axis=-1)
        for ε in (0.1, 0.3, 0.45, 0.55, 0.7):
            for metric, ρ in ((by_op, min(a, b, 2 * k)), (by_row, min(a, 2 * k))):
                largest = math.log(len(largest_packing(metric, 2 * ε)))
                assert scattered_signs({"l11": 1.0}, a, b, k, ρ, ε) <= largest
    assert scattered_signs({"l11": 1.0}, 2, 3, 1, 2, 0.45) == pytest.approx(math.log(12))


# -- against covers ------------------


@each("case", checks.CASES, ids=lambda case: case.name)
def test_below_every_cover(case):
    maps, entropy = du.LinearMap(case.shape, case.constraint), case.entropy()
    l1 = case.l1 is not None
    resolutions = float(entropy.radius) * np.array([1.0, 0.97, 0.8, 0.5, 0.3, 0.1, 0.01, 1e-6])
    for n in (None, 1, 2, 30):
        for ε, above in zip(resolutions, entropy(resolutions, n), strict=True):
            bound = linear(maps, ε, n=n, form=case.form, l1=l1)
            assert bound.δ == 0
            assert 0 <= bound.value <= above, f"{bound} at ε = {ε}, n = {n}"
            scaled = linear(maps, 4 * ε, 2.0 if case.form == "bilinear" else 4.0, n, case.form, l1)
            assert math.isclose(scaled.value, bound.value, rel_tol=1e-9, abs_tol=1e-12)
    assert linear(maps, 1e-6, form=case.form, l1=l1).value > 0


LARGE = [du.L11(3.0), du.Spectral(1.0), du.Frobenius(2.0), du.Nuclear(1.0), du.Col2Inf(1.0),
         du.Row21(2.0), du.Col21(2.0), du.Row1Inf(1.0), du.LInf(0.1), du.Rank(3) & du.Spectral(1.0),
         du.L11(8.0) & du.Spectral(0.5)]  # fmt: skip


@pytest.mark.slow
@each("constraint", LARGE, ids=str)
@each("shape", [(40, 24), (1, 300), (300, 1), (24, 40)])
def test_below_every_cover_in_large_sizes(constraint, shape):
    maps = du.LinearMap(shape, constraint)
    for form in ("linear", "bilinear", "logits"):
        entropy = maps.entropy(form)
        for n, shares in ((None, [0.99, 0.49, 0.02]), (17, [0.4, 1e-4]), (1, [0.2])):
            resolutions = float(entropy.radius) * np.array(shares)
            bounds = [linear(maps, ε, n=n, form=form).value for ε in resolutions]
            assert (bounds <= entropy(resolutions, n)).all()


def test_strong_where_the_answer_is_known():
    maps = du.LinearMap((64, 64), du.Spectral(1.0))
    assert linear(maps, 0.5).value == pytest.approx(4096 * math.log(2), rel=1e-9)
    vertices = linear(du.LinearMap((64, 64), du.L11(1.0)), 0.499).value
    assert vertices == pytest.approx(math.log(8192))  # ±e_i f_j are pairwise 1 apart, or √2
    number = du.LinearMap((1, 1), du.LInf(3.0))
    for ε in (3.0, 2.9, 1.5, 1.4, 0.7, 0.1, 1e-3):
        exact = math.log(math.ceil(3 / ε))
        assert exact * (1 - 1e-3) - 1e-9 <= linear(number, ε).value <= exact


def test_several_centres_are_not_attacked():
    C = np.eye(2)
    maps = du.LinearMap((2, 2), du.L11(1.0, center=C) & du.Spectral(1.0))
    assert linear(maps, 0.01).value == 0
    linear_map = du.LinearMap((2, 2), du.L11(1.0, center=C))
    assert (
        linear(linear_map, 0.01).value == linear(du.LinearMap((2, 2), du.L11(1.0)), 0.01).value > 0
    )


@pytest.mark.parametrize("bad", [{"ε": 0.0}, {"ε": math.nan}, {"radius": -1.0}, {"n": 0},
                                 {"form": "cubic"}])  # fmt: skip
def test_refusals(bad):
    with pytest.raises(du.InputError):
        linear(du.LinearMap((2, 2), du.L11(1.0)), **({"ε": 0.1} | bad))


def test_no_volume_is_invented():
    with pytest.raises(du.UnknownName, match="volume 'nuc'"):
        log_volume("nuc", (2, 2))


def test_few_nonzeros_allow_few_patterns():
    """With s nonzeros among p, no bound of the whole ball: log N ≤ log C(p, s) + s·log⌈B/ε⌉."""
    whole = du.LinearMap((16, 1), du.LInf(1.0))
    few = du.LinearMap((16, 1), du.LInf(1.0) & du.Nonzeros(2))
    for ε in (0.4, 0.1, 0.01):
        most = math.log(math.comb(16, 2)) + 2 * math.log(math.ceil(1 / ε))
        assert 0 < linear(few, ε, l1=True).value <= most < linear(whole, ε, l1=True).value


def test_witnesses_that_fill_a_matrix_refuse_few_nonzeros():
    few = du.LInf(1.0) & du.Nonzeros(2)
    assert inside_networks.one_row(few, 2) > 0
    with pytest.raises(du.InputError, match="at most 2"):
        inside_networks.one_row(few, 3)
    for bounded in (few, du.Spectral(1.0) & du.Rank(2)):
        with pytest.raises(du.InputError, match="balls alone"):
            inside_networks.diagonal(bounded, 3)
