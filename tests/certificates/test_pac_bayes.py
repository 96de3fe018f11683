"""PAC-Bayes: divergence, forms and draws, each against an oracle of its own."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from certificates.posteriors import HEAD, copies, posterior
from dudley.calculus.inversion import kl_upper
from dudley.certificates.fit.forward import blank
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes import monte_carlo
from dudley.certificates.methods.pac_bayes.divergence import gaussian
from dudley.certificates.methods.pac_bayes.form import FORMS
from dudley.certificates.methods.pac_bayes.forms.catoni import Catoni
from dudley.certificates.methods.pac_bayes.forms.kl import KL, log_xi, xi
from dudley.certificates.methods.pac_bayes.forms.quadratic import Quadratic
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.methods.pac_bayes.prior import Zero
from dudley.core.errors import InputError

# -- divergence -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "w, σ, w0, s", [(1.0, 0.5, 0.2, 2.0), (0.0, 1.0, 0.0, 1.0), (-3, 2, 1, 0.7)]
)
def test_divergence_is_the_integral(w, σ, w0, s):
    q, p = stats.norm(w, σ), stats.norm(w0, s)
    divergence = gaussian(*(np.array([float(x)]) for x in (w, σ, w0, s)))
    integral, _ = integrate.quad(
        lambda x: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), w - 12 * σ, w + 12 * σ
    )
    assert divergence == pytest.approx(integral, abs=1e-8)


def test_divergence_is_rounded_up_and_hardly_more():
    from flint import arb, ctx

    rng = np.random.default_rng(0)
    for spread in (1e-9, 0.1, 5.0):
        w, w0 = rng.normal(size=(2, 200))
        s = np.exp(rng.normal(size=200))
        σ = s * np.exp(spread * rng.normal(size=200))
        divergence = gaussian(w, σ, w0, s)
        with ctx.workprec(200):
            exact = arb(0)
            for a, b, c, d in zip(w, σ, w0, s, strict=True):
                W, Σ, C, S = (arb(float(x)) for x in (a, b, c, d))
                exact += (Σ**2 + (W - C) ** 2) / (2 * S**2) - arb(0.5) + (S / Σ).log()
            assert arb(divergence) >= exact
            assert arb(divergence) <= exact * (1 + arb(1e-12)) + arb(1e-12)
    with pytest.raises(InputError):
        gaussian(w, 0 * σ, w0, s)


def test_a_quotient_of_standard_deviations_that_lost_digits_is_refused():
    """σ/s = 1.5·2^-1074 rounds to 2^-1073, so that the divergence is .28 nats too small."""
    w, σ, s = np.zeros(1), np.array([1.5 * 2.0**-1073]), np.array([2.0])
    with pytest.raises(InputError, match="σ/s ≥ 2"):
        gaussian(w, σ, w, s)
    least = gaussian(w, np.array([2.0**-1021]), w, s)
    assert least >= 1022 * np.log(2) - 0.5


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
        bound = (math.sqrt(q + κ) + math.sqrt(κ)) ** 2
        assert Quadratic().bound(q, 30.0, 1000) == pytest.approx(bound, rel=1e-12)


# -- draws ------------------------------------------------------------------------------------


def flip(T: int, size: float, σ: float) -> float:
    """P[f has the wrong sign] where bit 0 is right: f sums T + 1 independent values."""
    return float(stats.norm.cdf(-size / (σ * math.sqrt(T + 1))))


def test_pairs_err_as_often_as_the_closed_form_says():
    Q, data, N = posterior(T=2, size=1.0, σ=0.5), copies(500), 20_000
    wrong = float((data.X[:, 0] != data.y).mean())
    p = flip(2, 1.0, 0.5)
    exact = wrong * (1 - p) + (1 - wrong) * p
    errors = monte_carlo.errors_of_pairs(Q, data, N)
    assert abs(errors - N * exact) < 4 * math.sqrt(N * exact * (1 - exact))


def test_draws_are_those_of_the_posterior_and_the_data(monkeypatch):
    Q, data = posterior(), copies(300)
    pairs = np.arange(5, 12)
    W, i = monte_carlo.weights(Q, data, pairs), monte_carlo.examples(Q, data, pairs)
    assert np.array_equal(W["0.W_v"][3], monte_carlo.weights(Q, data, pairs[3:4])["0.W_v"][0])
    assert i[3] == monte_carlo.examples(Q, data, pairs[3:4])[0]
    other = posterior(size=1.0 + 1e-12)
    assert not np.allclose(monte_carlo.weights(other, data, pairs)["0.W_v"], W["0.W_v"])
    assert not np.allclose(monte_carlo.weights(Q, copies(301), pairs)["0.W_v"], W["0.W_v"])
    errors = monte_carlo._count_errors(Q, data, 700)
    monkeypatch.setattr(monte_carlo, "TOGETHER", 100)
    assert monte_carlo._count_errors(Q, data, 700) == errors
    z = (monte_carlo.weights(Q, data, np.arange(4000))["0.W_v"] - Q.weights["0.W_v"]) / 0.3
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    places = monte_carlo.examples(Q, copies(7), np.arange(7000))
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
    drawn = monte_carlo.weights(Q, copies(6), np.arange(6))
    together = monte_carlo.drawn_outputs(Q, X, drawn)
    for j in range(6):
        weights = {name: W[j] for name, W in drawn.items()}
        alone = Hypothesis(mean.tables, mean.encoding_table, weights).outputs(X[j : j + 1])
        assert np.allclose(together[j], alone[0], rtol=0, atol=1e-12)
