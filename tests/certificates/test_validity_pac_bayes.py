"""Validity of PAC-Bayes by simulation: ours fails as δ allows, each leak at 3δ or more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from certificates.validity import allowed, failures, leaks
from dudley.calculus.inversion import binomial_upper
from dudley.calculus.union import Grid
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes import monte_carlo
from dudley.certificates.methods.pac_bayes.form import FORMS
from dudley.certificates.methods.pac_bayes.forms.catoni import Catoni
from dudley.certificates.methods.pac_bayes.method import PacBayes
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.methods.pac_bayes.prior import Learned, Zero, split

δ, REPETITIONS = 0.1, 500
LARGE = 8  # λ = 16 in Catoni's form: at no errors almost 1 − e^{−nats/n}


def head(T: int, j: int) -> Hypothesis:
    """Reads bit j of T."""
    layer = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1}
    tables = {
        "schema": "dudley.net/1",
        "input": {"T": T + 1, "V": 2 * T + 1},
        "layer": [layer | {"sigma": "identity"}],
    }
    W = np.zeros((2 * T + 1, 1))
    W[j], W[T + j] = -1.0, 1.0
    return Hypothesis(tables, {"name": "bits", "T": T}, {"0.v": np.zeros_like(W), "0.W_v": W})


def around(T: int, j: int, σ: float, prior=None) -> Posterior:
    """N(·, σ²) for the values, attention as good as uniform."""
    mean = head(T, j)
    shape = mean.weights["0.v"].shape
    return Posterior(
        mean, {"0.v": np.full(shape, 2.0**-20), "0.W_v": np.full(shape, σ)}, prior or Zero()
    )


def mixed(risk: float, T: int, σ: float) -> float:
    """The error of the randomised reader of a bit that is wrong with this probability."""
    flip = stats.norm.cdf(-1 / (σ * math.sqrt(T + 1)))
    return float(risk * (1 - flip) + (1 - risk) * flip)


def noisy(T: int, n: int, risk: float):
    """T independent copies of the label, each wrong with this probability."""

    def draw(rng: np.random.Generator) -> Dataset:
        y = rng.integers(0, 2, n)
        wrong = rng.random((n, T)) < risk
        return Dataset((y[:, None] ^ wrong).astype(np.uint8), y)

    return draw


def fails(risk: float, nats: float, n: int, repetitions: int, seed: int) -> int:
    """How often Catoni's bound for one hypothesis of this risk is below it."""
    return failures(
        lambda rng: rng.binomial(n, risk),
        lambda k: Catoni().bound(k / n, nats, n, LARGE),
        risk,
        repetitions,
        seed,
    )


def test_one_hypothesis_in_catonis_form_is_almost_tight():
    """At P[no error] = δ the bound fails almost as often; one of too few nats is caught."""
    n = 60
    failed = fails((1 - δ ** (1 / n)) * (1 + 1e-6), -math.log(δ), n, 2000, seed=1)
    assert allowed(failed, 2000, δ) and failed > 0.07 * 2000
    risk = 1 - (3.3 * δ) ** (1 / n)
    assert fails(risk, -math.log(δ), n, REPETITIONS, seed=2) == 0
    assert leaks(fails(risk, -math.log(3.4 * δ), n, REPETITIONS, seed=2), REPETITIONS, δ)


@pytest.mark.parametrize("form", ["kl", "catoni", "quadratic"])
def test_a_gibbs_posterior_over_sixteen_hypotheses(form):
    """Q_h ∝ e^{−β·errors}, P uniform: KL and both risks are sums over 16."""
    n, risks, β = 80, np.linspace(0.1, 0.4, 16), 0.7

    def certified(k):
        weight = np.exp(-β * (k - k.min()))
        Q = weight / weight.sum()
        KL = float((Q * np.log(np.maximum(Q, 1e-300) * 16)).sum())
        value = FORMS[form].bound(float(Q @ k) / n, KL - math.log(δ), n, 0)
        return value, Q

    failed = failures(
        lambda rng: rng.binomial(n, risks), certified, lambda Q: float(Q @ risks), REPETITIONS, 3
    )
    assert allowed(failed, REPETITIONS, δ)


@pytest.mark.parametrize("prior", ["zero", pytest.param("learned", marks=pytest.mark.slow)])
def test_the_method_on_the_best_of_eight_readers(prior):
    T, n, risk, σ, prefix = 8, 60, 0.3, 0.25, 30
    declared = {"delta": δ, "pairs": 300, "forms": ["kl"], "scale": 2.0**-20}
    zero = {"kind": "zero"}

    def certified(data: Dataset):
        seen = split(data, prefix, 0)[0]
        errors = (seen.y[:, None] != seen.X).sum(0)
        if prior == "zero":
            errors = (data.y[:, None] != data.X).sum(0)
            Q, declaration = (
                around(T, int(errors.argmin()), σ),
                {"prior": zero, "grid": "none", "scale": 0.5},
            )
        else:
            Q = around(T, int(errors.argmin()), σ)
            arrays = dict(Q.weights), dict(Q.sigma)
            Q = Posterior(Q.mean, Q.sigma, Learned(prefix, 0, seen.sha256, *arrays))
            declaration = {"prior": Q.prior.to_json(), "grid": "none", "scale": 1.0}
        return PacBayes()(Q, data, **(declared | declaration)).value

    failed = failures(noisy(T, n, risk), certified, mixed(risk, T, σ), REPETITIONS, seed=4)
    assert allowed(failed, REPETITIONS, δ)


def test_trap_15_counting_the_examples_that_the_prior_has_seen_leaks():
    """The prior is the best of 256 readers on the first 60 of 80, and Q = P: no divergence."""
    H, n, prefix, risk = 256, 80, 60, 0.08

    def drawn(rng):
        return rng.binomial(prefix, risk, H), rng.binomial(n - prefix, risk, H)

    def bound(k, m):
        return Catoni().bound(k / m, -math.log(δ), m, LARGE // 2)

    def honest(counts):
        return bound(counts[1][counts[0].argmin()], n - prefix)

    def leaky(counts):
        h = counts[0].argmin()
        return bound(counts[0][h] + counts[1][h], n)

    assert allowed(failures(drawn, honest, risk, REPETITIONS, 5), REPETITIONS, δ)
    assert leaks(failures(drawn, leaky, risk, REPETITIONS, 5), REPETITIONS, δ)


def test_trap_16_the_mean_model_may_err_where_draws_do_not():
    """f = Σ relu(W_k)·w_k on x = 1, y = 1: the means W = 0 tie, an error; draws seldom err."""
    K, n = 10, 400
    layer = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": K, "sigma": "relu"}
    tables = {
        "schema": "dudley.net/1",
        "input": {"T": 1, "d": 1, "X": {"row2inf": 1.0}},
        "layer": [layer],
        "output": {"w": "free"},
    }
    w = {"0.v": np.zeros((1, 1)), "0.W_v": np.zeros((1, K)), "1.w": np.ones((K, 1))}
    mean = Hypothesis(tables, {"name": "rows", "T": 1, "d": 1, "R": 1.0}, w)
    sizes = {"0.v": 1.0, "0.W_v": 1.0, "1.w": 0.5}
    Q = Posterior(mean, {name: np.full(W.shape, sizes[name]) for name, W in w.items()}, Zero())
    data = Dataset(np.ones((n, 1, 1)), np.ones(n, np.int64))
    certificate = PacBayes()(Q, data, delta=δ, pairs=4000, repeats=True)
    rng = np.random.default_rng(6)
    f = (np.maximum(rng.normal(size=(100_000, K)), 0) * rng.normal(1, 0.5, (100_000, K))).sum(1)
    risk_of_draws, risk_of_mean = (f <= 0).mean(), (mean.margins(data) <= 0).mean()
    assert risk_of_draws < certificate.value < 0.2
    assert risk_of_mean == 1.0
    assert leaks(int(certificate.value < risk_of_mean) * REPETITIONS, REPETITIONS, δ)
    assert "weights drawn from its posterior" in certificate.quantity


def test_trap_17_a_prior_scale_chosen_after_the_data_leaks_unless_it_is_paid():
    """w ∈ R reads bit j where |w| is in shell j, so that P = N(0, s²) says which bit: Q = P."""
    M, n, risk, grid = 41, 60, 0.06, Grid(1e8)
    exponents = np.arange(M) - M // 2
    s = 1e8 ** exponents.astype(float)  # shell j is [1e-4, 1e4)·s_j
    edges = s * 1e-4
    with np.errstate(over="ignore"):
        shells = np.append(edges, s[-1] * 1e4)[None] / s[:, None]
    mass = 2 * np.diff(stats.norm.cdf(shells), axis=1)

    def certified(k, paid: bool):
        q = mass @ k / n + (1 - mass.sum(1))  # what lies beyond all shells errs
        nats = np.array([grid.nats(int(j)) for j in exponents]) if paid else np.zeros(M)
        values = [
            Catoni().bound(min(1, a), b - math.log(δ), n, LARGE)
            for a, b in zip(q, nats, strict=True)
        ]
        best = int(np.argmin(values))
        return values[best], best

    def truth(best):
        return float(mass[best].sum() * risk + 1 - mass[best].sum())

    def drawn(rng):
        return rng.binomial(n, risk, M)

    ours = failures(drawn, lambda k: certified(k, True), truth, REPETITIONS, 7)
    leaky = failures(drawn, lambda k: certified(k, False), truth, REPETITIONS, 7)
    assert allowed(ours, REPETITIONS, δ) and leaks(leaky, REPETITIONS, δ)


def test_trap_18_draws_by_the_posteriors_hash_hold_and_the_best_of_many_seeds_leaks():
    T, σ, N = 1, 0.5, 100
    data = Dataset(np.array([[0], [1]], np.uint8), np.array([0, 1]))
    exact = mixed(0.0, T, σ)
    c = -math.log(δ)

    def drawn(rng):
        return around(T, 0, σ * (1 + 1e-9 * rng.random()))

    def ours(Q):
        return binomial_upper(monte_carlo.errors_of_pairs(Q, data, N), N, c)

    assert allowed(failures(drawn, ours, exact, REPETITIONS, 8), REPETITIONS, δ)
    shopped = failures(
        lambda rng: rng.binomial(N, exact, 20).min(),
        lambda k: binomial_upper(int(k), N, c),
        exact,
        REPETITIONS,
        9,
    )
    assert leaks(shopped, REPETITIONS, δ)
