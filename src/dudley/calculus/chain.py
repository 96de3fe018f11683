"""Chain: from an entropy to the empirical Rademacher complexity R̂ = E sup (1/n) Σ τ_i f(x_i).

All forms take a class with |f| ≤ A on the sample (after subtracting any fixed function) and an
entropy for its L2(P_n) or sup metric. Write H = log N and scales A = d_0 > d_1 > … > d_J.

* :func:`dudley`: 4a + 12 ∫_a^{A/2} √(H/n), with upper Riemann sums; :func:`inverse_square`: the
  same exactly, for H = α + C/ε².
* :func:`tree`: scales that halve. The parent of a centre at level j is chosen at level j−1, so
  there are N(d_j) increments, each of length ≤ d_{j−1} (proper covers) or ≤ d_j + d_{j−1} (others):
  d_J + Σ_j ℓ_j √(2H(d_j)/n), hence 2a + (4√2 or 6√2) ∫_a^{A/2} √(H/n) for a = A/2^{J+1}.
* :func:`optimised`: the same sum over the best subset of a finer grid, by dynamic programming.
* :func:`complexity`: the same, but that a link from the top has length d_0 only, for any covers:
  centres are cut to |f̂| ≤ A, which moves none away from a member of the class.

The first two are sums over scales that do not move with A (:func:`fixed_scales`), so that a larger
A never makes them smaller. The tree takes the best of 64 ladders, which divide an octave evenly.

Massart's lemma bounds E max over N increments of length ℓ by ℓ√(2 log N/n); other classes have
other prices (:mod:`dudley.calculus.peel`), and the same program. Each form is at most
A, the trivial bound; on the same scales optimised ≤ tree ≤ dudley. Any scales chosen without the
data are valid.
A class with one member has complexity 0: E Σ τ_i f(x_i) = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dudley.calculus.allocate import octaves, solve_ahead
from dudley.calculus.memory import along
from dudley.core.entropy import Entropy, InverseSquare

# log H, scales × sample sizes, and log n ↦ the cost of a link per unit of its length
LinkPrice = Callable[[np.ndarray, np.ndarray], np.ndarray]

STEPS = 4  # grid scales per halving
FINE = 64  # the same for an integral: sums for H ∝ 1/ε² are up to 2^{1/64} − 1 = 1.1 % above it
_REACH = 8 * STEPS  # a link spans at most this many grid scales, or starts at the top


def octaves_down(log_n: ArrayLike) -> np.ndarray:
    """How far a chain may go: past A/√n, in steps of eight octaves, at most 48 octaves."""
    return np.minimum(8 * np.ceil(np.asarray(log_n) / (16 * math.log(2))) + 8, 48)


def scales(log_n: ArrayLike) -> np.ndarray:
    """log(d/A) of the grid, four steps per octave, long enough for the largest n."""
    return -math.log(2) / STEPS * np.arange(STEPS * int(np.max(octaves_down(log_n))) + 1)


def fixed_scales(log_A: float, log_n: ArrayLike, steps: int = STEPS) -> np.ndarray:
    """log(d/A) of A itself and of the powers of 2^{1/steps} below it: the same powers for every A.

    >>> at_3, at_4 = (np.exp(np.log(A) + fixed_scales(math.log(A), 0.0)) for A in (3.0, 4.0))
    >>> at_3[:4].round(3), at_4[:5].round(3)
    (array([3.   , 2.828, 2.378, 2.   ]), array([4.   , 3.364, 2.828, 2.378, 2.   ]))
    """
    step, count = math.log(2) / steps, steps * int(np.max(octaves_down(log_n)))
    first = log_A - step * (np.ceil(log_A / step) - 1)  # from A down to the power below it
    return np.append(0.0, -min(max(first, 0.0), step) - step * np.arange(count))


@along
def by_integral(entropy: Entropy, log_A: float, log_n: np.ndarray) -> np.ndarray:
    """The bound on R̂/A by Dudley's integral, for each n: exact where it has a closed form."""
    if log_A == -math.inf or entropy.is_single:
        return np.zeros(len(log_n))
    law = entropy.inverse_square()
    if law is not None:
        return inverse_square(law, log_A, log_n)
    grid = fixed_scales(log_A, log_n, FINE)
    return dudley(entropies(entropy, log_A, log_n, grid), log_n, grid)


@along
def complexity(entropy: Entropy, log_A: float, log_n: np.ndarray) -> np.ndarray:
    """The best bound on R̂/A known here, for each n: proper and other covers, optimised scales."""
    if log_A == -math.inf or entropy.is_single:
        return np.zeros(len(log_n))
    return cheapest(entropy, log_A, log_n, massart, massart)


@dataclass(frozen=True, eq=False)
class ChainTask:
    """What is to be chained, for each n; ``first`` is the price of a link from the top."""

    entropy: Entropy
    log_A: float
    log_n: np.ndarray
    price: LinkPrice
    first: LinkPrice


def cheapest(
    entropy: Entropy, log_A: float, log_n: np.ndarray, price: LinkPrice, first: LinkPrice
) -> np.ndarray:
    """The best chain for each n, by proper and other covers; ``first``: of a link from the top."""
    return cheapest_of([ChainTask(entropy, log_A, log_n, price, first)])[0]


def cheapest_of(tasks: Sequence[ChainTask]) -> list[np.ndarray]:
    """The best chains of several tasks, computed side by side: each as by itself.

    Covers on points round n up to a power of two. The complexity of the worst sample falls with
    n, so its value at the power of two below serves as well.
    """
    every, backs = [], []
    for task in tasks:
        below, back = np.zeros(0), None
        if task.entropy.uses_points:
            below, back = np.unique(_octave_below(task.log_n), return_inverse=True)
        every.append(replace(task, log_n=np.concatenate([task.log_n, below])))
        backs.append(back)
    results = []
    for task, back, values in zip(tasks, backs, _chained(every), strict=True):
        best, at_below = np.split(values, [len(task.log_n)])
        results.append(best if back is None else np.minimum(best, at_below[back]))
    return results


def _octave_below(log_n: np.ndarray) -> np.ndarray:
    """log of the power of two that is n or next below it; log n may be off in its last places."""
    return np.floor(log_n / math.log(2) * (1 + 2.0**-50)) * math.log(2)


def _chained(tasks: Sequence[ChainTask]) -> list[np.ndarray]:
    """The better of any covers and covers by members, all in one program."""
    grid = scales(max(task.log_n.max() for task in tasks))
    blanks = [
        [_Table(one, task.log_A, task.log_n, grid) for one in _kinds(task.entropy)]
        for task in tasks
    ]
    solve_ahead(question for tables in blanks for one in tables for question in one.questions())
    prices, firsts, proper = [], [], []
    for task, tables in zip(tasks, blanks, strict=True):
        filled = [one.filled() for one in tables]
        if len(filled) == 2 and np.array_equal(
            filled[0], filled[1]
        ):  # links between members are not longer
            del filled[1]
        prices += [task.price(log_H, task.log_n) for log_H in filled]
        firsts += [task.first(log_H, task.log_n) for log_H in filled]
        proper.append([is_proper for is_proper, _ in zip((True, False), filled, strict=False)])
    widths = [len(task.log_n) for task, kinds in zip(tasks, proper, strict=True) for _ in kinds]
    flags = np.repeat([flag for kinds in proper for flag in kinds], widths)
    best = _program(np.concatenate(prices, axis=1), grid, flags, np.concatenate(firsts, axis=1))
    parts = iter(np.split(_ended(best, grid), np.cumsum(widths)[:-1]))
    return [np.minimum.reduce([next(parts) for _ in kinds]) for kinds in proper]


def _kinds(entropy: Entropy) -> list[Entropy]:
    """The covers by members, and any covers where these are others."""
    members = entropy.proper()
    return [members] if members == entropy else [members, entropy]


def entropies(entropy: Entropy, log_A: float, log_n: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """log H, one row for each scale and one column for each n.

    Scales past the length of an n's own chain are closed (infinite), so that a sweep and a single
    evaluation agree to the last digit; so are those that a huge log A swallows.
    """
    return _Table(entropy, log_A, log_n, grid).filled()


class _Table:
    """The table of :func:`entropies`: what it asks for, and then its numbers."""

    def __init__(self, entropy: Entropy, log_A: float, log_n: np.ndarray, grid: np.ndarray) -> None:
        self.entropy, self.log_ε = entropy, log_A + grid
        deepest = -math.log(2) * (octaves_down(log_n) + 0.5 / FINE)
        swallowed = ~((self.log_ε < log_A) | (grid == 0))
        self.is_open = (grid[:, None] > deepest) & ~swallowed[:, None]
        sizes = octaves(log_n) if entropy.uses_points else np.zeros(len(log_n))
        self.parts: list[tuple[float | None, np.ndarray, np.ndarray]] = []
        for size in np.unique(sizes):
            columns = np.flatnonzero(sizes == size)
            rows = np.flatnonzero(self.is_open[:, columns].any(axis=1))
            log_octave = size * math.log(2) if entropy.uses_points else None
            self.parts.append((log_octave, rows, columns))

    def questions(self) -> Iterator[tuple[Entropy, np.ndarray, float | None]]:
        """What the entropy is asked: scales, and log of how many examples."""
        for log_octave, rows, _ in self.parts:
            yield self.entropy, self.log_ε[rows], log_octave

    def filled(self) -> np.ndarray:
        """The table."""
        log_H = np.full(self.is_open.shape, math.inf)
        for log_octave, rows, columns in self.parts:
            values = self.entropy.log_log(self.log_ε[rows], log_octave)
            log_H[np.ix_(rows, columns)] = values[:, None]
        return np.where(self.is_open, log_H, math.inf)


def _roots(log_H: np.ndarray, log_n: float | np.ndarray) -> np.ndarray:
    """√(H/n), scales × sample sizes."""
    with np.errstate(over="ignore"):
        return np.exp(0.5 * (log_H - log_n))


def dudley(log_H: np.ndarray, log_n: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """min(1, inf_a 4a + 12∫_a^{1/2} √(H/n)) in units of A."""
    d, root = np.exp(grid)[:, None], _roots(log_H, log_n)
    first = int(np.searchsorted(-d[:, 0], -0.5))  # scale of at most 1/2
    widths = np.minimum(d[first - 1 : -1], 0.5) - d[first:]
    root = root[first:]  # H at the lower end of each piece: from above
    pieces = np.multiply(widths, root, where=widths > 0, out=np.zeros_like(root))
    return np.minimum(1.0, (4 * d[first:] + 12 * np.cumsum(pieces, axis=0)).min(axis=0))


def inverse_square(law: InverseSquare, log_A: float, log_n: np.ndarray) -> np.ndarray:
    """min(1, inf_a 4a + 12∫_a^{1/2} √(H/n)) in units of A, for H = α + C/ε²: the infimum itself.

    Write s = √(α/n), r = √(C/n), ρ for where C/ε² ends and t ≥ ρ for where α ends (at most 1/2).
    The integrand is g(ε) = √(s² + r²/ε²) for ε < ρ, s for ρ ≤ ε < t and 0 beyond.

    *The minimiser.* g is non-increasing, so 4a + 12∫_a g, whose slope is 4 − 12g(a), is convex and
    least where g falls to 1/3: at a = r/√(1/9 − s²), but at ρ if g is above 1/3 until there and
    s < 1/3, and at t if s ≥ 1/3.

    *The integral.* With q(ε) = √(s²ε² + r²), G(ε) = q + r·log(ε/(r + q)) has the derivative
    s²ε/q·(1 − r/(r + q)) + r/ε = (q − r)/ε + r/ε = g(ε), as s²ε² = (q − r)(q + r). So for a < ρ

        ∫_a^t g = q(ρ) − q(a) + r(log(ρ/a) − log((r + q(ρ))/(r + q(a)))) + s(t − ρ).

    With α = 0 it is r·log(ρ/a), and the bound 12r(1 + log(ρ/3r)) for 3r ≤ ρ, 4ρ otherwise.

    *Rounding.* Logs of C, n and A are off by an ulp of themselves, and then r, s, ρ and t by that
    as a relative error. Every a gives a valid bound. Each summand above is at most the bound: for
    a < ρ, 3r ≤ a and 3s < 1, so that q(ρ) ≤ r + sρ ≤ a/3 + s(ρ − a) + a/3. A relative error of the
    bound is therefore at most a few dozen times that of the logs, which is added.

    >>> law = InverseSquare(0.0, 0.0, 0.0, 0.0)  # log N = 1/ε²
    >>> value = inverse_square(law, 0.0, np.log([1e6]))
    >>> value.round(7), round(0.012 * (1 + math.log(1000 / 6)), 7)
    (array([0.0733919]), 0.0733919)
    """
    t = min(0.5, math.exp(min(0.0, law.log_radius - log_A)))
    ρ = min(t, math.exp(min(0.0, law.log_reach - log_A)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        s = np.sqrt(law.α) * np.exp(-log_n / 2)
        r = np.exp((law.log_C - log_n) / 2 - log_A)
        a = np.where(s < 1 / 3, np.minimum(ρ, r / np.sqrt(1 / 9 - s * s)), t)
        q_a, q_ρ = np.hypot(s * a, r), np.hypot(s * ρ, r)
        steep = q_ρ - q_a + r * (np.log(ρ / a) - np.log((r + q_ρ) / (r + q_a)))
    value = 4 * a + 12 * (np.where(a < ρ, steep, 0.0) + np.where(a < t, s * (t - ρ), 0.0))
    logs = np.abs(log_n) + abs(log_A) + (abs(law.log_C) if law.log_C > -math.inf else 0.0)
    return np.minimum(1.0, value * (1 + (64 + logs) * 2.0**-46))


def tree(
    log_H: np.ndarray, log_n: np.ndarray, grid: np.ndarray, proper: bool, steps: int = STEPS
) -> np.ndarray:
    """min(1, min_J d_J + Σ_{j≤J} ℓ_j √(2H(d_j)/n)) in units of A, d_1, d_2, … halving each time.

    A grid of so many steps per halving has as many such ladders; each is valid, and the best of
    them is taken.
    """
    every, root = np.exp(grid)[:, None], math.sqrt(2) * _roots(log_H, log_n)
    best = np.ones(root.shape[1])
    for start in range(1, steps + 1):
        d = np.concatenate([every[:1], every[start::steps]])
        lengths = d[:-1] + (0 if proper else d[1:])
        sums = np.cumsum(lengths * root[start::steps], axis=0)
        best = np.minimum(best, (d[1:] + sums).min(axis=0))
    return best


def optimised(
    log_H: np.ndarray, log_n: np.ndarray, grid: np.ndarray, proper: bool | np.ndarray
) -> np.ndarray:
    """min(1, min over chains of d_J + Σ_j ℓ_j √(2H(d_j)/n)), in units of A.

    ``proper`` says whether centres are members: for all columns alike, or for each.
    """
    return _ended(_program(massart(log_H, log_n), grid, proper), grid)


def massart(log_H: np.ndarray, log_n: float | np.ndarray) -> np.ndarray:
    """What a link costs per unit of its length: √(2H/n)."""
    return math.sqrt(2) * _roots(log_H, log_n)


def _program(
    price: np.ndarray,
    grid: np.ndarray,
    proper: bool | np.ndarray,
    first: np.ndarray | float = math.inf,
) -> np.ndarray:
    """Cost of the best chain that ends at each scale: V_k = min_i V_i + ℓ_{ik} price_k, i < k.

    ``first``: what a link from the top to each scale costs, where that may be less.
    """
    d = np.exp(grid)[:, None]
    best, extra = np.zeros_like(price), np.where(proper, 0.0, d)
    first = np.broadcast_to(first, price.shape)
    reached = np.flatnonzero(np.isfinite(np.minimum(price, first)).any(axis=1))
    deepest = int(reached.max(initial=0))
    best[deepest + 1 :] = math.inf
    for k in range(1, deepest + 1):
        starts = _starts(k)
        best[k] = (best[starts] + (d[starts] + extra[k]) * price[k]).min(axis=0)
        best[k] = np.minimum(best[k], first[k])
    return best


def _ended(best: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The cheapest of these chains, with what is left below its last scale; at most 1."""
    return np.minimum(1.0, (best + np.exp(grid)[:, None]).min(axis=0))


def _starts(k: int) -> slice | list[int]:
    """The coarser scales from which a link may reach scale k."""
    return slice(0, k) if k <= _REACH else [0, *range(k - _REACH, k)]


def unclipped(
    price: np.ndarray, grid: np.ndarray, proper: bool, first: np.ndarray | float = math.inf
) -> float:
    """The cheapest chain for one n that has a link, in units of A: not cut at 1."""
    first = np.broadcast_to(first, price.shape)
    best = _program(price[:, None], grid, proper, first[:, None])[:, 0]
    return float((best + np.exp(grid))[1:].min())


def best_chain(
    price: np.ndarray, grid: np.ndarray, proper: bool, first: np.ndarray | float = math.inf
) -> list[tuple[float, float]]:
    """The optimal chain for one n: (log scale, cost of the link that reaches it), top down."""
    first = np.broadcast_to(first, price.shape)
    best = _program(price[:, None], grid, proper, first[:, None])[:, 0]
    d = np.exp(grid)
    k = int((best + d).argmin())
    links = []
    while k > 0:
        starts = np.arange(len(d))[_starts(k)]
        costs = best[starts] + (d[starts] + (0 if proper else d[k])) * price[k]
        parent = 0 if first[k] <= costs.min() else int(starts[costs.argmin()])
        links.append((float(grid[k]), float(best[k] - best[parent])))
        k = parent
    return links[::-1]


@dataclass(frozen=True)
class ChosenChain:
    """The chain behind a value of :func:`cheapest`: what is covered, for how many points, by what.

    A link is the log of the scale d_j that it reaches and its cost, both in units of A, top down.
    Without a link the bound is A itself.
    """

    entropy: Entropy
    proper: bool
    log_n: float
    links: tuple[tuple[float, float], ...]

    @property
    def value(self) -> float:
        """Σ cost + d_J, in units of A."""
        last = self.links[-1][0] if self.links else 0.0
        return sum(cost for _, cost in self.links) + math.exp(last)


def chosen(
    entropy: Entropy, log_A: float, log_n: float, price: LinkPrice, first: LinkPrice
) -> ChosenChain:
    """The chain that :func:`cheapest` takes for one n: by members or not, at n or the octave below.

    >>> from dudley.core.entropy import PowerLaw
    >>> law, log_n = PowerLaw(100.0), math.log(1e6)
    >>> chain = chosen(law, 0.0, log_n, massart, massart)
    >>> bool(np.isclose(chain.value, complexity(law, 0.0, np.array([log_n]))[0]))
    True
    """
    sizes, members = [log_n], entropy.proper()
    if entropy.uses_points:
        sizes.append(float(_octave_below(np.array(log_n))))
    chains = []
    for kind, proper in ((members, True), (entropy, False)):
        for size in sizes:
            grid, at = scales(size), np.array([size])
            log_H = entropies(kind, log_A, at, grid)
            table, top = price(log_H, at)[:, 0], first(log_H, at)[:, 0]
            links = tuple(best_chain(table, grid, proper, top))
            chains.append(ChosenChain(kind, proper, size, links))
    return min(chains, key=lambda chain: chain.value)
