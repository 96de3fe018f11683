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

    def entropy(self):
        return du.LinearMap(self.shape, self.constraint).entropy(self.form, 1, 1, self.l1)

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
        for past in (radius * (1 + 1e-15), 1.5 * radius, 1e6 * radius, 1e250):
            assert entropy(past, n) == 0
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
    for n in (None, 50):
        for ε in (0.03, 0.1, 0.37, 1.0):
            here = plain(ε, n)
            for there in (large(factor * ε, n), plain.scaled(factor)(factor * ε, n)):
                assert math.isclose(there, here, rel_tol=ROUNDING)


def check_points(entropy):
    """Only covers on points know n, and more points never have a smaller cover."""
    ε = 0.3 * math.exp(entropy.log_radius)
    with_points = [cover for cover in entropy.covers if cover.scope is Scope.POINTS]
    assert entropy.uses_points == bool(with_points)
    for cover in entropy.covers:
        ratio = ExactRatio((cover.bound, entropy.scale), ε)
        values = [float(cover.log_entropy(ratio, math.log(n))) for n in (2, 10, 1e4, 1e9, 1e12)]
        if cover.scope is Scope.POINTS:
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


def _bounds(case: Case) -> dict[str, float]:
    (deviation,) = [found for _, found in case.constraint.deviations(case.shape)]
    return deviation


def _l1(case: Case) -> float:
    root = math.sqrt(case.shape[0])
    return root if case.l1 is None else min(case.l1, root)


def _code_maurey(cover, case, W, ε, X, Z):
    B, p = _bounds(case)["l11"], W[0].size
    K = oracles.ceil_ratio(B, over=ε, power=2) - 1
    words = np.array([oracles.maurey(w.ravel(), B, K) for w in W])
    assert (np.abs(words).sum(axis=1) <= K).all()
    centres = words * (B / K if K else 0.0)
    return centres.reshape(W.shape), oracles.log_int(oracles.delannoy(p, K))


def _code_maurey_rows(cover, case, W, ε, X, Z):
    B, (a, b) = _bounds(case)["row1inf"], case.shape
    K = oracles.ceil_ratio(B, _l1(case), over=ε, power=2) - 1
    words = np.array([[oracles.maurey(row, B, K) for row in w] for w in W])
    assert (np.abs(words).sum(axis=2) <= K).all()
    return words * (B / K if K else 0.0), a * oracles.log_int(oracles.delannoy(b, K))


def _code_rounding_inward(cover, case, W, ε, X, Z):
    B, p = _bounds(case)["l11"], W[0].size
    k = oracles.ceil_root(p * (Fraction(B) / Fraction(ε)) ** 2)
    words = np.fix(W / (B / k))
    assert (np.abs(words).sum(axis=(1, 2)) <= k).all()
    return words * (B / k), oracles.log_int(oracles.delannoy(p, k))


def _code_rounding_nearest(cover, case, W, ε, X, Z):
    B, p = _bounds(case)["l11"], W[0].size
    step = 2 * ε / math.sqrt(p)
    words = np.round(W / step)
    k = math.floor(B / step + p / 2)
    assert (np.abs(words).sum(axis=(1, 2)) <= k).all()
    return words * step, oracles.log_int(oracles.delannoy(p, k))


def _code_grid(cover, case, W, ε, X, Z):
    B, p = _bounds(case)["linf"], W[0].size
    cells = oracles.ceil_ratio(B, _l1(case), over=ε)
    words = np.clip(np.floor((W + B) / (2 * B / cells)), 0, cells - 1)
    return (words + 0.5) * (2 * B / cells) - B, p * math.log(cells)


def _code_rounding_entries(cover, case, W, ε, X, Z):
    B, p, l1 = _bounds(case)["l11"], W[0].size, _l1(case)
    step = 2 * ε / l1
    words = np.round(W / step)
    K = math.floor(Fraction(B) * Fraction(l1) / Fraction(ε))
    assert (np.where(words == 0, 0, 2 * np.abs(words) - 1).sum(axis=(1, 2)) <= K).all()
    return words * step, oracles.log_int(oracles.nearest(p, K))


def _code_sparse(cover, case, W, ε, X, Z):
    """A support of s entries, and a cell for each; the rest is zero."""
    (a, b), s, B = case.shape, case.constraint.nonzeros, _bounds(case)["linf"]
    by_rows = _l1(case) * (1 if case.form == "logits" else math.sqrt(min(b, s)))
    c = min(by_rows, math.sqrt(min(a, s) if case.form == "logits" else s))
    cells = math.ceil(B * c / ε * (1 - 1e-12))
    assert (np.count_nonzero(W, axis=(1, 2)) <= s).all()
    centres = np.zeros_like(W).reshape(len(W), -1)
    for centre, w in zip(centres, W.reshape(len(W), -1), strict=True):
        support = np.argsort(w == 0, kind="stable")[:s]
        words = np.clip(np.floor((w[support] + B) / (2 * B / cells)), 0, cells - 1)
        centre[support] = (words + 0.5) * (2 * B / cells) - B
    return centres.reshape(W.shape), math.log(math.comb(a * b, s)) + s * math.log(cells)


def _code_volumetric(cover, case, W, ε, X, Z):
    line = np.linspace(-1, 1, 301)[:, None, None] * W[:1]  # a line through the class, finely
    pool = np.concatenate([W, line]) if W[0].size == 1 else W
    metric = oracles.distances(case.form, pool)  # ≥ the distance on any inputs
    net = oracles.greedy_net(metric, ε)
    nearest = np.array(net)[metric[: len(W), net].argmin(axis=1)]
    return pool[nearest], math.log(len(net))


def _code_rank(cover, case, W, ε, X, Z):
    (a, b), r = case.shape, case.constraint.rank
    B = _bounds(case)["op"]
    U, s, V = np.linalg.svd(W)
    root = np.sqrt(s[:, None, :r])
    A, C = U[:, :, :r] * root, np.swapaxes(root, 1, 2) * V[:, :r, :]
    found, log_size = [], 0.0
    for factor, share in ((A, a / (a + b)), (C, b / (a + b))):
        metric = oracles.distances("linear", factor)
        net = oracles.greedy_net(metric, share * ε / math.sqrt(B))
        found.append(factor[np.array(net)[metric[:, net].argmin(axis=1)]])
        log_size += math.log(len(net))
    return found[0] @ found[1], log_size


def _features(case, X, Z):
    if case.form == "bilinear":
        return np.einsum("na,nb->nab", X, Z).reshape(len(X), -1)
    if case.form == "logits":
        return np.einsum("na,jb->njab", X, np.eye(case.shape[1])).reshape(-1, np.prod(case.shape))
    return X


def _code_perceptron(cover, case, W, ε, X, Z):
    features = _features(case, X, Z)
    K = oracles.ceil_ratio(_bounds(case)["fro"], over=ε, power=2) - 1
    words = np.array([oracles.perceptron(w.ravel(), features, ε) for w in W])
    assert (np.abs(words).sum(axis=1) <= K).all(), "the perceptron took more steps than counted"
    size = oracles.log_int(oracles.delannoy(len(features), K))
    return ε * (words @ features).reshape(W.shape), size


def _code_perceptron_columns(cover, case, W, ε, X, Z):
    b = case.shape[1]
    split = 1 if case.form == "logits" else b
    K = oracles.ceil_ratio(_bounds(case)["col2inf"], over=ε, power=2, times=split) - 1
    fine = ε / math.sqrt(split)
    words = np.array([[oracles.perceptron(w[:, j], X, fine) for j in range(b)] for w in W])
    assert (np.abs(words).sum(axis=2) <= K).all()
    centres = np.swapaxes(fine * (words @ X), 1, 2)
    return centres, b * oracles.log_int(oracles.delannoy(len(X), K))


def _code_perceptron_col21(cover, case, W, ε, X, Z):
    """The best q of a list; for each, the code words are counted exactly."""
    b, N, B = case.shape[1], len(X), _bounds(case)["col21"]
    best = None
    for q in sorted({math.ceil(b * 2.0**k) for k in range(-3, 5)}):

        def steps(k, q=q):
            most = (Fraction(B) / Fraction(ε)) ** 2 * (k + 1) * (b + q) / q**2
            return math.floor(most)

        total = 0
        for code in _compositions(b, q):
            total += math.prod(oracles.delannoy(N, steps(k)) for k in code)
        if best is None or total < best[0]:
            best = (total, q, steps)
    total, q, steps = best
    centres = np.zeros_like(W)
    for i, w in enumerate(W):
        sizes = np.linalg.norm(w, axis=0)
        code = np.floor(q * sizes / B).astype(int)
        assert code.sum() <= q
        for j in range(b):
            fine = ε * math.sqrt((code[j] + 1) / (b + q))
            word = oracles.perceptron(w[:, j], X, fine)
            assert np.abs(word).sum() <= steps(int(code[j]))
            centres[i, :, j] = fine * (word @ X)
    return centres, oracles.log_int(total)


def _compositions(b, q):
    """Vectors of b integers ≥ 0 with sum ≤ q."""
    if b == 0:
        yield ()
        return
    for first in range(q + 1):
        for rest in _compositions(b - 1, q - first):
            yield (first, *rest)


CODES = {
    "maurey": _code_maurey,
    "maurey-rows": _code_maurey_rows,
    "rounding-inward": _code_rounding_inward,
    "rounding-nearest": _code_rounding_nearest,
    "rounding-entries": _code_rounding_entries,
    "sparse": _code_sparse,
    "grid": _code_grid,
    "volumetric": _code_volumetric,
    "rank": _code_rank,
    "perceptron": _code_perceptron,
    "perceptron-columns": _code_perceptron_columns,
    "perceptron-col21": _code_perceptron_col21,
    "zhang": _code_perceptron_columns,  # a cover that was found is at most as large as claimed
}


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
    for ε in float(entropy.radius) * np.array([0.97, 0.8, 0.6, 0.45, 0.3, 0.2]):
        found = math.log(len(oracles.greedy_net(on_points, 2 * ε)))
        assert entropy(ε, len(X)) >= found, f"{case.name}: a packing on {len(X)} points is larger"
        found = math.log(len(oracles.greedy_net(everywhere, 2 * ε)))
        assert entropy(ε) >= found, f"{case.name}: a packing is larger"
        assert proper(ε) >= found


def check_covers_alone(case: Case, seed: int = 0, count: int = 150):
    """The same for every cover of the class by itself."""
    rng = np.random.default_rng(seed)
    entropy = case.entropy()
    weights = case.members(rng, count)
    X, Z = case.inputs(rng, case.n)
    metric = oracles.distances(case.form, weights, X, Z)
    for ε in float(entropy.radius) * np.array([0.97, 0.7, 0.45, 0.25]):
        found = math.log(len(oracles.greedy_net(metric, 2 * ε)))
        for cover in entropy.covers:
            ratio = ExactRatio((cover.bound, 1.0), ε)
            H = math.exp(float(cover.log_entropy(ratio, math.log(len(X)))))
            assert found * (1 - ROUNDING) <= H, f"{cover.name} on {case.name}"


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
                given = ((name, sizes[name]), (also, sizes[also]))
                for other, bound in implied(given, W.shape, known).items():
                    assert sizes[other] <= bound * (1 + slack), f"{other} from {given}"


# -- allocation ------------------


def check_feasible(allocated, log_ε: float, log_n=None):
    """Σ copies · reach · x ≤ ε with x ≤ 1, in exact rational multiples of the largest term."""
    split = allocated.split(log_ε, log_n)
    spent, cost = Fraction(0), -math.inf
    for block, (log_x, log_H) in zip(allocated.blocks, split, strict=True):
        assert (log_x <= 0).all()
        terms = np.atleast_1d(block.weight.log) + block.entropy.log_radius + log_x - log_ε
        spent += block.copies * sum((Fraction(math.exp(t)) for t in terms), Fraction(0))
        direct = block.entropy.log_log(block.entropy.log_radius + log_x, log_n)
        assert (direct <= log_H + 1e-9).all(), "a block is charged less than its entropy"
        cost = np.logaddexp(cost, np.logaddexp.reduce(log_H) + math.log(block.copies))
    assert spent <= 1, f"spent {float(spent)} of the budget"
    total = float(allocated.log_log(log_ε, log_n))
    assert abs(total - cost) <= 1e-9 * max(1.0, abs(cost)), f"{total} is not the sum {cost}"


def check_power_law(allocate, Cs, βs, ε: float):
    """The numeric allocator and the closed form agree within 1 %, and neither beats the other."""
    from dudley.core.entropy import PowerLaw
    from dudley.core.magnitude import Magnitude

    value, parts = allocate.power_law(Cs, βs, ε)
    assert math.isclose(float(np.dot(βs, parts)), ε, rel_tol=1e-9)
    assert math.isclose(float((np.asarray(Cs) / parts**2).sum()), value, rel_tol=1e-9)
    blocks = tuple(
        allocate.Block(str(i), PowerLaw(C), Magnitude.of(β))
        for i, (C, β) in enumerate(zip(Cs, βs, strict=True))
    )
    numeric = allocate.Allocated(blocks)(ε)
    assert value * (1 - 1e-9) <= numeric <= 1.01 * value, f"{numeric} against {value}"


# -- chaining ------------------


def check_forms(chain, log_H: np.ndarray, log_n: np.ndarray, grid: np.ndarray):
    """optimised ≤ tree ≤ dudley ≤ 1 and proper ≤ improper, on the same entropies."""
    one = np.ones(len(log_n))
    dudley = chain.dudley(log_H, log_n, grid)
    assert (dudley <= one).all()
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
    import itertools

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


class Finite:
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
