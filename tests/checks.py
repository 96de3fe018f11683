"""The conformance checks: each takes what it judges, and raises AssertionError where it fails.

Tests call them on the package as it is; `conformance/test_mutations.py` calls them on a package
with a planted mistake, and demands that they raise.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import dudley as du
import oracles
from cover_codes import CODES
from dudley.classes.ratio import ExactRatio
from dudley.core.constraint import Nonzeros
from dudley.core.entropy import Scope
from dudley.core.norms import NORMS

ROUNDING = 1e-12  # what float64 may lose in a value that is not an integer part


# -- the classes that are judged ------------------


@dataclass(frozen=True)
class Case:
    """A class of linear maps, one of the ways it enters, and where its members are centred."""

    name: str
    shape: tuple[int, int]
    constraint: du.Constraint
    form: str = "linear"
    l1: float | None = None
    center: tuple | None = None
    n: int = 4
    together: int = 0

    def entropy(self):
        linear = du.LinearMap(self.shape, self.constraint)
        return linear.entropy(self.form, 1, 1, self.l1, self.together)

    def members(self, rng, count):
        middle = None if self.center is None else np.array(self.center)
        return oracles.members(rng, self.constraint, self.shape, count, NORMS, middle)

    def inputs(self, rng, count):
        X = oracles.inputs(rng, count, self.shape[0], self.l1)
        return X, oracles.inputs(rng, count, self.shape[1]) if self.form == "bilinear" else None


MATRICES = {
    "l11": du.L11,
    "row1inf": du.Row1Inf,
    "col1inf": du.Col1Inf,
    "col21": du.Col21,
    "row21": du.Row21,
    "col2inf": du.Col2Inf,
    "row2inf": du.Row2Inf,
    "fro": du.Frobenius,
    "op": du.Spectral,
    "nuc": du.Nuclear,
    "linf": du.LInf,
}
W0 = ((0.5, -1.0), (0.0, 2.0), (0.25, 0.0))

CASES = [
    *(
        Case(f"{name}-{form}", (3, 2), make(1.5), form)
        for name, make in MATRICES.items()
        for form in ("linear", "bilinear", "logits")
    ),
    Case("row1inf-l1-inputs", (3, 2), du.Row1Inf(1.5), l1=1.0),
    Case("row2inf-l1-inputs", (3, 2), du.Row2Inf(1.5), l1=1.25),
    Case("rank-op", (3, 2), du.Rank(1) & du.Spectral(2.0)),
    Case("rank-op-scores", (2, 2), du.Rank(1) & du.Spectral(2.0), "bilinear"),
    Case("rank-fro", (3, 2), du.Rank(1) & du.Frobenius(2.0)),
    Case("l11-and-op", (3, 2), du.L11(2.0) & du.Spectral(1.0)),
    Case("fro-and-col2inf-and-linf", (3, 2), du.Frobenius(1.5) & du.Col2Inf(1.0) & du.LInf(0.5)),
    Case("l11-centred", (3, 2), du.L11(1.5, center=W0), center=W0),
    Case("op-centred-logits", (3, 2), du.Spectral(1.5, center=W0), "logits", center=W0),
    Case("row1inf-centred", (3, 2), du.Row1Inf(1.5, center=W0), l1=1.0, center=W0),
    *(
        Case(f"fro-{form}-together", (3, 2), du.Frobenius(1.5), form, together=3)
        for form in ("linear", "bilinear", "logits")
    ),
    Case("col21-linear-together", (3, 2), du.Col21(1.5), together=2),
    Case("vector-l1", (4, 1), du.L1(1.5)),
    Case("vector-l2", (4, 1), du.L2(1.5)),
    Case("vector-linf", (4, 1), du.LInf(1.5)),
    Case("vector-l1-and-linf", (4, 1), du.L1(2.0) & du.LInf(0.75)),
    Case("gain", (4, 1), du.LInf(1.5), l1=1.0),
    Case("number", (1, 1), du.LInf(1.0)),
    Case("vector-l1-one-hot", (4, 1), du.L1(1.5), l1=1.0),
    Case("vector-l1-short", (4, 1), du.L1(1.5) & du.LInf(0.75), l1=1.25),
    Case("sparse-vector", (4, 1), du.LInf(1.5) & Nonzeros(2)),
    Case("sparse-one-hot", (4, 1), du.LInf(1.5) & Nonzeros(2), l1=1.0),
    *(
        Case(f"sparse-{form}", (3, 2), du.LInf(1.5) & Nonzeros(2), form)
        for form in ("linear", "bilinear", "logits")
    ),
    Case("sparse-rows-one-hot", (3, 2), du.LInf(1.5) & Nonzeros(5) & du.Spectral(1.5), l1=1.0),
    Case("plane-l1", (2, 1), du.L1(1.0)),
    Case("plane-l2", (2, 1), du.L2(1.0)),
]


# -- what every entropy must do ------------------


def check_entropy(entropy, sizes=(None, 7, 1000), count=40):
    """≥ 0, non-increasing, zero at and past the radius; the log path is never below the exact."""
    radius = math.exp(entropy.log_radius)
    ε = radius * np.exp(-np.concatenate([np.linspace(1e-9, 2, count), np.linspace(2.1, 14, 12)]))
    for n in sizes:
        exact = entropy(ε, n)
        logs = entropy.log_log(np.log(ε), None if n is None else math.log(n))
        assert np.isfinite(exact).all()
        assert (exact >= 0).all()
        assert (np.diff(exact) >= -ROUNDING * exact[1:]).all(), "increases with the resolution"
        assert (np.diff(logs) >= -ROUNDING).all(), "the log path increases with the resolution"
        assert (exact <= np.exp(logs) * (1 + ROUNDING)).all(), "the log path undershoots"
        past = np.array([radius * (1 + 1e-15), 1.5 * radius, 1e6 * radius, 1e250])
        assert (entropy(past, n) == 0).all()
        past = entropy.log_radius + np.array([0.0, 0.1, 30.0, 300.0])
        assert (entropy.log_log(past, None if n is None else math.log(n)) == -math.inf).all()
        small = entropy.log_log(entropy.log_radius - np.array([300.0, 3e3, 1e5]))
        assert np.isfinite(small).all()
        assert (np.diff(small) > 0).all()


def check_scaling(case: Case, factor: float = 4.0):
    """c times the radius at c times the resolution is as large, and so are c times the inputs."""
    balls = du.Constraint((), case.constraint.rank, nonzeros=case.constraint.nonzeros)
    for ball in case.constraint.balls:
        middle = None if case.center is None else factor * np.array(case.center)
        balls = balls & du.ball(ball.norm, factor * ball.radius, center=middle)
    plain = case.entropy()
    large = du.LinearMap(case.shape, balls).entropy(case.form, 1, 1, case.l1)
    ε = np.array([0.03, 0.1, 0.37, 1.0])
    for n in (None, 50):
        here = plain(ε, n)
        for there in (large(factor * ε, n), plain.scaled(factor)(factor * ε, n)):
            assert (np.abs(there - here) <= ROUNDING * np.maximum(there, here)).all()


def check_points(entropy):
    """Only covers on points know n, and more points never have a smaller cover."""
    ε = 0.3 * math.exp(entropy.log_radius)
    with_points = [cover for cover in entropy.covers if cover.scope is not Scope.UNIFORM]
    assert entropy.uses_points == bool(with_points)
    for cover in entropy.covers:
        ratio = ExactRatio((cover.bound, entropy.scale), ε)
        values = [float(cover.log_entropy(ratio, math.log(n))) for n in (2, 10, 1e4, 1e9, 1e12)]
        if cover.scope is not Scope.UNIFORM:
            assert values[0] < values[1] < values[2] < values[3] < values[4]
        else:
            assert len(set(values)) == 1
            assert float(cover.log_entropy(ratio, math.nan)) == values[0]
    assert entropy(ε) >= entropy(ε, 10)
    assert entropy(ε, 10) <= entropy(ε, 10**4) <= entropy(ε, 10**9) <= entropy(ε)


# -- what every cover must do: cover, by code words that were counted ------------------


def check_cover(kind: str, case: Case, seed: int = 0, count: int = 40):
    """Encode members: error ≤ ε on the inputs, a code word of the counted set, proper as declared.

    Returns how many covers were judged, for a test to see that there were some.
    """
    rng = np.random.default_rng(seed)
    entropy = case.entropy()
    judged = 0
    for cover in entropy.covers:
        if cover.name != kind:
            continue
        for share in (0.93, 0.7, 0.4, 0.21):
            ε = float(share * entropy.radius)
            X, Z = case.inputs(rng, case.n)
            weights = case.members(rng, count)
            H = float(
                np.exp(cover.log_entropy(ExactRatio((cover.bound, 1.0), ε), math.log(len(X))))
            )
            middle = np.zeros(case.shape) if case.center is None else np.array(case.center)
            centres, log_size = CODES[kind](cover, case, weights - middle, ε, X, Z)
            assert log_size <= H * (1 + ROUNDING), f"{kind}: {log_size} code words counted as {H}"
            centres = centres + middle
            if cover.scope is Scope.UNIFORM:
                X, Z = case.inputs(rng, 60)
            off = oracles.error(case.form, weights - centres, X, Z)
            assert (off <= ε * (1 + ROUNDING)).all(), f"{kind}: error {off.max()} > {ε}"
            if cover.proper:
                assert_members(case, centres)
            judged += 1
    return judged


def assert_members(case: Case, centres: np.ndarray):
    """Every centre obeys every constraint of the class."""
    for W in centres:
        for ball in case.constraint.balls:
            middle = 0 if case.center is None else np.array(case.center)
            size = NORMS[ball.norm](W - middle)
            assert size <= ball.radius * (1 + ROUNDING), f"a centre has {ball.norm} {size}"
        if case.constraint.rank is not None:
            assert np.linalg.matrix_rank(W, tol=1e-9) <= case.constraint.rank
        if case.constraint.nonzeros is not None:
            assert np.count_nonzero(W) <= case.constraint.nonzeros


# -- lower bounds: no cover is smaller than a packing ------------------


def check_packings(case: Case, seed: int = 0, count: int = 220):
    """log N(ε) ≥ log of any set of members more than 2ε apart (its centres may lie anywhere).

    For a proper cover nothing more follows: N ≤ N_proper, and a set only ε apart may be covered
    by fewer centres than it has members.
    """
    rng = np.random.default_rng(seed)
    entropy = case.entropy()
    weights = case.members(rng, count)
    X, Z = case.inputs(rng, case.n)
    on_points = oracles.distances(case.form, weights, X, Z)
    if case.l1 is None:
        everywhere = oracles.distances(case.form, weights)
    else:
        everywhere = oracles.distances(case.form, weights, *case.inputs(rng, 40))
    proper = entropy.proper()
    resolutions = float(entropy.radius) * np.array([0.97, 0.8, 0.6, 0.45, 0.3, 0.2])

    def packings(metric):
        return [math.log(len(oracles.greedy_net(metric, 2 * ε))) for ε in resolutions]

    packed = packings(on_points)
    above = entropy(resolutions, len(X)) >= packed
    assert above.all(), f"{case.name}: a packing on {len(X)} points is larger"
    packed = packings(everywhere)
    assert (entropy(resolutions) >= packed).all(), f"{case.name}: a packing is larger"
    assert (proper(resolutions) >= packed).all()


def check_covers_alone(case: Case, seed: int = 0, count: int = 150):
    """The same for every cover of the class by itself."""
    rng = np.random.default_rng(seed)
    entropy = case.entropy()
    weights = case.members(rng, count)
    X, Z = case.inputs(rng, case.n)
    metric = oracles.distances(case.form, weights, X, Z)
    for ε in float(entropy.radius) * np.array([0.97, 0.7, 0.45, 0.25]):
        log_size = math.log(len(oracles.greedy_net(metric, 2 * ε)))
        for cover in entropy.covers:
            ratio = ExactRatio((cover.bound, 1.0), ε)
            H = math.exp(float(cover.log_entropy(ratio, math.log(len(X)))))
            assert log_size * (1 - ROUNDING) <= H, f"{cover.name} on {case.name}"


def log_ball(p: int, q: float) -> float:
    """log volume of the unit ℓq ball of R^p, q ∈ {1, 2, ∞}."""
    if q == 1:
        return p * math.log(2) - math.lgamma(p + 1)
    return p * math.log(2) if q == math.inf else p / 2 * math.log(math.pi) - math.lgamma(p / 2 + 1)


def check_volumes(p: int = 6, B: float = 1.0):
    """log N(ε) ≥ log of the ratio of volumes."""
    for ε in B * np.array([0.5, 0.1, 0.01, 1e-4, 1e-8]):
        for q, constraint in ((1, du.L1(B)), (2, du.L2(B)), (math.inf, du.LInf(B))):
            least = log_ball(p, q) + p * math.log(B / ε) - log_ball(p, 2)
            assert du.LinearMap((p, 1), constraint).entropy()(ε) >= least
        for norm in ("op", "fro", "col2inf"):
            a, b = 3, 2
            within = {"op": 1.0, "fro": math.sqrt(2), "col2inf": 1.0}[norm]
            form = "logits" if norm == "col2inf" else "linear"
            least = a * b * math.log(B / (within * ε))
            assert du.LinearMap((a, b), du.ball(norm, B)).entropy(form)(ε) >= least
        gain = du.LinearMap((p, 1), du.LInf(B)).entropy(l1=1.0)
        exact = p * math.log(oracles.ceil_ratio(B, over=ε))  # cubes tile a cube
        assert exact <= gain(ε) <= exact * (1 + 1e-9)


# -- counting and rounding ------------------


def check_delannoy(log_delannoy):
    """Never below the exact count; equal to it where one side is short; symmetric."""
    for p in (1, 2, 3, 5, 8, 9, 17, 64, 65, 200, 1000):
        for K in (0, 1, 2, 3, 7, 8, 9, 33, 64, 65, 100, 700, 4096, 4097):
            exact = oracles.log_int(oracles.delannoy(p, K))
            value = float(log_delannoy(p, K))
            assert value >= exact, f"D({p}, {K})"
            excess = 1e-9 * exact
            if min(p, K) > 64 or (8 < p <= 64 and K > 4096):
                excess += 0.5 * math.log(min(p, K)) + 2
            assert value <= exact + excess, f"D({p}, {K}) is {value - exact} too large"
    for p, K in ((3, 2**52), (2**52, 3), (8, 10**15), (64, 2**60), (2**60, 64)):
        exact = oracles.log_int(oracles.delannoy(p, K))
        assert exact <= float(log_delannoy(p, K)) <= exact + 4 + 1e-9 * exact
    for log_K in (50.0, 709.0, 2e3, 1e5):  # K past the floats: D(p, K) ~ (2K)^p/p!
        for p in (1, 5, 300):
            least = p * (math.log(2) + log_K) - math.lgamma(p + 1)
            value = float(log_delannoy(p, math.inf if log_K > 709 else math.exp(log_K), log_K))
            assert least <= value <= least + math.log(p + 1) + 3 + 1e-9 * least


def near_integers():
    """(factors, ε, power, times) at which bound/ε is an integer, or a float or two beside one."""
    for factors in ((1.0,), (0.1, 3.0), (1e6, 1e-3), (123.456, 7e5), (1e-6, 1e-6)):
        for k in (1, 2, 3, 10, 49, 1000, 99**2, 10**6, 2**20 + 1, 10**9 + 7):
            for power in (1, 2):
                for times in (1.0, 2.0, 0.7, 5.0):
                    ε = math.prod(factors) / (k / times) ** (1 / power)
                    for step in range(-2, 3):
                        near = ε
                        for _ in range(abs(step)):
                            near = math.nextafter(near, math.inf if step > 0 else 0.0)
                        yield factors, near, power, times


def check_integer_parts(ceil_power_ratio):
    """⌈times(∏/ε)^power⌉ equals rational arithmetic up to 2^53 and is at or above it beyond."""
    for factors, ε, power, times in near_integers():
        exact = oracles.ceil_ratio(*factors, over=ε, power=power, times=times)
        assert ceil_power_ratio(factors, ε, power, times) == exact
    for ε in (1e-8, 3e-9, 1e-12, 7e-100, 1e-150):
        exact = oracles.ceil_ratio(0.3, 17.0, over=ε, power=2)
        value = ceil_power_ratio((0.3, 17.0), ε, 2)
        assert exact <= Fraction(value) <= exact * (1 + Fraction(1, 10**12))


def check_log_ratio(LogRatio):
    """Integer parts from a log are never below the exact ones.

    log bound − log ε loses what both logs lose, however close to zero the difference is.
    """
    far = [
        ((1e6, 1e3), 34462275.83977887, 2, 1.0),
        ((1e12,), 3898939203.960184, 2, 1.0),
        ((1e100,), 1.2840832779048274e97, 2, 1.0),
    ]
    for factors, ε, power, times in [*far, *near_integers()]:
        exact = oracles.ceil_ratio(*factors, over=ε, power=power, times=times)
        ratio = LogRatio(np.asarray(sum(math.log(f) for f in factors) - math.log(ε)))
        value = ratio.ceil(times) if power == 1 else ratio.ceil_square(times)
        assert value >= exact, f"⌈{times}·({factors}/{ε})^{power}⌉ = {exact}, not {value}"


def check_norms(W: np.ndarray, implied, slack: float = 1e-9):
    """No bound that follows from the norms of a concrete matrix is violated by it."""
    rank = max(int(np.linalg.matrix_rank(W)), 1)
    sizes = {name: norm(W) for name, norm in NORMS.items()}
    for known in (None, rank):
        for name in NORMS:
            for also in ("op", "linf", "col1inf", "row1inf"):
                known_sizes = ((name, sizes[name]), (also, sizes[also]))
                for other, bound in implied(known_sizes, W.shape, known).items():
                    assert sizes[other] <= bound * (1 + slack), f"{other} from {known_sizes}"
