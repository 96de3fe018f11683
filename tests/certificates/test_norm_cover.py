"""Norm-cover: the number against its formula by hand, and everything that must be refused."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import dudley as du
from dudley.calculus.compose import Chain
from dudley.calculus.union import Grid
from dudley.certificates.base import METHODS
from dudley.certificates.data import Dataset
from dudley.certificates.encodings import Bits, Codes, Rows
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.norm_cover.cover import cover_of
from dudley.certificates.methods.norm_cover.declared import NormCoverChoices
from dudley.certificates.methods.norm_cover.method import NormCover
from dudley.certificates.methods.norm_cover.reduce import reduce_heads, reduced_head
from dudley.certificates.methods.norm_cover.sets import RECIPES, pay_for_sets
from dudley.certificates.methods.norm_cover.terms import terms
from dudley.core.constraint import FREE, Nonzeros, Observed
from dudley.core.errors import InputError, NotYetPaid, UnknownName
from dudley.networks.head import Head

T = 5
BITS = {"name": "bits", "T": T}
ALL = np.array(list(itertools.product([0, 1], repeat=T)), dtype=np.uint8)
HEAD = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1, "sigma": "identity"}


def net(*layers, d=2 * T + 1, rows=T + 1, output=None):
    tables = {"schema": "dudley.net/1", "input": {"T": rows, "d": d, "X": {"row2inf": 1.0}}}
    return tables | {"layer": list(layers)} | ({"output": output} if output else {})


def bit(place=1, strong=6.0):
    """A head that says what the bit at one place is."""
    v, u = np.zeros((2 * T + 1, 1)), np.zeros((2 * T + 1, 1))
    v[[place, T + place]] = strong
    u[place], u[T + place] = -1.0, 1.0
    return Hypothesis(net(HEAD), BITS, {"0.v": v, "0.W_v": u})


def sample(n, seed=0, place=1, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, T)).astype(np.uint8)
    return Dataset(X, (X[:, place] ^ (rng.random(n) < noise)).astype(np.int64))


METHOD = NormCover()


def test_it_is_registered():
    assert METHODS["norm-cover"].name == METHOD.name == "norm-cover"


def test_the_number_by_hand():
    """Every term written out: counts, grid prices, C(p, s)·cells^s, the binomial tail."""
    model, data = bit(), sample(4000, noise=0.01)
    certificate = METHOD(model, data, norms=["sparse"], delta=0.1)
    j = certificate.choices.j
    γ = 2 ** (j / 8)
    margins = model.margins(data)
    k = int((margins <= γ).sum())
    assert certificate.facts.errors_at_margin == k > 0
    p, s = 2 * T + 1, 2
    blocks = {b.block: b for b in certificate.facts.blocks}
    spent = blocks["0.v"].resolution * 1.0 + blocks["0.W_v"].resolution
    assert spent <= γ / 2 - certificate.facts.rounding
    log_N = 0.0
    for name, B in (("0.v", 8.0), ("0.W_v", 1.0)):  # 6 is rounded up to √2⁶ = 8
        cells = math.ceil(B / blocks[name].resolution * (1 - 1e-9))
        log_N += math.log(math.comb(p, s)) + s * math.log(cells)
    assert math.isclose(certificate.facts.log_cover, log_N, rel_tol=1e-9)
    price = lambda i: math.log(1.5 * (abs(i) + 1) * (abs(i) + 2))  # noqa: E731
    nats = price(6) + price(0) + 2 * math.log(s * (s + 1)) + price(j)
    assert math.isclose(certificate.bill.nats, nats, rel_tol=1e-9)
    c = log_N + nats + math.log(10)
    tail = lambda q: binom.logcdf(k, data.n, q)  # noqa: E731
    assert tail(certificate.value * (1 + 1e-6)) < -c < tail(certificate.value * (1 - 1e-6))
    assert certificate.value <= certificate.facts.kl_form
    assert certificate.value < 0.05


def test_every_number_of_every_weight_is_paid_for():
    model = bit()
    prices = {p.name for p in METHOD(model, sample(500), among=3).prices}
    assert {"margin", "norms", "method"} < prices
    for recipe in RECIPES:
        declared = METHOD.read_declared({"norms": [recipe]})
        names = {p.name for p in terms(model, declared, recipe).paid.prices}
        wanted = {f"{w}.{n}" for w in ("0.v", "0.W_v") for n in RECIPES[recipe].vector}
        wanted |= {f"{w}.nonzeros" for w in ("0.v", "0.W_v")} if RECIPES[recipe].counts else set()
        assert names == wanted


def test_norms_go_up_and_margins_go_down():
    model, data = bit(strong=5.9), sample(300)
    certificate = METHOD(model, data)
    for payment in terms(model, certificate.declared, certificate.choices.norms).paid.payments:
        assert payment.used >= payment.observed
    top = model.margins(data).max()
    assert certificate.facts.margin <= top
    assert (
        certificate.facts.errors_at_margin
        == (model.margins(data) <= certificate.facts.margin).sum()
    )


def test_a_network_with_a_number_not_paid_for_is_refused():
    less = reduce_heads(bit().network, bit().weights, Bits(T))
    made = pay_for_sets(less.network, less.weights, RECIPES["l1"], Grid(), 2 * T + 1)
    made.sets[0, "v"] = du.L1(Observed(1.0))
    with pytest.raises(NotYetPaid):
        _ = made.network


# -- the cover ------------------


@pytest.mark.parametrize("recipe", ["sparse", "l1"])
def test_the_whole_head_is_covered_by_counted_words(recipe):
    """Weights are encoded block by block at the resolutions told: f moves by at most ε, everywhere,
    and no block has more words than its part of log N says."""
    rng = np.random.default_rng(5)
    γ, X = 0.5, ALL
    for _ in range(6):
        v, u = rng.uniform(-4, 4, (2 * T + 1, 1)), rng.uniform(-1, 1, (2 * T + 1, 1))
        for W in (v, u):
            W[rng.permutation(2 * T + 1)[3:]] = 0.0
        model = Hypothesis(net(HEAD), BITS, {"0.v": v, "0.W_v": u})
        terms_of_recipe = terms(model, METHOD.read_declared({}), recipe)
        cover = terms_of_recipe.cover(γ)
        near = {}
        for block in cover.blocks:
            e, W = block.resolution, model.weights[block.block]
            near[block.block] = np.where(W == 0, 0.0, (np.floor(W / (2 * e)) + 0.5) * 2 * e)
        other = Hypothesis(net(HEAD), BITS, near)
        assert (
            np.abs(other.outputs(X) - model.outputs(X)).max()
            <= terms_of_recipe.resolution(γ) + 1e-12
        )


def test_a_cover_that_depends_on_the_sample_is_refused():
    head = Head(9, du.L2(1.0), v=du.L2(1.0), query="fixed", k=1, sigma="identity")
    tokens = du.Tokens(1.0, 5, 9)
    with pytest.raises(InputError, match="without n"):
        cover_of(du.capacity(head, tokens, n=1000), 0.1)
    only = du.capacity(head, tokens, covers=("perceptron",))
    with pytest.raises(InputError, match="covers of the sample's points"):
        cover_of(only, 0.1)
    both = cover_of(du.capacity(head, tokens), 0.1)
    assert {b.cover for b in both.blocks} <= {"volumetric", "maurey", "rounding-nearest", "grid"}
    wide = Head(400, du.L2(1.0), v=du.L2(1.0), query="fixed", k=1, sigma="identity")
    wide = du.capacity(wide, du.Tokens(1.0, 2, 400))
    assert cover_of(wide, 0.5).log_size > wide.entropy(0.5, 2)  # what a sample would have saved


def test_the_split_is_feasible_and_no_worse_than_the_calculus():
    sets = {"v": Nonzeros(3) & du.LInf(8.0), "W_v": Nonzeros(3) & du.LInf(1.0)}
    head = Head(33, query="fixed", k=1, sigma="identity", **sets)
    capacity = du.capacity(head, du.Tokens(1.0, 17, 33, row1inf=1.0))
    for ε in (0.05, 0.2, 0.45):
        log_size = cover_of(capacity, ε)
        assert log_size.log_size <= capacity.entropy(ε)
        assert sum(b.resolution for b in log_size.blocks) <= ε


# -- the fixed-[CLS] reduction ------------------


def with_scores(W_QK, u):
    head = {"node": "head", "query": "cls", "W_QK": "free", "W_v": "free", "k": 1}
    return Hypothesis(net(head | {"sigma": "identity"}), BITS, {"0.W_QK": W_QK, "0.W_v": u})


def test_the_reduction_is_exact_and_cheaper():
    rng = np.random.default_rng(0)
    plain = bit()
    W_QK = np.zeros((2 * T + 1, 2 * T + 1))
    W_QK[-1] = plain.weights["0.v"][:, 0]
    model = with_scores(W_QK, plain.weights["0.W_v"])
    assert np.array_equal(model.outputs(ALL), plain.outputs(ALL))
    less = reduce_heads(model.network, model.weights, model.encoding)
    assert less.heads == ("0",)
    assert np.array_equal(less.weights["0.v"], plain.weights["0.v"])
    data = sample(3000)
    certificate = METHOD(model, data)
    assert certificate.facts.reduced == ("0",)
    assert certificate.value == METHOD(plain, data).value
    W_QK[:-1] = rng.standard_normal((2 * T, 2 * T + 1))  # rows that no query ever reads
    assert METHOD(with_scores(W_QK, plain.weights["0.W_v"]), data).value == certificate.value


def test_the_reduction_is_refused_where_the_query_depends_on_the_input():
    head = Head(8, FREE, FREE, k=1, query="cls", sigma="identity")
    for encoding in (Codes(4, 4, cls=False), Rows(4, 8, 1.0)):
        with pytest.raises(InputError, match="same for every input"):
            reduced_head(head, np.zeros((8, 8)), encoding)
        network = reduce_heads(Chain((head,)), {"0.W_QK": np.zeros((8, 8))}, encoding)
        assert network.heads == ()
    every = Head(11, FREE, FREE, query="all", sigma="identity")
    behind = Chain((every, Head(11, FREE, FREE, k=1, query="cls", sigma="identity")))
    weights = {f"{i}.W_QK": np.zeros((11, 11)) for i in (0, 1)}
    assert reduce_heads(behind, weights, Bits(T)).heads == ()
    with pytest.raises(InputError, match="cls"):
        reduced_head(every, np.zeros((11, 11)), Bits(T))


# -- other networks ------------------


def test_two_heads_and_two_layers_and_logits():
    """Valid numbers, whatever they say: they may be vacuous, and then say so."""
    rng = np.random.default_rng(1)
    d, data = 2 * T + 1, sample(800)
    two = {"node": "heads", "H": 2} | {k: v for k, v in HEAD.items() if k != "node"}
    weights = {}
    for h in (0, 1):
        weights |= {f"0.{h}.v": bit().weights["0.v"], f"0.{h}.W_v": bit().weights["0.W_v"] / 2}
    model = Hypothesis(net(two), BITS, weights)
    certificate = METHOD(model, data, norms=["sparse"])
    assert not certificate.vacuous
    assert {b.block for b in certificate.facts.blocks} == set(weights)
    assert len([p for p in certificate.prices if "linf" in p.name]) == 4
    deep = net(
        {"node": "head", "W_QK": "free", "W_v": "free", "W_c": "free", "k": 2, "sigma": "tanh"},
        {"node": "head", "query": "cls", "W_QK": "free", "W_v": "free", "k": 1, "sigma": "tanh"},
    )
    shapes = {"0.W_QK": (d, d), "0.W_v": (d, 2), "0.W_c": (2, d), "1.W_QK": (d, d), "1.W_v": (d, 1)}
    stack = Hypothesis(deep, BITS, {n: 0.3 * rng.standard_normal(s) for n, s in shapes.items()})
    certificate = METHOD(stack, data, norms=["l1"])
    assert certificate.vacuous
    assert certificate.value <= 1
    assert certificate.facts.reduced == ()
    head = HEAD | {"k": 2}
    logits = Hypothesis(
        net(head) | {"output": {"node": "logits", "V": 2, "W": "free"}},
        BITS,
        {
            "0.v": bit().weights["0.v"],
            "0.W_v": np.hstack([-bit().weights["0.W_v"], bit().weights["0.W_v"]]),
            "1.W": np.eye(2),
        },
    )
    certificate = METHOD(logits, data, norms=["sparse"])
    assert certificate.facts.slope == 2.0
    assert certificate.facts.resolution <= certificate.facts.margin / 4
    rows = Hypothesis(net(head), BITS, {n: W for n, W in logits.weights.items() if n != "1.W"})
    assert math.isclose(METHOD(rows, data, norms=["sparse"]).facts.slope, math.sqrt(2))


def test_a_fixed_table_that_no_cover_counts_is_refused():
    layers = [{"node": "positions", "T": T + 1, "P": "free"}, HEAD]
    weights = bit().weights
    model = Hypothesis(
        net(*layers),
        BITS,
        {"0.P": np.ones((T + 1, 2 * T + 1)), "1.v": weights["0.v"], "1.W_v": weights["0.W_v"]},
    )
    with pytest.raises(InputError, match=r"0\.P"):
        METHOD(model, sample(100))


# -- radius, ties, choices ------------------


def test_the_radius_of_clipped_rows_comes_from_a_list():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3, 4))
    largest = float(np.linalg.norm(X, axis=2).max())
    weights = {"0.v": np.zeros((4, 1)), "0.W_v": np.eye(4)[:, :1].copy()}
    data = Dataset(X, (X[:, :, 0].sum(axis=1) > 0).astype(np.int64))

    def at(R):
        return Hypothesis(net(HEAD, d=4, rows=3), {"name": "rows", "T": 3, "d": 4, "R": R}, weights)

    with pytest.raises(InputError, match="power of two"):
        METHOD(at(largest), data)
    with pytest.raises(InputError, match="declared radius"):
        METHOD(at(largest), data, radius=1.0)
    l2 = {"norms": ["l2"]}
    assert "radius" in {p.name for p in METHOD(at(4.0), data, **l2).prices}
    assert "radius" not in {p.name for p in METHOD(at(3.0), data, radius=3.0, **l2).prices}


def test_a_tie_is_an_error_and_a_margin_at_the_threshold_counts():
    weights = {"0.v": np.zeros((2 * T + 1, 1)), "0.W_v": np.zeros((2 * T + 1, 1))}
    certificate = METHOD(Hypothesis(net(HEAD), BITS, weights), sample(50))
    assert certificate.facts.errors == 50
    assert certificate.value == 1.0
    model, data = bit(strong=0.0), sample(64)  # margins are ±2/6 up to rounding
    at = METHOD.read_declared({"margin_ratio": float(1 / model.margins(data).max())})
    certificate = METHOD.certify(model, data, at, NormCoverChoices("sparse", -1))
    exactly = at.margin_ratio**-1
    assert certificate.facts.errors_at_margin == int((model.margins(data) <= exactly).sum())


def test_the_rounding_error_is_taken_from_the_margin():
    model = bit()
    cover = terms(model, METHOD.read_declared({}), "sparse")
    assert 0 < cover.η < 1e-11
    for γ in (0.5, 1e-6):
        assert cover.resolution(γ) <= γ / 2 - cover.η
    assert cover.cover(cover.η).log_size == math.inf


def test_the_same_choices_give_the_same_certificate_and_others_are_refused():
    model, data = bit(), sample(400)
    certificate = METHOD(model, data)
    again = METHOD.certify(model, data, certificate.declared, certificate.choices)
    first, second = (json.loads(c.text()) for c in (certificate, again))
    assert first == second
    declared = certificate.declared
    for choices in ({}, {"norms": "l7", "j": 0}, {"norms": "l1", "j": 0.5}, {"j": 1}):
        with pytest.raises(InputError):
            METHOD.certify(model, data, declared, METHOD.read_choices(choices))
    with pytest.raises(UnknownName):
        METHOD(model, data, gamma=0.5)
    with pytest.raises(UnknownName):
        METHOD(model, data, norms=["l3"])
    with pytest.raises(InputError):
        METHOD(model, data, ratio=1.0)


def test_the_chosen_margin_is_the_best_of_the_grid():
    model, data = bit(), sample(600, noise=0.02)
    declared = METHOD.read_declared({"norms": ["sparse"]})
    best = METHOD.choose(model, data, declared)
    values = {
        j: METHOD.certify(model, data, declared, NormCoverChoices("sparse", j)).value
        for j in range(-12, 2, 3)
    }
    chosen = METHOD.certify(model, data, declared, best).value
    assert chosen <= min(values.values()) * 1.02


def test_it_says_why_and_what_would_lower_it():
    certificate = METHOD(bit(), sample(500))
    text = " ".join(certificate.advice)
    for word in ("twice the examples", "half the linf of 0.v", "half the entropy", "no small"):
        assert word in text
    numbers = [float(line.split(": ")[1].split()[0]) for line in certificate.advice[:-1]]
    assert numbers == sorted(numbers)
    assert math.isclose(sum(b.share for b in certificate.facts.blocks), 1.0, rel_tol=1e-6)
