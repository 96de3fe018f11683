"""PAC-Bayes: divergence, forms, draws, files and the method, each against an oracle of its own."""

from __future__ import annotations

import contextlib
import copy
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from dudley.certify.data import Dataset
from dudley.certify.fit.forward import blank
from dudley.certify.hypothesis import Hypothesis
from dudley.certify.inversion import binomial_upper, kl_upper
from dudley.certify.pac_bayes import PacBayes, Posterior, monte_carlo
from dudley.certify.pac_bayes.divergence import gaussian
from dudley.certify.pac_bayes.form_catoni import Catoni
from dudley.certify.pac_bayes.form_kl import KL, log_xi, xi
from dudley.certify.pac_bayes.form_quadratic import Quadratic
from dudley.certify.pac_bayes.forms import FORMS
from dudley.certify.pac_bayes.posterior import load
from dudley.certify.pac_bayes.prior import Learned, Seeded, Zero, prior_of
from dudley.certify.verify import verify
from dudley.core.errors import DudleyError, InputError

HEAD = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1, "sigma": "identity"}


def tables(T: int) -> dict:
    return {"schema": "dudley.net/1", "input": {"T": T + 1, "V": 2 * T + 1}, "layer": [HEAD]}


def posterior(T: int = 2, size: float = 1.0, σ: float = 0.3, prior=None, σ_v: float = 2.0**-20):
    """f = (size·(2·bit₀ − 1) + noise)/(T + 1), attention uniform."""
    W = np.zeros((2 * T + 1, 1))
    W[0], W[T] = -size, size
    mean = Hypothesis(tables(T), {"name": "bits", "T": T}, {"0.v": np.zeros_like(W), "0.W_v": W})
    sigma = {"0.v": np.full_like(W, σ_v), "0.W_v": np.full_like(W, σ)}
    return Posterior(mean, sigma, prior or Zero())


def flip(T: int, size: float, σ: float) -> float:
    """P[f has the wrong sign] where bit 0 is right: f sums T + 1 independent values."""
    return float(stats.norm.cdf(-size / (σ * math.sqrt(T + 1))))


def copies(n: int, T: int = 2, risk: float = 0.1, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 2, (n, T))
    X[:, 0] = y ^ (rng.random(n) < risk)
    return Dataset(X.astype(np.uint8), y)


# -- divergence -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "w, σ, w0, s", [(1.0, 0.5, 0.2, 2.0), (0.0, 1.0, 0.0, 1.0), (-3, 2, 1, 0.7)]
)
def test_divergence_is_the_integral(w, σ, w0, s):
    q, p = stats.norm(w, σ), stats.norm(w0, s)
    found = gaussian(*(np.array([float(x)]) for x in (w, σ, w0, s)))
    integral, _ = integrate.quad(
        lambda x: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), w - 12 * σ, w + 12 * σ
    )
    assert found == pytest.approx(integral, abs=1e-8)


def test_divergence_is_rounded_up_and_hardly_more():
    from flint import arb, ctx

    rng = np.random.default_rng(0)
    for spread in (1e-9, 0.1, 5.0):
        w, w0 = rng.normal(size=(2, 200))
        s = np.exp(rng.normal(size=200))
        σ = s * np.exp(spread * rng.normal(size=200))
        found = gaussian(w, σ, w0, s)
        with ctx.workprec(200):
            exact = arb(0)
            for a, b, c, d in zip(w, σ, w0, s, strict=True):
                W, Σ, C, S = (arb(float(x)) for x in (a, b, c, d))
                exact += (Σ**2 + (W - C) ** 2) / (2 * S**2) - arb(0.5) + (S / Σ).log()
            assert arb(found) >= exact
            assert arb(found) <= exact * (1 + arb(1e-12)) + arb(1e-12)
    with pytest.raises(InputError):
        gaussian(w, 0 * σ, w0, s)


# -- forms ------------------------------------------------------------------------------------


def test_xi_is_the_sum_it_stands_for():
    for n in range(1, 41):
        exact = sum(
            math.comb(n, k) * Fraction(k, n) ** k * Fraction(n - k, n) ** (n - k)
            for k in range(n + 1)
        )
        assert exact <= Fraction(xi(n)) <= exact * (1 + Fraction(1, 10**12))
    for n in (8, 100, 10_000, 10**6):
        assert math.sqrt(n) <= xi(n) <= 2 * math.sqrt(n)
        assert xi(n) == pytest.approx(math.sqrt(math.pi * n / 2) + 2 / 3, abs=0.1)


def test_the_kl_form_solves_its_equation():
    q, nats, n = 0.03, 40.0, 2000
    c = (nats + math.log(xi(n))) / n
    gap = lambda p: q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p)) - c  # noqa: E731
    root = optimize.brentq(gap, q + 1e-9, 1 - 1e-9, xtol=1e-15)
    assert root <= KL().bound(q, nats, n) <= root * (1 + 1e-9)


@pytest.mark.parametrize("q, nats, n", [(0.0, 20.0, 1000), (0.02, 50.0, 5000), (0.3, 9.0, 200)])
def test_catoni_at_its_best_real_lambda_is_the_inverse_kl(q, nats, n):
    value = lambda λ: math.expm1(-(λ * q + nats / n)) / math.expm1(-λ)  # noqa: E731
    best = min(value(math.exp(t)) for t in np.linspace(-8, 4, 20_001))
    assert best == pytest.approx(kl_upper(q, nats / n), rel=1e-5)
    options = [Catoni().bound(q, nats, n, j) for j in Catoni().options()]
    assert best <= min(options) <= 1.1 * best
    for j in (-3, 0, 5):
        assert 0 <= Catoni().bound(q, nats, n, j) - min(1.0, value(2 ** (j / 2))) < 1e-12
    with pytest.raises(InputError):
        Catoni().bound(q, nats, n, 21)


def test_prices_of_lambda_are_those_of_a_distribution():
    weights = [math.exp(-Catoni().price(j).nats) for j in Catoni().options()]
    assert 0.9 < sum(weights) <= 1


def test_forms_grow_with_errors_and_nats_and_the_quadratic_is_never_below_kl():
    assert set(FORMS) == {"kl", "catoni", "quadratic"}
    for form in (FORMS[name] for name in FORMS):
        values = [form.bound(q, 30.0, 1000) for q in (0.0, 0.01, 0.1, 0.4)]
        assert values == sorted(values) and values[-1] <= 1
        assert form.bound(0.01, 30.0, 1000) < form.bound(0.01, 31.0, 1000)
        assert form.bound(0.9, 1e6, 10) == 1.0
    for q in (0.0, 0.01, 0.2):
        κ = (30 + log_xi(1000)) / 2000
        assert KL().bound(q, 30.0, 1000) <= Quadratic().bound(q, 30.0, 1000)
        told = (math.sqrt(q + κ) + math.sqrt(κ)) ** 2
        assert Quadratic().bound(q, 30.0, 1000) == pytest.approx(told, rel=1e-12)


# -- draws ------------------------------------------------------------------------------------


def test_pairs_err_as_often_as_the_closed_form_says():
    Q, data, N = posterior(T=2, size=1.0, σ=0.5), copies(500), 20_000
    wrong = float((data.X[:, 0] != data.y).mean())
    p = flip(2, 1.0, 0.5)
    exact = wrong * (1 - p) + (1 - wrong) * p
    found = monte_carlo.errors_of_pairs(Q, data, N)
    assert abs(found - N * exact) < 4 * math.sqrt(N * exact * (1 - exact))


def test_draws_are_those_of_the_posterior_and_of_nothing_else(monkeypatch):
    Q, data = posterior(), copies(300)
    pairs = np.arange(5, 12)
    W, i = monte_carlo.weights(Q, pairs), monte_carlo.examples(Q, data.n, pairs)
    assert np.array_equal(W["0.W_v"][3], monte_carlo.weights(Q, pairs[3:4])["0.W_v"][0])
    assert i[3] == monte_carlo.examples(Q, data.n, pairs[3:4])[0]
    other = posterior(size=1.0 + 1e-12)
    assert not np.allclose(monte_carlo.weights(other, pairs)["0.W_v"], W["0.W_v"])
    found = monte_carlo._counted(Q, data, 700)
    monkeypatch.setattr(monte_carlo, "TOGETHER", 100)
    assert monte_carlo._counted(Q, data, 700) == found
    z = (monte_carlo.weights(Q, np.arange(4000))["0.W_v"] - Q.weights["0.W_v"]) / 0.3
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    places = monte_carlo.examples(Q, 7, np.arange(7000))
    assert stats.chisquare(np.bincount(places, minlength=7)).pvalue > 1e-3


def network(kind: str) -> tuple[dict, dict]:
    rows = {"name": "rows", "T": 3, "d": 4, "R": 2.0}
    start = {"schema": "dudley.net/1", "input": {"T": 3, "d": 4, "X": {"row2inf": 2.0}}}
    if kind == "relu":
        layer = HEAD | {"k": 3, "sigma": "relu"}
        return start | {"layer": [layer], "output": {"w": "free"}}, rows
    free = dict.fromkeys(("W_Q", "W_K", "W_v", "W_c", "b_v"), "free")
    mlp = {"k": 3, "sigma": "gelu", "W_1": "free", "W_2": "free", "b_1": "free"}
    block = {"node": "pre-ln-block", "H": 2, "k": 2, "ln": {"gain": "free"}, "mlp": mlp, **free}
    places = {"node": "positions", "T": 3, "P": "free"}
    return start | {
        "layer": [places, block],
        "output": {"node": "logits", "V": 2, "W": "free"},
    }, rows


@pytest.mark.parametrize("kind", ["relu", "block"])
def test_a_batch_of_weights_is_each_of_them_alone(kind):
    mean = blank(*network(kind))
    rng = np.random.default_rng(0)
    w = {name: rng.normal(size=shape) for name, shape in mean.shapes.items()}
    mean = Hypothesis(mean.tables, mean.encoding_table, w)
    Q = Posterior(mean, {name: np.full(W.shape, 0.5) for name, W in w.items()}, Zero())
    X = rng.normal(size=(6, 3, 4))
    drawn = monte_carlo.weights(Q, np.arange(6))
    together = monte_carlo.drawn_outputs(Q, X, drawn)
    for j in range(6):
        own = {name: W[j] for name, W in drawn.items()}
        alone = Hypothesis(mean.tables, mean.encoding_table, own).outputs(X[j : j + 1])
        assert np.allclose(together[j], alone[0], rtol=0, atol=1e-12)


# -- priors and files -------------------------------------------------------------------------


def learned(data: Dataset, prefix: int, σ: float = 0.3) -> Posterior:
    like = posterior(σ=σ)
    seen = data.part(slice(0, prefix)).sha256
    return posterior(σ=σ, prior=Learned(prefix, seen, dict(like.weights), dict(like.sigma)))


@pytest.mark.parametrize("kind", ["zero", "seeded", "learned"])
def test_a_file_is_read_as_it_was_written(tmp_path, kind):
    data = copies(100)
    prior = {"zero": Zero(), "seeded": Seeded(3, 0.1)}.get(kind)
    Q = learned(data, 40) if prior is None else posterior(prior=prior)
    Q.save(tmp_path / "q.safetensors")
    again = load(tmp_path / "q.safetensors")
    assert again.sha256 == Q.sha256 and again.prior_sha256 == Q.prior_sha256
    assert again.prior.told == Q.prior.told
    s = {name: 0.7 for name in Q.mean.shapes}
    assert again.divergences(s) == Q.divergences(s)


def test_a_learned_prior_that_is_the_posterior_costs_nothing():
    Q = learned(copies(100), 40)
    assert sum(Q.divergences({name: 1.0 for name in Q.mean.shapes}).values()) < 1e-12


def test_files_that_are_not_posteriors_are_refused(tmp_path):
    posterior().mean.save(tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"dudley\.posterior/1"):
        load(tmp_path / "model.safetensors")
    (tmp_path / "broken.safetensors").write_bytes(b"no such thing")
    with pytest.raises(InputError):
        load(tmp_path / "broken.safetensors")
    with pytest.raises(InputError, match="no file"):
        load(tmp_path / "none.safetensors")


@pytest.mark.parametrize(
    "told, arrays",
    [
        ({"kind": "zero"}, {"prior.mean.0.v": np.zeros((5, 1))}),  # weights that saw who knows what
        ({"kind": "seeded", "seed": 1}, {}),
        ({"kind": "seeded", "seed": "x", "size": 1.0}, {}),
        ({"kind": "learned", "prefix": 0, "seen": ""}, {}),
        ({"kind": "pretrained"}, {}),
    ],
)
def test_priors_of_no_known_origin_are_refused(told, arrays):
    with pytest.raises(DudleyError):
        prior_of(told, arrays)


def test_posteriors_with_wrong_deviations_are_refused():
    Q = posterior()
    for bad in (
        np.zeros((5, 1)),
        np.full((5, 1), np.inf),
        np.ones((1, 5)),
        np.ones((5, 1), np.float32),
    ):
        with pytest.raises(InputError):
            Posterior(Q.mean, Q.sigma | {"0.v": bad}, Zero())
    with pytest.raises(InputError):
        Posterior(Q.mean, {"0.v": Q.sigma["0.v"]}, Zero())
    with pytest.raises(InputError):
        Posterior(Q.mean, Q.sigma, Learned(3, "", dict(Q.weights), {"0.v": Q.sigma["0.v"]}))


# -- the method -------------------------------------------------------------------------------

QUICK = {"pairs": 2000}


def test_the_number_is_the_form_at_the_bill():
    Q, data = posterior(), copies(1000)
    told = PacBayes()(Q, data, delta=0.1, share=0.2, **QUICK)
    j = told.choices["scales"]
    nats = {n: math.log(1.5 * (abs(i) + 1) * (abs(i) + 2)) for n, i in j.items()}
    s = {n: 2 ** (i / 2) for n, i in j.items()}
    total = sum(Q.divergences(s).values()) + sum(nats.values()) - math.log(0.1 * 0.8)
    q = binomial_upper(told.facts["erring_pairs"], 2000, -math.log(0.1 * 0.2))
    assert told.facts["mean_error_at_most"] == pytest.approx(q, rel=1e-12)
    assert told.value == pytest.approx(KL().bound(q, total, 1000), rel=1e-8)
    assert told.value >= KL().bound(q, total, 1000) * (1 - 1e-13)
    assert "drawn from its posterior" in told.quantity
    assert any("nothing is said of the model with the mean" in t for t in told.declarations)
    assert "divergence" in told.advice[0] and len(told.advice) == 4


def test_the_scales_chosen_are_the_cheapest_of_the_grid():
    Q, data = posterior(σ=0.3), copies(200)
    told = PacBayes()(Q, data, **QUICK)
    for name, j in told.choices["scales"].items():
        for other in (j - 1, j + 1):
            choices = copy.deepcopy(told.choices)
            choices["scales"][name] = other
            assert PacBayes().certify(Q, data, told.declared, choices).value >= told.value


def test_forms_methods_and_the_grid_are_paid_for():
    Q, data = posterior(), copies(1000)
    one = PacBayes()(Q, data, forms=["kl"], **QUICK)
    both = PacBayes()(Q, data, forms=["kl", "quadratic"], **QUICK)
    assert both.choices["form"] == "kl"
    assert both.bill.nats == pytest.approx(one.bill.nats + math.log(2))
    catoni = PacBayes()(Q, data, forms=["catoni"], **QUICK)
    assert any(price.name.startswith("λ") for price in catoni.prices)
    among = PacBayes()(Q, data, among=4, **QUICK)
    assert among.bill.nats == pytest.approx(one.bill.nats + math.log(4))
    assert among.facts["mean_error_at_most"] > one.facts["mean_error_at_most"]
    single = PacBayes()(Q, data, grid="one", **QUICK)
    assert sum("prior scale" in price.name for price in single.prices) == 1
    none = PacBayes()(Q, data, grid="none", scale=0.5, **QUICK)
    assert [price.name for price in none.prices] == ["δ for the draws"]


def test_a_learned_prior_counts_the_examples_it_has_not_seen():
    data = copies(1000)
    Q = learned(data, 400)
    told = PacBayes()(Q, data, prior={"kind": "learned", "prefix": 400}, grid="none", **QUICK)
    assert (told.facts["n"], told.facts["seen_by_prior"]) == (600, 400)
    rest = data.part(slice(400, None))
    assert told.facts["erring_pairs"] == monte_carlo.errors_of_pairs(Q, rest, 2000)
    assert told.facts["divergence"] < 1e-9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda data: data.part(slice(None, None, -1)),  # the counted ones may have been seen
        lambda data: data.part(slice(1, None)),
        lambda data: data.part(slice(0, 400)),
    ],
)
def test_a_learned_prior_refuses_other_examples_in_its_place(wrong):
    data = copies(1000)
    Q = learned(data, 400)
    with pytest.raises(InputError, match="prior"):
        PacBayes()(Q, wrong(data), prior={"kind": "learned", "prefix": 400}, **QUICK)


@pytest.mark.parametrize(
    "declared",
    [
        {"prior": {"kind": "learned", "prefix": 10}},
        {"prior": {"kind": "seeded", "seed": 0, "size": 0.1}},
        {"grid": "many"},
        {"scale": 0.0},
        {"share": 1.0},
        {"forms": []},
        {"forms": ["kl", "kl"]},
        {"forms": ["mcallester"]},
        {"forms": "kl"},
        {"pairs": 0},
        {"seed": 3},
    ],
)
def test_what_is_declared_wrongly_is_refused(declared):
    with pytest.raises(DudleyError):
        PacBayes()(posterior(), copies(50), **(QUICK | declared))


def test_one_model_is_refused():
    with pytest.raises(InputError, match="posterior"):
        PacBayes()(posterior().mean, copies(50), **QUICK)


@pytest.mark.parametrize(
    "change",
    [
        {"form": "catoni"},
        {"option": 1},
        {"scales": {"0.v": 0}},
        {"scales": {"0.v": 61, "0.W_v": 0}},
        {"more": 1},
    ],
)
def test_choices_outside_their_lists_are_refused(change):
    Q, data = posterior(), copies(50)
    told = PacBayes()(Q, data, **QUICK)
    with pytest.raises(InputError):
        PacBayes().certify(Q, data, told.declared, told.choices | change)


def leaves(value, path=()):
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path, value


@pytest.mark.parametrize("forms", [["kl"], ["kl", "catoni"]])
def test_verify_finds_the_same_and_every_change(forms, tmp_path):
    data = copies(400)
    learned(data, 100).save(tmp_path / "q.safetensors")
    Q = load(tmp_path / "q.safetensors")
    made = PacBayes()(Q, data, prior={"kind": "learned", "prefix": 100}, forms=forms, pairs=500)
    told = json.loads(made.text())
    assert verify(told, Q, data).holds
    for path, value in leaves(told):
        if path[0] in ("declared", "provenance", "schema"):
            continue
        changed = copy.deepcopy(told)
        place = changed
        for key in path[:-1]:
            place = place[key]
        if isinstance(value, bool):
            place[path[-1]] = not value
        elif isinstance(value, str):
            place[path[-1]] = "kl" if value == "catoni" else value + "x"
        else:
            place[path[-1]] = value * 1.001 if isinstance(value, float) and value else value + 1
        with contextlib.suppress(DudleyError):
            assert not verify(changed, Q, data).holds, path
    moved = Posterior(Q.mean, Q.sigma | {"0.v": Q.sigma["0.v"] * 1.0001}, Q.prior)
    assert not verify(told, moved, data).holds
