"""The checks of the calculus: allocation, chaining, deviation, offset and union.

Each takes what it judges, and raises AssertionError where it fails.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

import oracles
from dudley.core.entropy import Entropy, PowerLaw
from dudley.core.magnitude import Magnitude

ROUNDING = 1e-12  # what float64 may lose in a value that is not an integer part


# -- allocation ------------------


def check_feasible(allocated, log_ε: float, log_n=None):
    """Σ count · reach · x ≤ ε with x ≤ 1, in exact rational multiples of the largest term."""
    split = allocated.split(log_ε, log_n)
    spent, cost = Fraction(0), -math.inf
    for block, (log_x, log_H) in zip(allocated.blocks, split, strict=True):
        assert (log_x <= 0).all()
        weights = np.ravel(block.weight.log)
        counts = np.round(np.exp(block.log_counts))
        assert counts.sum() == weights.size * block.copies
        used = np.repeat(block.log_reach - block.entropy.log_radius, counts.astype(int))
        above = np.sort(used) - np.sort(np.repeat(weights, block.copies))
        assert (above >= -1e-12 * np.maximum(1, np.abs(np.sort(used)))).all(), "a weight is lowered"
        terms = block.log_reach + log_x - log_ε
        spent += sum((Fraction(c * math.exp(t)) for c, t in zip(counts, terms, strict=True)))
        direct = block.entropy.log_log(block.entropy.log_radius + log_x, log_n)
        assert (direct <= log_H + 1e-9).all(), "a block is charged less than its entropy"
        cost = np.logaddexp(cost, np.logaddexp.reduce(log_H + block.log_counts))
    assert spent <= 1, f"spent {float(spent)} of the budget"
    total = float(allocated.log_log(log_ε, log_n))
    assert abs(total - cost) <= 1e-9 * max(1.0, abs(cost)), f"{total} is not the sum {cost}"


def check_one_point(cap):
    """Two members ±w of {x ↦ w·Wx} reach both ends of the outputs: no one point serves before."""
    A = float(cap.facts.out.radius)
    X = np.zeros((1, 3))
    X[0, 0] = float(cap.inputs.row2inf)
    nest, _ = cap.network.parameters(3)
    nest[0]["W"] = np.eye(3) * nest[0]["W"].constraint.balls[0].radius
    nest[1]["w"] = np.eye(3)[:, :1] * nest[1]["w"].constraint.balls[0].radius
    reached = float(np.ravel(cap.network.apply(nest, X))[0])  # and its negative, by −w
    for entropy in (cap.allocated, cap.allocated.proper()):
        assert (entropy(reached * np.array([0.1, 0.5, 0.85, 0.999])) >= math.log(2)).all()
    assert cap.entropy(A * (1 + ROUNDING)) == 0.0, "not zero at the output radius"
    assert cap.allocated.proper()(2 * A * (1 + ROUNDING)) == 0.0
    assert (cap.entropy(A * np.array([1.5, 10, 1e9])) == 0.0).all()


def check_power_law(allocate, Cs, βs, ε: float):
    """The numeric allocator and the closed form agree within 1 %, and neither beats the other."""
    value, parts = allocate.power_law(Cs, βs, ε)
    assert math.isclose(float(np.dot(βs, parts)), ε, rel_tol=1e-9)
    assert math.isclose(float((np.asarray(Cs) / parts**2).sum()), value, rel_tol=1e-9)
    blocks = tuple(
        allocate.WeightBlock(str(i), PowerLaw(C), Magnitude.of(β))
        for i, (C, β) in enumerate(zip(Cs, βs, strict=True))
    )
    numeric = allocate.Allocated(blocks)(ε)
    assert value * (1 - 1e-9) <= numeric <= 1.01 * value, f"{numeric} against {value}"


# -- chaining ------------------


def check_forms(chain, log_H: np.ndarray, log_n: np.ndarray, grid: np.ndarray):
    """optimised ≤ tree ≤ dudley ≤ 1 and proper ≤ improper, on the same entropies."""
    ones = np.ones(len(log_n))
    dudley = chain.dudley(log_H, log_n, grid)
    assert (dudley <= ones).all()
    above = [dudley, dudley]
    for form in (chain.tree, chain.optimised):
        proper, improper = (form(log_H, log_n, grid, proper) for proper in (True, False))
        assert (proper <= improper * (1 + ROUNDING)).all()
        for value, limit in zip((proper, improper), above, strict=True):
            assert (value > 0).all()
            assert (value <= limit * (1 + ROUNDING)).all(), form.__name__
        above = [proper, improper]


def check_power_integral(chain, C: float, n: float, A: float = 1.0):
    """Upper Riemann sums: at or above 4a + 12√(C/n) log(A/2a) at its best a, not far above."""
    grid = chain.scales(np.log([n]))
    log_H = (math.log(C) - 2 * (math.log(A) + grid))[:, None]
    root = math.sqrt(C / n) / A
    a = min(3 * root, 0.5)
    truth = min(1.0, 4 * a + 12 * root * math.log(0.5 / a))
    value = float(chain.dudley(log_H, np.log([n]), grid)[0])
    assert truth * (1 - ROUNDING) <= value <= min(1.0, 1.25 * truth), f"{value} against {truth}"


def check_chain_by_hand(chain, log_H: np.ndarray, n: float):
    """The optimised chain against every subset of a short grid, written out."""
    grid = chain.scales(np.log([n]))[:: chain.STEPS][:9]
    d = np.exp(grid)
    for proper in (True, False):
        best = 1.0
        for size in range(1, len(d)):
            for inner in itertools.combinations(range(1, len(d)), size):
                cost, last = 0.0, 1.0
                for k in inner:
                    length = last if proper else last + d[k]
                    cost += length * math.sqrt(2 * math.exp(log_H[k]) / n)
                    last = d[k]
                best = min(best, cost + last)
        value = float(chain.optimised(log_H[: len(d), None], np.log([n]), grid, proper)[0])
        assert math.isclose(value, best, rel_tol=1e-9), f"{value} against {best}"


def check_complexity(chain, entropy, A: float, n: int, truth: float):
    """Every form is at or above a complexity that is known."""
    log_n = np.log([float(n)])
    grid = chain.scales(log_n)
    best = A * float(chain.complexity(entropy, math.log(A), log_n)[0])
    assert truth <= best <= A, f"{best} for {truth}"
    log_H = chain.entropies(entropy, math.log(A), log_n, grid)
    for value in (
        chain.dudley(log_H, log_n, grid),
        chain.tree(log_H, log_n, grid, False),
        chain.optimised(log_H, log_n, grid, False),
    ):
        assert truth <= A * float(value[0])
    log_H = chain.entropies(entropy.proper(), math.log(A), log_n, grid)
    assert truth <= A * float(chain.tree(log_H, log_n, grid, True)[0])
    assert truth <= A * float(chain.optimised(log_H, log_n, grid, True)[0])


def check_finite_class(chain, count: int, n: int):
    """A finite class costs A√(2 log N/n), and no more than the last scale above it."""
    entropy = Finite(math.log(count))
    log_n = np.log([float(n)])
    massart = math.sqrt(2 * math.log(count) / n)
    value = float(chain.complexity(entropy, 0.0, log_n)[0])
    last = math.exp(chain.scales(log_n)[-1])
    assert min(1.0, massart) <= value <= massart + last + ROUNDING


class Finite(Entropy):
    """A finite class of members in the unit ball: log N below the radius 1."""

    uses_points, log_radius = False, 0.0

    def __init__(self, log_N):
        self.log_N = log_N

    def log_log(self, log_ε, log_n=None):
        return np.where(np.asarray(log_ε) >= 0, -math.inf, math.log(self.log_N))

    def proper(self):
        return self


# -- deviation, offset, union ------------------


def check_deviation(deviation):
    """McDiarmid: exp(−2t²/Σc²) = δ, written out."""
    for n in (1, 10, 12345, 1e12):
        for δ in (0.5, 0.05, 1e-12):
            for b in (1.0, 0.3, 7.0):
                for form, factor, sides in (
                    ("a-priori", 1, 1),
                    ("empirical", 3, 1),
                    ("two-sided", 3, 2),
                ):
                    t = float(deviation(n, δ, b, form))
                    tail = sides * math.exp(-2 * t**2 / (n * (factor * b / n) ** 2))
                    assert math.isclose(tail, δ, rel_tol=1e-9)
                    t = float(deviation(n, δ, b, form, paid=3.0))
                    tail = sides * math.exp(-2 * t**2 / (n * (factor * b / n) ** 2))
                    assert math.isclose(tail, δ * math.exp(-3.0), rel_tol=1e-9)


def check_offset_finite(finite, rng, draws: int = 4000, δ: float = 1e-9):
    """log N/(2nβ) is at or above a simulated offset complexity of a finite class."""
    for n, N, β, size in ((20, 50, 0.5, 1.0), (50, 2000, 1.0, 0.3), (10, 1000, 0.2, 2.0)):
        G = size * rng.choice([-1.0, 1.0], size=(N, n))
        τ = rng.choice([-1.0, 1.0], size=(draws, n))
        sup = (τ @ G.T / n - β * (G**2).mean(axis=1)).max(axis=1)
        below = sup.mean() - size * math.sqrt(2 * math.log(1 / δ) / (n * draws))
        assert finite(math.log(N), n, β) >= below


def check_offset_finite_is_sharp(finite):
    """One function of the right length in many independent copies comes near the bound.

    With values ±t, t = √(2 log N/n)/(2β)·…, the maximum of N independent offset sums is computed
    exactly from the binomial distribution; half the constant would be too small.
    """
    from scipy.stats import binom

    n, N, β = 4000, 10**6, 0.05
    t = math.sqrt(math.log(N) / (2 * n)) / β  # maximises t√(2 log N/n) − βt²
    k = np.arange(n + 1)
    cdf = binom.cdf(k, n, 0.5) ** N
    mass = np.diff(np.concatenate([[0.0], cdf]))
    exact = float((mass * ((2 * k - n) * t / n - β * t**2)).sum())
    value = float(finite(math.log(N), n, β))
    assert exact <= value, f"{value} is below {exact}"
    assert exact >= 0.7 * value


def check_noise_free(excess, NoiseFree):
    """N independent predictors that err with probability p, the worst ERM: exact excess risk."""
    for N in (2, 8, 100, 10**4):
        for n in (5, 30, 200):
            bound = excess(lambda ε, N=N: 0.0 * ε + math.log(N), n, 1.0, NoiseFree(1.0)).value
            for p in np.concatenate([np.geomspace(1e-4, 1, 60), [math.log(N) / n]]):
                survives = (1 - min(p, 1.0)) ** n  # the target itself makes no error
                worst = p * -math.expm1((N - 1) * math.log1p(-survives)) if survives < 1 else p
                assert bound >= min(worst, 1.0), f"{bound} for N={N}, n={n}, p={p}"


def check_bernstein(excess, Bernstein):
    """Two predictors ±1, absolute loss, labels ±1 with P(+) = ½ + h: E g² = 4 = (1/h) E g."""
    for h in (0.5, 0.3, 0.1, 0.03, 0.01):
        for n in (1, 5, 21, 101, 1001, 10001):
            exact = 4 * h * oracles.binomial_below_half(n, 0.5 + h)
            bound = excess(lambda ε: 0.0 * ε + math.log(2), n, 1.0, Bernstein(1 / h, 2.0)).value
            assert bound >= exact, f"{bound} < {exact} at h={h}, n={n}"


def check_grid(grid):
    """Weights sum to at most one, norms go up, margins go down, by less than one step."""
    weights = [math.exp(-grid.nats(j)) for j in range(-20000, 20001)]
    assert 0.9999 <= math.fsum(weights) <= 1
    for value in (1e-12, 0.1, 0.5, 1 - 1e-16, 1.0, 1.0000001, 2.0, math.sqrt(2), 20.0, 3e7, 1e150):
        used, nats = grid.round_up(value)
        assert value <= used < value * grid.ratio * (1 + 1e-9)
        j = round(math.log(used) / math.log(grid.ratio))
        assert math.isclose(grid.ratio**j, used, rel_tol=1e-9)
        assert math.isclose(nats, math.log(1.5 * (abs(j) + 1) * (abs(j) + 2)), rel_tol=1e-12)
        used, nats = grid.round_down(value)
        assert value / grid.ratio * (1 - 1e-9) < used <= value
        assert grid.round_up(used) == (used, nats)
