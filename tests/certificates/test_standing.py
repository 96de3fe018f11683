"""Certificates and published bounds on one model, against formulas written out by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dudley.calculus.union import Grid
from dudley.certificates.base import method_named
from dudley.certificates.data import Dataset
from dudley.certificates.fit.posterior import PosteriorTraining
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.standing import StandingRow, from_json, standing
from dudley.certificates.standing.blame import blame, factors
from dudley.certificates.standing.case import Case, radius
from dudley.certificates.standing.certificates import COMPRESSED, DRAWN, ITSELF, _blame
from dudley.certificates.standing.margins import TrainingMargins
from dudley.certificates.standing.published import about_networks, published_rows
from dudley.certificates.standing.reading import read_off
from dudley.certificates.standing.stated import Stated
from dudley.core.errors import InputError, UnknownName
from dudley.theorems import registry
from dudley.theorems.chaining import chained

T = 5
FAST = PosteriorTraining(steps=60, batch=64)


def head(k: int = 1, sigma: str = "identity", readout: bool = False, out: bool = False, size=1.0):
    """A head with a fixed query on bits; W_v of any size, with W_c and w where they are asked."""
    d, rng = 2 * T + 1, np.random.default_rng(7)
    layer = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": k, "sigma": sigma}
    weights = {"0.v": 3 * rng.standard_normal((d, 1))}
    weights["0.W_v"] = size * rng.standard_normal((d, k))
    if out:
        layer["W_c"] = "free"
        weights["0.W_c"] = rng.standard_normal((k, d))
    tables = {"schema": "dudley.net/1", "input": {"T": T + 1, "V": d}, "layer": [layer]}
    if readout:
        tables["output"] = {"w": "free"}
        weights["1.w"] = rng.standard_normal((d if out else k, 1))
    return Hypothesis(tables, {"name": "bits", "T": T}, weights)


def examples(n: int, seed: int) -> Dataset:
    X = np.random.default_rng(seed).integers(0, 2, (n, T)).astype(np.uint8)
    return Dataset(X, (X[:, 0] & X[:, 1]).astype(np.int64))


@pytest.fixture(scope="module")
def data() -> Dataset:
    return examples(400, seed=0)


@pytest.fixture(scope="module")
def fresh() -> Dataset:
    return examples(300, seed=1)


@pytest.fixture(scope="module")
def good() -> Hypothesis:
    """u·x > 0 where bits 0 and 1 are both set: no errors."""
    model = head()
    W_v = np.zeros((2 * T + 1, 1))
    W_v[[0, 1]], W_v[[T, T + 1]] = -1.0, 0.4
    weights = {"0.v": np.zeros((2 * T + 1, 1)), "0.W_v": W_v + 1e-3 * math.pi * (W_v != 0)}
    return Hypothesis(model.tables, model.encoding_table, weights)


def unit(Y: np.ndarray) -> np.ndarray:
    """Π: rows onto the unit ball."""
    return Y / np.maximum(1, np.linalg.norm(Y, axis=-1, keepdims=True))


def papers_head(M, X, σ, Π, scale=1.0) -> np.ndarray:
    """w·W_cᵀσ(W_vᵀXᵀsoftmax(XW_QKᵀx₀)), written out, on rows X (n, T, d)."""
    W_QK = M["W_Q"] @ M["W_K"].T * scale if "W_Q" in M else M["W_QK"]
    scores = np.einsum("nd,de,nte->nt", X[:, -1], W_QK, X)
    a = np.exp(scores - scores.max(1, keepdims=True))
    a /= a.sum(1, keepdims=True)
    hidden = σ(Π(np.einsum("nt,ntd->nd", a, X) @ M["W_v"]))
    return (Π(hidden @ M["W_c"]) if "W_c" in M else hidden) @ M["w"]


SHAPES = [
    {},
    {"size": 5.0},
    {"k": 3, "sigma": "relu", "readout": True},
    {"k": 3, "readout": True, "out": True, "size": 3.0},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_papers_matrices_compute_the_same_function(shape):
    model = head(**shape)
    X = examples(64, seed=2).X
    rows, wanted = model.encoding.rows(X), model.outputs(X)

    def relu(y):
        return np.maximum(0, y)

    def same(y):
        return y

    σ = relu if shape.get("sigma") == "relu" else same
    readings = read_off(model)
    assert ("encoder" in readings) is not bool(shape.get("out"))
    for name, reading in readings.items():
        activation, Π = (relu if name == "encoder" else σ), (unit if name == "block" else same)
        M = reading.matrices
        scale = 1 / math.sqrt(M["W_v"].shape[1])
        got = papers_head(M, rows, activation, Π, scale)
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12, err_msg=name)
        for W in M:
            assert reading.values[f"{W}.op" if W != "w" else "w.l2"] >= np.linalg.norm(M[W], 2)


def test_what_was_scaled_is_read_off():
    assert read_off(head(size=5.0))["block"].trained >= {"w"}
    assert "w" not in read_off(head(size=5.0))["head"].trained


@pytest.fixture(scope="module")
def model_standing(good, data, fresh):
    return standing(good, data, fresh, plan=FAST, papers=("li2026",))


def test_certificates_are_those_of_the_methods_and_say_whose_they_are(
    model_standing, good, data, fresh
):
    rows = {row.name: row for row in model_standing.rows if row.kind != "published"}
    assert list(rows) == ["hold-out", "norm-cover", "occam", "pac-bayes"]
    for name, examples in (("hold-out", fresh), ("norm-cover", data)):
        assert rows[name].value == method_named(name)(good, examples, among=4).value
        assert rows[name].about == ITSELF and rows[name].tested == {"errors": 0, "n": 300}
    with pytest.raises(InputError):
        method_named("occam")(good, data)  # so its row is about another model
    assert (rows["occam"].about, rows["pac-bayes"].about) == (COMPRESSED, DRAWN)
    assert rows["hold-out"].kind == "baseline"
    assert model_standing.test["error"] == 0 and 0 < model_standing.test["at_most"] < 0.01


def test_the_examples_needed_are_where_the_number_meets_guessing(model_standing):
    for row in model_standing.of("certificate"):
        if row.name == "pac-bayes":
            continue
        c = math.fsum(row.terms.values())
        assert -math.expm1(-c / row.needed["value"]) < model_standing.guess
        assert -math.expm1(-c / (row.needed["value"] / 1.06)) > model_standing.guess


def test_no_statement_about_a_network_is_dropped(model_standing):
    every = {id for id, s in registry.load().items() if s.paper == "li2026"}
    rows = {row.name for row in model_standing.rows if row.kind == "published"}
    assert rows | set(model_standing.facts["not_about_networks"]) == every
    assert not rows & set(model_standing.facts["not_about_networks"])
    for row in model_standing.rows:
        assert row.culprit and (row.refused or row.blame), row.name
    names = {s.id for s in about_networks()}
    assert {"edelman2021/theorem-A.17", "mwigo2026/theorem-5", "li2026/theorem-6.4"} <= names
    assert not names & {"trauger2024/lemma-3.6", "edelman2021/lemma-A.10", "edelman2021/lemma-2.2"}


def case_of(id: str, model: Hypothesis, data: Dataset) -> Case:
    training = TrainingMargins(model.margins(data), 0.05, 0.24)
    return Case(registry.load()[id], read_off(model), training)


@pytest.mark.slow
def test_a_complexity_becomes_a_bound_on_the_error(good, data):
    """Corollary 4.1.1: norms up to the grid, each paid; ramp, 2R/γ and the deviation."""
    training = TrainingMargins(good.margins(data), 0.05, 0.24)
    rows = published_rows(read_off(good), training, ("trauger2024",))
    (row,) = [row for row in rows if row.name == "trauger2024/corollary-4.1.1"]
    v, u = (np.abs(good.weights[name]) for name in ("0.v", "0.W_v"))
    γ, γ_nats = training.γ
    assert v.sum() == 0
    nats, norms = γ_nats, {}
    read = {"W_QK.l11": 0.0, "W_v.row1inf": u.max(), "W_v.col1inf": u.sum()}
    for name, value in read.items():
        norms[name], price = Grid().round_up(value * (1 + 1e-12))
        nats += price
    norms |= {"w.l1": 1.0, "W_c.row1inf": 1.0, "W_c.col1inf": 1.0, "sigma.lipschitz": 1.0}
    sizes = {"n": data.n, "d": 2 * T + 1, "k": 1, "T": T + 1, "X.row2inf": 1.0}
    it = registry.load()["trauger2024/corollary-4.1.1"]
    R = it.evaluate_on(norms | sizes, "derived").value
    ramp = np.clip(1 - good.margins(data) / γ, 0, 1).mean()
    drift = math.sqrt((math.log(20) + nats) / (2 * data.n))
    assert row.terms["training ramp"] == pytest.approx(ramp)
    assert row.value == pytest.approx(ramp + 2 * R / γ + drift, rel=1e-6)
    assert (
        row.refuted and row.verdict == it.standing and row.value >= (good.margins(data) <= 0).mean()
    )


def test_a_cover_is_chained_as_the_calculus_chains_it(good, data):
    """Equation 14 covers the class of Theorem B.1, whose slow rate is 2κ times its complexity."""
    cover, risk = (case_of(f"li2026/{x}", good, data) for x in ("equation-14", "theorem-B.1"))
    n, κ = 10**9, risk.situation.values["kappa"]
    R = cover.complexity("derived", n)
    assert 0 < R < radius(cover.values("derived")) / 10
    assert risk.complexity("derived", n) == pytest.approx(2 * κ * R, rel=1e-6)


def test_a_stated_cover_falls_and_covers_by_members_cost_more(good, data):
    case = case_of("edelman2021/corollary-4.4", good, data)
    inputs = tuple((case.values("derived") | {"n": 1000}).items())
    entropy = Stated(case.statement, "best", inputs, 1.0)
    ε = np.log([0.05, 0.2, 0.8, 1.0])
    plain, members = entropy.log_log(ε), entropy.proper().log_log(ε)
    assert (np.diff(plain) < 0).all() and plain[-1] == -math.inf
    assert (members[:-1] > plain[:-1]).all() and entropy.proper().proper() == entropy.proper()
    assert chained(entropy, 1.0, 1000, "best") <= chained(entropy, 1.0, 1000, "dudley")


def test_the_readout_of_a_model_must_be_in_the_class(data):
    model = head(k=3, sigma="relu", readout=True)
    failure = case_of("edelman2021/corollary-4.4", model, data).fails
    assert failure is not None and "w" in failure[1]
    assert case_of("trauger2024/corollary-4.1.1", model, data).fails is None
    failure = case_of("mwigo2026/lemma-6", head(k=3, readout=True, out=True), data).fails
    assert failure is not None and "W_c" in failure[1]


def test_a_model_that_errs_in_training_is_no_minimiser(good, data):
    y = data.y.copy()
    y[0] = 1 - y[0]
    failure = case_of("li2026/theorem-B.1", good, Dataset(data.X, y)).fails
    assert failure is not None and failure[0] == "no minimiser"
    assert case_of("li2026/theorem-B.1", good, data).fails is None


def test_other_architectures_are_refused_by_name(good, data):
    two = dict(good.tables) | {"layer": [good.tables["layer"][0]] * 2}
    two["layer"] = [dict(two["layer"][0]) | {"k": 2 * T + 1}, two["layer"][0]]
    shapes = {"0.v": 1, "0.W_v": 2 * T + 1, "1.v": 1, "1.W_v": 1}
    weights = {name: np.ones((2 * T + 1, k)) for name, k in shapes.items()}
    with pytest.raises(InputError, match="one head"):
        read_off(Hypothesis(two, good.encoding_table, weights))
    rows = published_rows(
        "published bounds: expected one head", TrainingMargins(np.ones(9), 0.05, 0.5)
    )
    assert len(rows) == len(about_networks()) and all(row.refused for row in rows)


def test_the_input_with_the_largest_factor_is_blamed(good, data):
    model = Hypothesis(
        good.tables, good.encoding_table, good.weights | {"0.v": 40 + 0 * good.weights["0.v"]}
    )
    case = case_of("trauger2024/corollary-4.1.1", model, data)
    n = case.examples_needed("derived")
    assert n is not None
    by_input = factors(case, n)
    sizes = {name: x**e for name, (x, e) in by_input.items()}
    assert blame(case)[0].startswith(max(sizes, key=lambda name: sizes[name]))
    assert by_input["W_QK.l11"][1] > 0 and by_input["1/margin"] == (1 / case.training.γ[0], 1.0)


def test_the_term_without_which_the_number_falls_most_is_blamed():
    def number(share, c, n):
        return share + c / n

    assert _blame({"a": 5.0, "b": 9.0}, 0.0, number, 100)[0].startswith("b, 64 %")
    assert _blame({"a": 5.0, "b": 9.0}, 0.5, number, 100)[0].startswith("errors")


def test_a_standing_is_plain_data(model_standing):
    record = json.loads(json.dumps(model_standing.to_json(), allow_nan=False))
    assert from_json(record) == model_standing
    with pytest.raises(InputError, match="schema"):
        from_json(record | {"schema": "x"})


def test_bad_input_is_refused(good, data):
    with pytest.raises(InputError, match="neither"):
        StandingRow("x", "published")
    with pytest.raises(InputError, match="kind"):
        StandingRow("x", "guess", value=1.0)
    with pytest.raises(UnknownName, match="paper"):
        standing(good, data, papers=("nobody1999",))
    with pytest.raises(InputError, match="declared"):
        standing(good, data, declared={"hold-out": {}})  # no test set, no hold-out
    with pytest.raises(InputError, match="in the training set"):
        standing(good, data, data)
    with pytest.raises(InputError, match="rightly"):
        _ = TrainingMargins(-np.ones(3), 0.05, 0.5).γ
