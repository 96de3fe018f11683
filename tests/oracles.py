"""Independent oracles: exact counts, explicit covers, packings and complexities.

Nothing here imports the formulas under test. Counts are big integers, integer parts are taken in
rational arithmetic, covers are built by running the algorithm that proves them, and lower bounds
are sets that were found. What a test compares with is never the code that it tests; members,
packings and averages over sign draws are those of ``dudley.theorems.witness``, which has its own
tests.
"""

import itertools
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dudley.core.entropy import Entropy
from dudley.theorems.witness import exact_covers, suprema
from dudley.theorems.witness.members import draw

# -- exact integers ------------------


def delannoy(p: int, K: int) -> int:
    """How many integer vectors of R^p have ℓ1 norm ≤ K, exactly."""
    return sum(2**j * math.comb(p, j) * math.comb(K, j) for j in range(min(p, K) + 1))


def log_int(count: int) -> float:
    """log of an integer of any size."""
    shift = max(count.bit_length() - 900, 0)
    return math.log(count >> shift) + shift * math.log(2)


def nearest(p: int, K: int) -> int:
    """Integer vectors z of length p with Σ_{z_i≠0} (2|z_i| − 1) ≤ K, one coordinate at a time."""
    ways = [1] + [0] * K
    for _ in range(p):
        ways = [
            ways[k] + sum(2 * ways[k - size] for size in range(1, k + 1, 2)) for k in range(K + 1)
        ]
    return sum(ways)


def lattice(p: int, K: int):
    """Every integer vector of R^p with ℓ1 norm ≤ K, as rows."""
    cube = np.indices((2 * K + 1,) * p).reshape(p, -1).T - K
    return cube[np.abs(cube).sum(axis=1) <= K]


def ceil_ratio(*factors, over, power=1, times=1) -> int:
    """⌈times · (∏ factors / over)^power⌉ of the rationals that the floats are."""
    ratio = Fraction(1)
    for factor in factors:
        ratio *= Fraction(factor)
    return math.ceil(Fraction(times) * (ratio / Fraction(over)) ** power)


def ceil_root(square: Fraction) -> int:
    """⌈√square⌉ exactly."""
    root = math.isqrt(square.numerator // square.denominator)
    return root if Fraction(root) ** 2 >= square else root + 1


# -- the algorithms that prove the covers ------------------


def maurey(f: np.ndarray, B: float, K: int) -> np.ndarray:
    """Integer vectors of ℓ1 norm ≤ K whose B/K multiples approximate f (…, p), of ℓ1 norm ≤ B.

    Draws are made one by one, each the one that minimises the conditional expectation, so the
    error is at most the expected one. The zero vector is used where it is closer.
    """
    p = f.shape[-1]
    vertices = np.concatenate([np.zeros((1, p)), np.eye(p), -np.eye(p)])
    total = np.zeros(f.shape)
    for t in range(1, K + 1):
        candidates = total[..., None, :] + vertices  # (…, 2p + 1, p)
        errors = ((t * f[..., None, :] - B * candidates) ** 2).sum(axis=-1)
        total = total + vertices[errors.argmin(axis=-1)]
    if K == 0:
        return total
    zero_is_closer = (f**2).sum(axis=-1) <= ((f - B / K * total) ** 2).sum(axis=-1)
    return np.where(zero_is_closer[..., None], 0.0, total)


def perceptron(v: np.ndarray, points: np.ndarray, ε: float) -> np.ndarray:
    """Integer coefficients c with |v·x − ε Σ c_i x_i·x| ≤ ε at every point (rows of norm ≤ 1)."""
    c = np.zeros(len(points))
    while True:
        errors = points @ (v - ε * (c @ points))
        worst = np.abs(errors).argmax()
        if abs(errors[worst]) <= ε:
            return c
        c[worst] += np.sign(errors[worst])


@lru_cache(maxsize=64)
def directions(b: int, m: int, t: float) -> np.ndarray:
    """m unit vectors of R^b, to either of whose sides every vector is within stretch t.

    Axes, equal angles in the plane, or lines drawn at random until a dense sample is served.
    """
    if t >= b and m >= b:
        return np.eye(b)
    if b == 2:
        angles = np.pi / m * np.arange(m)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rng = np.random.default_rng(b)
    sample = rng.standard_normal((3000, b))
    sample /= np.linalg.norm(sample, axis=1, keepdims=True)
    for _ in range(20):
        V = rng.standard_normal((m, b))
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        if (np.abs(sample @ V.T).max(axis=1) ** 2 >= 1 / t).all():
            return V
    raise AssertionError(f"{m} lines of R^{b} do not have stretch {t}")


def spherical(W, inputs, V: np.ndarray, t: float, ε: float) -> tuple[np.ndarray, np.ndarray]:
    """Centres by steps ε/√t·xᵀv for a stack W (…, a, b), and how many steps each took.

    ``inputs`` says, for a stack of D, which unit rows x to correct and by how much they are off.
    """
    centres, steps = np.zeros_like(W), np.zeros(len(W), dtype=int)
    while True:
        D = W - centres
        x, off = inputs(D)
        open_ = off > ε
        if not open_.any():
            return centres, steps
        r = np.einsum("na,nab->nb", x, D)
        along = r @ V.T
        v = V[np.abs(along).argmax(axis=1)]
        assert ((r * v).sum(axis=1)[open_] ** 2 >= (off**2 / t * (1 - 1e-12))[open_]).all()
        v = v * np.sign((r * v).sum(axis=1))[:, None]
        centres = centres + open_[:, None, None] * ε / math.sqrt(t) * x[:, :, None] * v[:, None, :]
        steps += open_


def greedy_net(distances: np.ndarray, ε: float) -> list[int]:
    """Members more than ε apart, such that every member is within ε of one of them."""
    chosen: list[int] = []
    for i in range(len(distances)):
        if not chosen or distances[i, chosen].min() > ε:
            chosen.append(i)
    return chosen


def largest_packing(distances: np.ndarray, separation: float) -> int:
    """The size of the largest subset more than ``separation`` apart: integer programming."""
    chosen = exact_covers.largest_packing(distances, separation)
    inside = distances[np.ix_(chosen, chosen)][np.triu_indices(len(chosen), 1)]
    assert (inside > separation).all()
    return len(chosen)


# -- maps, metrics, members ------------------


def inputs(rng, count: int, a: int, l1: float | None = None) -> np.ndarray:
    """Input rows with ℓ2 norm ≤ 1 and ℓ1 norm ≤ l1, many of them extreme."""
    X = rng.standard_normal((count, a))
    X[::3] = np.eye(a)[rng.integers(a, size=len(X[::3]))]
    X[1::3] = np.sign(X[1::3])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if l1 is not None:
        X /= np.maximum(np.abs(X).sum(axis=1, keepdims=True) / l1, 1)
    return X


def error(form: str, D: np.ndarray, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    """The distance of two maps whose weights differ by D (…, a, b), over the given inputs."""
    if form == "linear":
        return np.linalg.norm(X @ D, axis=-1).max(axis=-1)
    if form == "logits":
        return np.abs(X @ D).max(axis=(-1, -2))
    assert Z is not None
    return np.abs(((X @ D) * Z).sum(axis=-1)).max(axis=-1)


def uniform_error(form: str, D: np.ndarray) -> np.ndarray:
    """The same over all inputs of ℓ2 norm ≤ 1."""
    if form == "logits":
        return np.linalg.norm(D, axis=-2).max(axis=-1)
    return np.linalg.norm(D, ord=2, axis=(-2, -1))


def distances(form: str, members: np.ndarray, X=None, Z=None) -> np.ndarray:
    """All pairwise distances of weight matrices, on points or uniformly."""
    i, j = np.triu_indices(len(members), 1)
    D = members[i] - members[j]
    metric = np.zeros((len(members), len(members)))
    metric[i, j] = metric[j, i] = uniform_error(form, D) if X is None else error(form, D, X, Z)
    return metric


def members(rng, constraint, shape, count: int, norms, center=None) -> np.ndarray:
    """Weights of a constraint set, most on its boundary, checked by the given norms."""
    W = draw(constraint, shape, count, rng, center)
    for ball in constraint.balls:
        middle = 0.0 if ball.center is None else np.reshape(center, shape)
        assert all(norms[ball.norm](D) <= ball.radius for D in W - middle)
    if constraint.nonzeros is not None:
        assert all(np.count_nonzero(D) <= constraint.nonzeros for D in W)
    return W


# -- complexities ------------------


def signs(n: int) -> np.ndarray:
    """All 2^n sign vectors."""
    return np.array(list(itertools.product([-1.0, 1.0], repeat=n)))


def rademacher(sup, n: int) -> float:
    """E sup/n over all sign vectors, exactly; ``sup`` takes a matrix of sign rows."""
    return float(np.mean(sup(signs(n)))) / n


def rademacher_below(sup, n: int, A: float, rng, draws: int = 400, δ: float = 1e-9) -> float:
    """A lower bound on E sup/n from draws, wrong with probability ≤ δ (McDiarmid over nM signs)."""
    return suprema.rademacher(sup, n, A, rng, draws, δ).value


def hadamard_sums(signs: np.ndarray) -> np.ndarray:
    """⟨s, h⟩ for each row s of signs and each of the n = 2^k rows h of Hadamard's matrix.

    >>> hadamard_sums(np.eye(4)).astype(int).tolist()
    [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]
    """
    sums, n = signs.copy(), signs.shape[1]
    for bit in range(n.bit_length() - 1):
        pairs = sums.reshape(len(sums), -1, 2, 1 << bit)
        sums = np.concatenate([pairs.sum(axis=2), pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
    return sums.reshape(len(signs), n)


def binomial_below_half(n: int, p: float) -> float:
    """P(Bin(n, p) < n/2) for odd n."""
    from scipy.stats import binom

    return float(binom.cdf((n - 1) // 2, n, p))


class Finite(Entropy):
    """N functions: log N at every resolution below the radius 1."""

    log_radius = 0.0
    uses_points = False

    def __init__(self, N: int):
        self.log_log_N = math.log(math.log(N))

    def log_log(self, log_ε, log_n=None):
        return np.where(np.asarray(log_ε, dtype=float) < 0, self.log_log_N, -math.inf)

    def proper(self):
        return self
