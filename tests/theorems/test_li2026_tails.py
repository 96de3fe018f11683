"""li2026, section 6: tails, truncation and learning on truncated inputs, against oracles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, chi, chi2, norm

import dudley as du
from dudley.core.errors import InputError
from dudley.networks.robust import LogTruncation
from dudley.theorems import excess, registry
from dudley.theorems.excess import ExcessTask
from dudley.theorems.li2026.tails import PolynomialTail, SubGaussianTail
from dudley.theorems.li2026.truncation import error_of_layer, error_of_stack, learn, truncate
from dudley.theorems.witness.counterexamples.gaussian_matrix import GaussianMatrix
from each import each
from oracles import Finite

STATEMENTS = registry.load()


def value(id: str, form: str = "derived", /, **inputs: float) -> float:
    names = {name.replace("_", ".", 1) if name.startswith("tail_") else name: v
             for name, v in inputs.items()}  # fmt: skip
    return STATEMENTS[f"li2026/{id}"].evaluate_on(names, form).value


# -- Lemma 6.1 --------------------------------------------------------------------------------


def series(kind: str, rng) -> np.ndarray:
    """The matrices B_k of a series: (count, d1, d2)."""
    if kind == "diagonal":
        return np.eye(64)[:, :, None] * np.eye(64)[:, None, :]
    if kind == "entries":
        return np.eye(24).reshape(24, 4, 6)
    if kind == "one":
        return np.ones((1, 1, 1))
    return rng.normal(size=(10, 5, 3))


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("kind", ["diagonal", "entries", "one", "random"])
def test_the_norm_of_a_matrix_series(kind, signs):
    rng = np.random.default_rng(3)
    B = series(kind, rng)
    v = max(
        np.linalg.norm(np.einsum("kij,klj->il", B, B), 2),
        np.linalg.norm(np.einsum("kij,kil->jl", B, B), 2),
    )
    draws = 4000
    γ = rng.normal(size=(draws, len(B)))
    Z = np.einsum("nk,kij->nij", np.sign(γ) if signs else γ, B)
    norms = np.linalg.norm(Z, 2, axis=(1, 2))
    deviation = 5 * norms.std() / math.sqrt(draws)
    T, d = B.shape[1:]
    bound = value("lemma-6.1", T=T, d=d, tail_nu=math.sqrt(v))
    assert norms.mean() - deviation <= bound <= value("lemma-6.1", "printed", T=T, d=d,
                                                       tail_nu=math.sqrt(v))  # fmt: skip
    if kind == "diagonal" and not signs:
        assert norms.mean() > 0.8 * bound  # √(log 2d) for √(2 log 2d) would be refuted
    for t in np.quantile(norms, [0.5, 0.9, 0.99]):
        inputs = {"T": T, "d": d, "tail.nu": math.sqrt(v), "truncation": float(t)}
        tail = STATEMENTS["li2026/lemma-6.1"].evaluate_on(inputs).details["tail"]
        assert (norms >= t).mean() <= tail + 4 * math.sqrt(0.25 / draws)


# -- Assumptions 6.2 and 6.8 ------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.5, 1.0, 1.2, 1.5, 2.0, 4.0])
def test_the_tail_of_gaussian_matrices_is_exact_in_two_cases(t):
    """Independent entries, and one Gaussian times the identity, where all entries move together."""
    T = d = 6
    s = math.sqrt(d)  # of both, with ν(X) = 1
    bound = value("assumption-6.2", T=T, d=d, tail_nu=1.0, truncation=t * s)
    independent = chi2.sf(t**2 * s**2 * T, T * d)  # entries of variance 1/T
    together = 2 * norm.sf(t)
    assert max(independent, together) <= bound
    assert bound <= 3 * max(t, 1) ** 2 * together or bound == 1.0
    if t >= 2:
        wrong = math.sqrt(math.e) * t * s * math.exp(-((t * s) ** 2) / 2)  # ν for min(T, d)·ν
        assert wrong < together


def test_the_printed_tail_does_not_scale():
    inputs = {"T": 6, "d": 6, "tail_nu": 1.0, "truncation": 5.0}
    doubled = inputs | {"tail_nu": 4.0, "truncation": 10.0}  # X ↦ 2X
    same = [value("assumption-6.2", **g) for g in (inputs, doubled)]
    assert same[0] == pytest.approx(same[1])
    printed = [value("assumption-6.2", "printed", **g) for g in (inputs, doubled)]
    assert printed[1] > 1e3 * printed[0]


def test_a_gaussian_matrix_refutes_it():
    it, rng = GaussianMatrix(), np.random.default_rng(0)
    norms = np.linalg.norm(rng.normal(0, it.s, size=(4000, it.m, it.m)), axis=(1, 2))
    seen = (norms >= it.level).mean()
    assert abs(seen - it.lower_bound()) < 4 * math.sqrt(0.0025 / 4000) + 1e-3


@each("β", [1.5, 2.5, 4.0, 8.0])
@each("x", [10.0, 50.0, 1000.0])
def test_polynomial_tails_of_entries(β, x):
    """All entries one Pareto variable: P(‖X‖_F > x) = (√(Td)/x)^β, exactly; and independent."""
    T, d = 4, 8
    inputs = {"T": T, "d": d, "tail_C": 1.0, "tail_beta": β, "truncation": x}
    together = min(1.0, (math.sqrt(T * d) / x) ** β)
    rng = np.random.default_rng(1)
    entries = rng.random((20_000, T * d)) ** (-1 / β)
    apart = (np.sqrt((entries**2).sum(axis=1)) > x).mean()
    for form in ("derived", "best"):
        bound = value("assumption-6.8", form, **inputs)
        assert together <= bound <= 1.0
        assert apart - 4 * math.sqrt(max(apart, 1e-4) / 20_000) <= bound
    assert value("assumption-6.8", "best", **inputs) <= value("assumption-6.8", **inputs)


@each("M", [0.0, 0.3, 1.0, 2.5, 6.0])
@each(
    "tail",
    [
        SubGaussianTail(4, 8, 1.0),
        SubGaussianTail(1, 1, 0.3),
        PolynomialTail(1.0, 3.0),
        PolynomialTail(7.0, 1.4),
        PolynomialTail(0.2, 12.0),
    ],
)
def test_the_integral_of_a_tail(tail, M):
    start = max(M, 20.0)
    near, _ = quad(tail.probability, M, start, limit=400, points=[0.5, 1.0, 2.0, 3.0])
    far, _ = quad(tail.probability, start, math.inf, limit=400)
    assert tail.beyond(M) == pytest.approx(near + far, rel=1e-6)


def test_the_second_moment_of_the_proof_is_right_and_its_simplification_is_not():
    """E Z²1{Z > M} for the variable whose tail is (9) beyond M, against (23)'s ν."""
    T, d, ν, M = 4, 8, 1.0, 10.0
    tail = SubGaussianTail(T, d, ν)
    beyond, _ = quad(lambda t: 2 * t * tail.probability(t), M, 40)
    exact = M**2 * tail.probability(M) + beyond
    assert exact == pytest.approx((T + d) * (M**2 + 2 * ν**2) * math.exp(-(M**2) / 2), rel=1e-6)
    assert exact > 100 * ν * (T + d) * math.exp(-(M**2) / 2)


def test_a_tail_without_a_mean_is_refused():
    with pytest.raises(InputError, match=r"tail\.beta"):
        PolynomialTail(1.0, 1.0)


# -- truncation -------------------------------------------------------------------------------


def test_truncation_is_the_projection_onto_a_ball():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(2, 500, 3, 4)) * np.exp(rng.normal(size=(2, 500, 1, 1)))
    M = 2.0
    A, B = truncate(X, M), truncate(Y, M)

    def length(Z):
        return np.linalg.norm(Z, axis=(1, 2))

    assert (length(A) <= M * (1 + 1e-12)).all()
    assert (length(A - B) <= length(X - Y) * (1 + 1e-12)).all()
    assert (length(X - A) <= length(X - B) * (1 + 1e-12)).all()  # B is another point of the ball
    moved = [value("equation-10", **{"X.fro": float(x), "truncation": M}) for x in length(X)]
    assert np.allclose(moved, length(X - A))


def radii(tail, count: int, rng) -> np.ndarray:
    """Draws of a variable whose tail is exactly min(1, the tail)."""
    u = rng.random(count)
    if isinstance(tail, PolynomialTail):
        return (tail.C / u) ** (1 / tail.β)
    return tail.ν * np.sqrt(2 * np.log((tail.T + tail.d) / u))


@pytest.mark.parametrize("tail", [SubGaussianTail(3, 4, 1.0), PolynomialTail(2.0, 3.0)])
@pytest.mark.parametrize("M", [0.5, 2.0, 3.0])
def test_what_truncation_changes_in_a_head(tail, M):
    """X = ρ·U with ‖U‖_F = 1 and ρ from the tail; weights with norms ≤ 1; E|f(X) − f(X_M)|."""
    rng = np.random.default_rng(5)
    head = du.Head(4, du.Spectral(1.0), du.Spectral(40.0), W_c=du.Spectral(1.0), query="cls")
    net = head >> du.Readout(du.L2(1.0))
    U = rng.normal(size=(40_000, 3, 4))
    U /= np.linalg.norm(U, axis=(1, 2), keepdims=True)
    X = U * radii(tail, len(U), rng)[:, None, None]
    bound = error_of_layer(tail, M, 1.0)
    for _ in range(5):
        q, r = np.linalg.qr(rng.normal(size=(4, 4)))
        w = rng.normal(size=(4, 1))
        params = {"W_QK": 40.0 * q, "W_v": r / np.linalg.norm(r, 2), "W_c": q}
        nested = [params, {"w": w / np.linalg.norm(w)}]
        f, f_M = (apply(net, nested, Z) for Z in (X, truncate(X, M)))
        change = np.abs(f - f_M)
        assert change.mean() - 5 * change.std() / math.sqrt(len(U)) <= bound


def apply(net, params, X) -> np.ndarray:
    for node, weights in zip(net.nodes, params, strict=True):
        X = node.apply(weights, X)
    return np.ravel(X)


@pytest.mark.parametrize("tail", [SubGaussianTail(1, 1, 1.0), PolynomialTail(2.0, 3.0)])
@pytest.mark.parametrize("M", [0.5, 2.0, 3.0])
def test_the_error_of_truncation_is_of_the_right_order(tail, M):
    """A linear head changes by exactly the integral; a sign that flips at M by 2M·P and it."""
    rng = np.random.default_rng(6)
    ρ = radii(tail, 400_000, rng)
    flips = np.where(ρ > M, ρ + M, 0.0).mean()  # f(X) = −ρ beyond M, M at it
    error = error_of_layer(tail, M, 1.0)
    assert tail.beyond(M) <= error
    assert flips == pytest.approx(error, rel=0.05)
    assert error_of_stack(tail, M, 2.0) == pytest.approx(4 * (ρ > M).mean(), rel=0.05)


def test_the_norm_of_a_gaussian_matrix_obeys_the_tail_and_its_integral():
    """It follows the χ law: (9) holds with ν² = Td, and so does the error of truncation."""
    T, d = 2, 3
    ν = math.sqrt(T * d)
    t = np.linspace(0, 20, 400)
    tail = SubGaussianTail(T, d, ν)
    assert (chi.sf(t, T * d) <= [tail.probability(x) + 1e-15 for x in t]).all()
    M = 4.0
    exact = quad(lambda x: chi.sf(x, T * d), M, 30)[0] + 2 * M * chi.sf(M, T * d)
    assert exact <= error_of_layer(tail, M, 1.0)


# -- learning on truncated inputs -------------------------------------------------------------


@pytest.mark.parametrize("rule", [excess.derived, excess.best])
def test_the_error_of_truncation_counts_three_times(rule):
    """One predictor errs where inputs were truncated (with probability r), N − 1 a little more.

    Errors are independent between predictors, 0 or 1 each, so the minimiser's risk is exact. With
    the error counted once, as printed, the bound would be below it.
    """
    n = N = 10_000
    r, more = 0.3, 0.011
    k = np.arange(n + 1)
    others = 1 - binom.sf(k, n, r + more) ** (N - 1)  # P(some other has at most k errors)
    risk = r + more * float(binom.pmf(k, n, r) @ others)
    task = ExcessTask(n, 1.0, 1.0, 0.0, noise_free=True)
    bound = learn(rule, Finite(N), task, error=r)
    names = [term.name for term in bound.terms]
    assert names == ["complexity", "resolution", "approximation", "truncation"]
    assert bound.value >= risk
    fast = learn(excess.derived, Finite(N), task, error=r)
    assert fast.terms[-1].value == pytest.approx(3 * r)
    assert fast.terms[0].value + r < risk


@pytest.mark.parametrize("seed", range(4))
def test_a_minimiser_on_truncated_heavy_tailed_inputs(seed):
    """Sixteen linear predictors on Pareto inputs, without noise: simulated against both rules."""
    rng = np.random.default_rng(seed)
    tail, M, n, d = PolynomialTail(1.0, 2.5), 2.0, 40, 3
    W = rng.normal(size=(16, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)  # f* is the first of them

    def draw(count):
        U = rng.normal(size=(count, d))
        U /= np.linalg.norm(U, axis=1, keepdims=True)
        return U * radii(tail, count, rng)[:, None]

    def losses(X):  # |f*(X) clipped − f_j(X_M)|
        f_star = np.clip(X @ W[0], -1, 1)
        X_M = truncate(X[:, None, :], M)[:, 0]
        return np.abs(f_star[:, None] - X_M @ W.T)

    big = losses(draw(100_000)).mean(axis=0)
    risks = [big[np.argmin(losses(draw(n)).mean(axis=0))] for _ in range(400)]
    task = ExcessTask(
        n, 1.0, M, 1.0, approximation=float(_untruncated(W, tail, rng)), noise_free=True
    )
    for rule in (excess.derived, excess.best):
        bound = learn(rule, Finite(16), task, error_of_layer(tail, M, 1.0))
        assert np.mean(risks) - 5 * np.std(risks) / 20 <= bound.value


def _untruncated(W, tail, rng) -> float:
    """inf_F exc on untruncated inputs."""
    U = rng.normal(size=(100_000, W.shape[1]))
    X = U / np.linalg.norm(U, axis=1, keepdims=True) * radii(tail, len(U), rng)[:, None]
    return np.abs(np.clip(X @ W[0], -1, 1)[:, None] - X @ W.T).mean(axis=0).min()


# -- Theorems 6.4 to 6.11 ---------------------------------------------------------------------

TWINS = {
    "theorem-6.4": ("theorem-B.1", {"X.row2inf", "X.op"}, {"tail.nu": 0.0}),
    "theorem-6.5": ("theorem-B.2", {"X.row2inf", "X.op"}, {"tail.nu": 0.0}),
    "theorem-6.6": ("theorem-5.3", {"X.row2inf"}, {"tail.nu": 0.0}),
    "theorem-6.9": ("theorem-B.4", {"X.op"}, {"tail.C": 0.0}),
    "theorem-6.10": ("theorem-B.5", {"X.op"}, {"tail.C": 0.0}),
    "theorem-6.11": ("theorem-5.8", {"X.op"}, {"tail.C": 0.0}),
}


@each("id", TWINS)
@each("form", ["derived", "best"])
def test_without_a_tail_it_is_the_bounded_theorem_on_tokens_of_norm_m(id, form):
    twin, radius, none = TWINS[id]
    inputs = dict(STATEMENTS[f"li2026/{id}"].example) | none | {"n": 1e9}
    names = {i.name for i in STATEMENTS[f"li2026/{twin}"].inputs}
    bounded = {name: v for name, v in inputs.items() if name in names}
    bounded |= dict.fromkeys(radius, inputs["truncation"])
    assert value(id, form, **inputs) == pytest.approx(value(twin, form, **bounded), rel=1e-12)


@pytest.mark.parametrize("id", TWINS)
def test_the_printed_bound_is_the_printed_bounded_one_and_a_tail(id):
    """M inside the complexity, B_X = 1 in the factor, and the tail as it is printed."""
    twin, _, _ = TWINS[id]
    inputs = dict(STATEMENTS[f"li2026/{id}"].example) | {"n": 1e4}
    M = inputs["truncation"] = 0.5 if "tail.nu" in inputs else 1.5
    names = {i.name for i in STATEMENTS[f"li2026/{twin}"].inputs}
    bounded = {name: v for name, v in inputs.items() if name in names} | {"X.row2inf": M}
    if id == "theorem-6.11":
        bounded["X.op"] = M
    if "tail.nu" in inputs:
        T, d, ν = inputs["T"], inputs["d"], inputs["tail.nu"]
        tail = ν * (T + d) * math.exp(-(M**2) / (2 * ν**2))
    else:
        C, β = inputs["tail.C"], inputs["tail.beta"]
        tail = C * β / (β - 2) * M ** (2 - β)
    if id in ("theorem-6.9", "theorem-6.10"):  # the bounded twin takes min(B_X, B_x)
        layer = {"X.op": M}
        factor = value(twin, "printed", **(bounded | layer))
        assert value(id, "printed", **(inputs | layer)) == pytest.approx(factor + tail, rel=1e-12)
        assert value(id, "printed", **inputs) < factor + tail
    else:
        assert value(id, "printed", **inputs) == pytest.approx(
            value(twin, "printed", **bounded) + tail, rel=1e-12
        )


def test_a_robust_loss_of_smaller_power_costs_its_slope():
    inputs = dict(STATEMENTS["li2026/theorem-6.11"].example) | {"n": 1e9}
    catoni, other = (value("theorem-6.11", **inputs, **{"psi.power": p}) for p in (2.0, 1.5))
    assert other == pytest.approx(catoni * LogTruncation(1.5).lipschitz, rel=1e-2)


def test_where_truncation_is_too_early_the_bound_says_so():
    inputs = dict(STATEMENTS["li2026/theorem-6.4"].example) | {"n": 1e12, "truncation": 0.5}
    bound = STATEMENTS["li2026/theorem-6.4"].evaluate_on(inputs)
    assert bound.vacuous and bound.terms[-1].name == "truncation" and bound.terms[-1].value > 1
    assert bound.details["truncation_error"] == pytest.approx(bound.terms[-1].value / 3)


@pytest.mark.parametrize("β", [2.2, 2.5, 3.0, 5.0])
def test_the_rates_of_the_levels(β):
    """The remark's level, the one that balances, and those of the true bias."""

    def slope(read):
        bounds = [
            STATEMENTS["li2026/remark-6.12"].evaluate_on({"n": n, "tail.beta": β})
            for n in (1e20, 1e22)
        ]
        return math.log(read(bounds[1]) / read(bounds[0])) / math.log(100)

    assert slope(lambda b: b.value) == pytest.approx(-1.0, abs=0.05)
    exponents = {
        "with_factor_M": (3 - β) / (β - 2),
        "balanced_with_factor_M": -(β - 2) / (β - 1),
        "true_bias_balanced": -(β - 1) / β,
    }
    for name, exponent in exponents.items():
        assert slope(lambda b, name=name: b.details[name]) == pytest.approx(exponent, abs=0.05)
    printed = [value("remark-6.12", "printed", n=n, tail_beta=β) for n in (1e20, 1e22)]
    assert math.log(printed[1] / printed[0]) / math.log(100) == pytest.approx(-(β - 2) / (β - 1))
