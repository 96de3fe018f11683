"""Copies: refused where no independent draws could have them, and only there."""

import math
from itertools import product

import numpy as np
import pytest

from certificates.language_toys import TINY, sentences, zeros
from certificates.posteriors import HEAD, posterior
from certificates.validity import reader
from dudley.certificates.base import METHODS, method_named
from dudley.certificates.copies import excess, expect_chance, α
from dudley.certificates.data import Dataset, read
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.language.certificate import certify as certify_language
from dudley.certificates.methods.language.corpus import Corpus
from dudley.core.errors import InputError

METHOD_NAMES = ("hold-out", "norm-cover", "occam", "pac-bayes")
BITS = 10


def counts(draws) -> np.ndarray:
    return np.unique(draws, return_counts=True)[1]


def sample(n: int, seed: int = 0) -> Dataset:
    X = np.random.default_rng(seed).integers(0, 2, (n, BITS)).astype(np.uint8)
    return Dataset(X, X[:, 0].astype(np.int64))


def made(name: str, data: Dataset):
    quick = {"pairs": 500} if name == "pac-bayes" else {}
    model = posterior(T=BITS) if name == "pac-bayes" else reader(BITS, 0)
    return method_named(name)(model, data, **quick)


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_a_file_that_holds_every_row_a_hundred_times_is_refused(name):
    data = sample(100)
    honest = made(name, data)
    copied = data.part(np.tile(np.arange(data.n), 100))
    with pytest.raises(InputError, match="too regular for chance"):
        made(name, copied)
    # What it would have said: the same errors among a hundred times the examples.
    method, declared = METHODS[name], honest.declared
    model = posterior(T=BITS) if name == "pac-bayes" else reader(BITS, 0)
    leaky = method.certify(model, copied, declared, method.choose(model, copied, declared))
    assert leaky.value < honest.value / 2


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_rows_of_a_small_domain_repeat_by_right(name):
    data = sample(3000)
    assert data.repeated > 1900
    assert made(name, data).data["repeated"] == data.repeated


def test_documents_are_no_exception():
    corpus = sentences(400)
    assert certify_language(zeros(TINY), corpus).data["n"] == 400
    rows = np.tile(np.arange(400), 2)
    twice = Corpus(corpus.codes[rows], corpus.lengths[rows], corpus.alphabet, corpus.shortest)
    with pytest.raises(InputError, match="800 documents, 400 of them different"):
        certify_language(zeros(TINY), twice)


@pytest.mark.parametrize("times", [2, 3, 7, 100])
def test_every_multiple_is_seen_from_few_rows_on(times):
    assert excess(np.full(40, times)) > 0
    small = counts(np.random.default_rng(1).integers(0, 300, 900))
    assert excess(small) < 0 < excess(times * small)


def test_part_of_a_file_is_seen_where_it_would_matter():
    def doubled(copied: int, n: int = 10_000):
        return np.repeat([1, 2], [n - 2 * copied, copied])

    assert excess(doubled(900)) > 0 > excess(doubled(100))


def test_independent_draws_of_any_distribution_are_let_through():
    """At α = 5e-7 not one of some hundred samples is refused, be they flat, peaked or spread."""
    rng = np.random.default_rng(7)
    for places in (1, 2, 5, 30, 400, 20_000):
        for concentration in (0.02, 0.3, 5.0):
            p = rng.dirichlet(np.full(places, concentration))
            for n in (10, 300, 5000):
                expect_chance(counts(rng.choice(places, n, p=p)))
    expect_chance(counts(rng.zipf(1.2, 20_000)))


def test_the_mean_product_is_at_most_one_where_the_number_of_draws_is_poisson():
    """The heart of the proof, in closed form: E G ≤ 1 for every rate, every J, s and bet."""
    from scipy import stats

    from dudley.certificates.copies import BETS, SIDES, _log_products

    k = np.arange(0, 400)
    rates = np.array([0.01, 0.7, 2.0, 3.1, 40.0, 99.5])
    chance = stats.poisson.pmf(k, rates[:, None])
    for m, multiples in product((2, 3, 4, 10, 100), (False, True)):
        G = np.exp([_log_products(k[i : i + 1], np.ones(1), m, multiples) for i in k])
        assert G.shape == (len(k), len(BETS), len(SIDES))
        assert G.min() > 0 and (G[0] == 1).all() and (G[1] <= 1).all()
        assert (np.tensordot(chance, G, 1) <= 1 + 1e-12).all()


@pytest.mark.parametrize("m, K", [(3, 3), (10, 10), (100, 100), (100, 800), (7, 56)])
def test_the_wide_product_has_a_mean_of_at_most_one_too(m, K):
    """Summed over all counts, for rates at, between and far from the multiples."""
    from scipy import stats

    from dudley.certificates.copies import _log_wide_products

    k = np.arange(0, 2500)
    logs = [_log_wide_products(k[i : i + 1], np.ones(1), m, K) for i in k]
    for G in np.exp(logs).T:  # one of each bet
        assert G.min() > 0 and G[0] == 1 and G[1] <= 1
        for rate in (0.5, 1.0 * m, 1.5 * m, K - 0.5, 1.0 * K, K + m / 2, 1200.0, 1234.5):
            assert float(stats.poisson.pmf(k, rate) @ G) <= 1 + 1e-12


def test_a_hundred_copies_of_a_dozen_rows_are_seen():
    few = counts(np.random.default_rng(3).integers(0, 12, 100))
    assert len(few) == 12 and excess(few) < 0 < excess(100 * few)


def test_minus_zero_is_zero():
    X = np.zeros((40, 1, 2))
    X[:, 0, 1] = np.arange(40)
    data = Dataset(np.concatenate([X, -X]), np.zeros(80, np.int64))
    assert Dataset(np.concatenate([X, X * [1.0, 1.0]]), data.y).repeated == 40
    signed = X.copy()
    signed[:, 0, 0] = -0.0
    assert Dataset(np.concatenate([X, signed]), data.y).repeated == 40


def test_true_is_written_in_one_way(tmp_path):
    """255 bytes are true for numpy: a hundred rows, each written in a hundred ways."""
    X = np.tile(sample(100).X, (100, 1))
    ways = (X * np.repeat(np.arange(1, 101), 100)[:, None].astype(np.uint8)).view(np.bool_)
    assert len(np.unique(ways.view(np.uint8), axis=0)) > 9000
    np.savez(tmp_path / "data.npz", X=ways, y=np.zeros(10_000, np.int64))
    with pytest.raises(InputError, match="truth values written as 0 and 1, got a byte 100"):
        read(tmp_path / "data.npz")


def same_to_a_network(name: str, factors) -> tuple[Hypothesis, np.ndarray]:
    """A model, and rows that differ in their bytes but not in what the model's network reads."""
    rng = np.random.default_rng(4)
    if name == "rows":
        encoding = {"name": "rows", "T": 1, "d": 2, "R": 2.0}
        inputs, bounded = {"T": 1, "d": 2}, {"X": {"row2inf": 2.0}}
        base = rng.normal(size=(60, 2))
        base *= 8 / np.linalg.norm(base, axis=1, keepdims=True)
        X = np.concatenate([base * factor for factor in factors])
    else:
        encoding = {"name": "blocks", "height": 4, "width": 2, "side": 2, "white": 255.0}
        inputs, bounded = {"T": 2, "d": 2}, {"X": {"row2inf": 1.0}}
        base = rng.integers(20, 200, (60, 4, 2))
        X = np.concatenate([base + np.array([i, -i]) for i in range(len(factors))])
    tables = {"schema": "dudley.net/1", "input": inputs | bounded, "layer": [HEAD]}
    weights = {"0.v": np.zeros((2, 1)), "0.W_v": np.array([[1.0], [-1.0]])}
    return Hypothesis(tables, encoding, weights), X


@pytest.mark.parametrize("name", ["rows", "blocks"])
def test_what_no_network_can_tell_apart_are_copies(name):
    model, X = same_to_a_network(name, (1.0, 2.0, 3.0, 5.5, 7.1))
    assert len(np.unique(X.reshape(len(X), -1), axis=0)) == len(X) == 300
    data = Dataset(X, np.zeros(300, np.int64))
    for method in ("hold-out", "norm-cover", "occam"):
        with pytest.raises(InputError, match="as the network reads them, 60 of them different"):
            method_named(method)(model, data)
    assert method_named("occam")(model, data.part(slice(0, 60))).data["n"] == 60


def test_a_pool_does_not_explain_copies_that_it_can_hardly_give():
    """A hundred rows a hundred times: all of a pool of 10⁴ can be, some of a huge one cannot."""
    copied = sample(100).part(np.tile(np.arange(100), 100))
    hold_out, model = METHODS["hold-out"], reader(BITS, 0)
    assert hold_out(model, copied, pool=copied.n).facts.pool == copied.n
    for pool in (10**6, 2**53 - 1):
        with pytest.raises(InputError, match="too regular for chance"):
            hold_out(model, copied, pool=pool)


@pytest.mark.parametrize("chances", [(1.0,), (0.5, 0.5), (0.6, 0.3, 0.1), (0.25,) * 4])
def test_the_claim_by_going_through_all_samples(chances):
    """E e^{excess} ≤ α gives P[excess ≥ 0] ≤ α: exact for 8 draws, not only for Poisson ones."""
    mean = 0.0
    for drawn in product(range(9), repeat=len(chances)):
        if sum(drawn) == 8:
            ways = math.factorial(8) // math.prod(map(math.factorial, drawn))
            chance = ways * math.prod(p**k for p, k in zip(chances, drawn, strict=True))
            mean += chance * math.exp(excess(np.array([k for k in drawn if k])))
    assert 0 < mean <= α


@pytest.mark.parametrize("pool", [(6, 2), (2, 2, 2, 2), (4, 4, 4), (1,) * 4 + (8,)])
def test_the_claim_for_pools_by_going_through_all_subsets(pool):
    """``pool`` says how often each different row stands in it; six are drawn."""
    N, mean = sum(pool), 0.0
    for drawn in product(*(range(size + 1) for size in pool)):
        if sum(drawn) == 6:
            ways = math.prod(math.comb(size, k) for size, k in zip(pool, drawn, strict=True))
            counted = np.array([k for k in drawn if k])
            mean += ways / math.comb(N, 6) * math.exp(excess(counted, N))
    assert 0 < mean <= α


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_equal_rows_are_listed_as_declared(name):
    listed = made(name, sample(3000)).declarations
    assert any("rows that equal an earlier one are draws of their own" in line for line in listed)
