"""The construction behind every registered cover: members become code words of a counted set.

Each function takes a cover, its case, the members' deviations W from the centre, a resolution and
the inputs, and returns the centres that the code words stand for and the log of how many there are.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

import oracles
from dudley.classes import directions


def _bounds(case) -> dict[str, float]:
    (deviation,) = [found for _, found in case.constraint.deviations(case.shape)]
    return deviation


def _l1(case) -> float:
    root = math.sqrt(case.shape[0])
    return root if case.l1 is None else min(case.l1, root)


def _code_maurey(cover, case, W, ε, X, Z):
    B, p = _bounds(case)["l11"], W[0].size
    K = oracles.ceil_ratio(B, over=ε, power=2) - 1
    words = oracles.maurey(W.reshape(len(W), -1), B, K)
    assert (np.abs(words).sum(axis=1) <= K).all()
    centres = words * (B / K if K else 0.0)
    return centres.reshape(W.shape), oracles.log_int(oracles.delannoy(p, K))


def _code_maurey_rows(cover, case, W, ε, X, Z):
    B, (a, b) = _bounds(case)["row1inf"], case.shape
    K = oracles.ceil_ratio(B, _l1(case), over=ε, power=2) - 1
    words = oracles.maurey(W, B, K)
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
    codes, log_size = [], 0.0
    for factor, share in ((A, a / (a + b)), (C, b / (a + b))):
        metric = oracles.distances("linear", factor)
        net = oracles.greedy_net(metric, share * ε / math.sqrt(B))
        codes.append(factor[np.array(net)[metric[:, net].argmin(axis=1)]])
        log_size += math.log(len(net))
    return codes[0] @ codes[1], log_size


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

        words = [oracles.delannoy(N, steps(k)) for k in range(q + 1)]  # of a column with code k
        total = 0
        for code in _compositions(b, q):
            total += math.prod(words[k] for k in code)
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


def _thriftiest(choices, inputs, B, ε):
    """The t and log m of least exact count D(inputs·m, K): its log, t, log m and K."""
    best = None
    for t, log_m in choices:
        K = oracles.ceil_ratio(B, over=ε, power=2, times=t) - 1
        m = round(math.exp(log_m))
        size = oracles.log_int(oracles.delannoy(inputs * m, K))
        best = min(best or (math.inf,), (size, t, log_m, K))
    return best


def _row_by_row(W, X, t, m, K, ε):
    """Each step corrects the worst row, along the line nearest to it."""

    def worst(D):
        off = np.linalg.norm(X @ D, axis=2)
        return X[off.argmax(axis=1)], off.max(axis=1)

    centres, steps = oracles.spherical(W, worst, oracles.directions(W.shape[2], m, t), t, ε)
    assert (steps <= K).all(), "the perceptron took more steps than counted"
    return centres


def _code_spherical(cover, case, W, ε, X, Z):
    size, t, log_m, K = _thriftiest(cover.choices, len(X), _bounds(case)["fro"], ε)
    return _row_by_row(W, X, t, round(math.exp(log_m)), K, ε), size


def _code_adaptive(cover, case, W, ε, X, Z):
    """Corrections in their order, on points that happen to be given."""
    B, J, features = _bounds(case)["fro"], case.together, _features(case, X, Z)
    best = None
    for t, log_m in cover.choices:
        m, K = round(math.exp(log_m)), oracles.ceil_ratio(B, over=ε, power=2, times=t) - 1
        best = min(best or (math.inf,), (K * math.log(1 + 2 * J * len(features) * m), t, m, K))
    size, t, m, K = best
    if case.form == "linear":
        return _row_by_row(W, X, t, m, K, ε), size
    words = np.array([oracles.perceptron(w.ravel(), features, ε) for w in W])
    assert (np.abs(words).sum(axis=1) <= K).all(), "the perceptron took more steps than counted"
    return ε * (words @ features).reshape(W.shape), size


def _code_adaptive_col21(cover, case, W, ε, X, Z):
    """The column norms rounded to multiples of B/q; then corrections in their order."""
    b, N, B = case.shape[1], len(X), _bounds(case)["col21"]
    best = None
    for q in (math.ceil(b * 2.0**k) for k in range(-3, 9)):
        K = math.floor((Fraction(B) / Fraction(ε)) ** 2 * Fraction(b + q, q) ** 2)
        size = K * math.log(1 + 2 * case.together * N * b) + math.log(math.comb(b + q, b))
        best = min(best or (math.inf,), (size, q, K))
    size, q, K = best
    centres = np.zeros_like(W)
    for i, w in enumerate(W):
        steps = 0.0
        for j, norm in enumerate(np.linalg.norm(w, axis=0)):
            fine = ε * math.sqrt((math.floor(q * norm / B) + 1) / (b + q))
            word = oracles.perceptron(w[:, j], X, fine)
            steps += np.abs(word).sum()
            centres[i, :, j] = fine * (word @ X)
        assert steps <= K, "the perceptron took more steps than counted"
    return centres, size


def _code_spherical_uniform(cover, case, W, ε, X, Z):
    """Each step corrects near the largest singular value; for logits, the longest column."""
    (a, b), logits = case.shape, case.form == "logits"
    size, t, log_m, K = _thriftiest(cover.choices, 1, _bounds(case)["fro"], ε)
    outputs = ((1.0, math.log(b)),) if logits else directions.lines(b)
    pairs = itertools.product(directions.lines(a), outputs)
    (first, log_first), (second, log_second) = next(
        pair for pair in pairs if directions.products(pair[:1], pair[1:]) == ((t, log_m),)
    )
    U = oracles.directions(a, round(math.exp(log_first)), first)
    V = np.eye(b) if logits else oracles.directions(b, round(math.exp(log_second)), second)

    def worst(D):
        if logits:
            columns = np.linalg.norm(D, axis=1)
            off = columns.max(axis=1)
            along = np.take_along_axis(D, columns.argmax(axis=1)[:, None, None], axis=2)[:, :, 0]
        else:
            left, sizes, _ = np.linalg.svd(D)
            along, off = left[:, :, 0], sizes[:, 0]
        return U[np.abs(along @ U.T).argmax(axis=1)], off

    centres, steps = oracles.spherical(W, worst, V, t, ε)
    assert (steps <= K).all(), "the perceptron took more steps than counted"
    return centres, size


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
    "spherical": _code_spherical,
    "spherical-uniform": _code_spherical_uniform,
    "adaptive": _code_adaptive,
    "adaptive-col21": _code_adaptive_col21,
    "zhang": _code_perceptron_columns,  # a cover that was found is at most as large as claimed
}
