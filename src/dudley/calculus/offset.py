"""Offset: fast rates, with the conditions without which they are false.

The offset complexity of G is R_off(G, β) = E sup_g [(1/n) Σ τ_i g(z_i) − (β/n) Σ g(z_i)²].
Excess-risk bounds in expectation need one of two conditions, and each is an assumption on the
result: *noise-free* (the target minimises the loss at every example) or *Bernstein*
(E g² ≤ V·E g for g = ℓ(f) − ℓ(f₀), f₀ best in the class). With neither, only the slow rate holds
(CATALOGUE C12: an absolute loss with label noise). Entropies are log covering numbers in the
sup metric of predictors, by covers that do not depend on the sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense, Term
from dudley.core.errors import InputError
from dudley.core.rounding import down


def _positive(**values: float) -> None:
    for what, value in values.items():
        if not 0 < value < math.inf:
            raise InputError(what, "a finite number > 0", value)


def finite(log_N: ArrayLike, n: float, β: float) -> np.ndarray:
    """E max over N functions of the offset process: at most log N/(2nβ).

    Hoeffding: E exp(s(τg − βg²)) ≤ exp(s²g²/2 − sβg²) ≤ 1 at s = 2β.
    """
    _positive(n=n, beta=β)
    return np.asarray(log_N) / (2 * n * β)


def one_scale(log_N: Callable, n: float, β: float, M: float, κ: float) -> float:
    """R_off ≤ min_δ log N(δ)/(2nβ) + (1+2βM)κδ for |g| ≤ M, κ-Lipschitz in the predictor."""
    top = max(M / κ, 1e-300)
    δ = top * np.exp(-np.arange(0, 60, 0.05))
    values = finite(_entropies(log_N, δ), n, β) + (1 + 2 * β * M) * κ * δ
    return float(min(values.min(), ceiling(β, M)))


def chained(log_N: Callable, n: float, β: float, M: float) -> float:
    """R_off ≤ min_γ [ log N(γ)/(nβ) + βγ² + min_a 4a + 12∫_a^{γ/2} √(log N/n) ].

    ``log_N`` covers G itself. From g = g_γ + (g − g_γ): −βg² ≤ −(β/2)g_γ² + β(g − g_γ)², the
    γ-cover's maximum costs log N(γ)/(nβ), and the differences are chained from the γ-cover down.
    """
    _positive(n=n, beta=β, M=M)
    ε = M * 2.0 ** (-np.arange(0, 200) / 4)
    H = _entropies(log_N, ε)
    known = np.isfinite(H)  # non-increasing in ε: only a tail is cut
    ε, H = ε[known], H[known]
    root = np.sqrt(H / n)
    pieces = (ε[:-1] - ε[1:]) * root[1:]
    tail = np.concatenate([[0.0], np.cumsum(pieces)])
    best = math.inf
    for k in range(len(ε) - 4):
        low = k + 4  # ε[k + 4] = γ/2
        integral = 4 * ε[low:] + 12 * (tail[low:] - tail[low])
        best = min(best, H[k] / (n * β) + β * ε[k] ** 2 + integral.min())
    return float(min(best, ceiling(β, M)))


def ceiling(β: float, M: float) -> float:
    """No member exceeds max_{t ≤ M} (t − βt²)."""
    t = min(M, 1 / (2 * β))
    return t - β * t * t


def linear_unconstrained(rank: int, n: float, β: float) -> float:
    """The offset complexity of all linear functions on a design of that rank: rank/(4βn), exact."""
    _positive(n=n, beta=β)
    if rank < 0:
        raise InputError("rank", "a number ≥ 0", rank)
    return rank / (4 * β * n)


@dataclass(frozen=True)
class NoiseFree:
    """The target minimises the loss at (almost) every example, so 0 ≤ g ≤ M.

    For a κ-Lipschitz loss and an ERM f̂,

        E exc(f̂) ≤ min_δ  c·M log N(δ)/n + 4κδ + 3 inf_F exc,   c = 1/s, s = 1 − e^{−3s}.

    Proof. For 0 ≤ g ≤ M with mean Mp, convexity gives E exp(s(Pg − 3g)/M) ≤
    e^{sp}(1 − p + pe^{−3s}) ≤ exp(p(s + e^{−3s} − 1)) ≤ 1, so E max over the cover of
    Pg − 3P_n g is at most M log N/(sn). Moving f̂ to its centre costs κδ + 3κδ, and
    P_n g(f̂) ≤ P_n g(f) for every f in F.  (c ≈ 1.0633.)
    """

    M: float

    def __post_init__(self) -> None:
        _positive(M=self.M)

    @property
    def rate(self) -> float:
        s = 1.0
        for _ in range(60):
            s = 1 - math.exp(-3 * s)
        return self.M / down(s)

    slack, approximation = 4.0, 3.0

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return (
            Assumption(
                "noise-free",
                "the target minimises the loss at almost every example",
                Status.DECLARED,
            ),
            Assumption("loss.range", f"0 ≤ g ≤ {self.M:g}", Status.DECLARED),
        )


@dataclass(frozen=True)
class Bernstein:
    """E g² ≤ V·E g for all f, with f₀ in the class, and |g| ≤ M; covers by members of the class.

        E exc(f̂) ≤ min_δ  log N(δ)/(tn) + 3κδ,   t the root of 4tV φ(2tM) = 1,

    φ(y) = (e^y − 1 − y)/y².  Proof. e^{−z} ≤ 1 − z + z²φ(2tM) for |z| ≤ 2tM, so
    E exp(t(Pg − 2g)) ≤ exp(t·Pg·(4tVφ(2tM) − 1)) ≤ 1 and E max over the cover of Pg − 2P_n g is
    at most log N/(tn); moving f̂ to its centre costs κδ + 2κδ, and P_n g(f̂) ≤ 0.
    At V = M this is 2.62·M log N/n.
    """

    V: float
    M: float

    def __post_init__(self) -> None:
        _positive(V=self.V, M=self.M)

    @property
    def rate(self) -> float:
        # φ ≥ 1/2, so t ≤ 1/(2V); any smaller t is valid, and past 2tM = 700 φ leaves the floats
        low, high = 0.0, min(0.5 / self.V, 350 / self.M)
        for _ in range(200):
            t = (low + high) / 2
            low, high = (t, high) if 4 * t * self.V * _φ(2 * t * self.M) <= 1 else (low, t)
        return 1 / low

    slack, approximation = 3.0, 0.0

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return (
            Assumption("bernstein", f"E g² ≤ {self.V:g}·E g for every f", Status.DECLARED),
            Assumption("target", "the best predictor is in the class", Status.DECLARED),
            Assumption("cover", "by members of the class", Status.DECLARED),
            Assumption("loss.range", f"|g| ≤ {self.M:g}", Status.DECLARED),
        )


def _φ(y: float) -> float:
    return 0.5 + y / 6 + y * y / 24 if y < 1e-4 else (math.expm1(y) - y) / (y * y)


COMMON = (
    Assumption("sample", "the examples are independent draws", Status.UNCHECKABLE),
    Assumption("minimiser", "the predictor minimises the training loss exactly", Status.DECLARED),
    Assumption("loss.lipschitz", "the loss is kappa-Lipschitz in the predictor", Status.DECLARED),
    Assumption("cover", "sup metric, sample-free, values clipped to M", Status.DECLARED),
)


def excess(
    log_N: Callable,
    n: float,
    κ: float,
    condition: NoiseFree | Bernstein,
    approximation: float = 0.0,
) -> Bound:
    """The excess risk of an ERM in expectation, under a stated condition.

    ``log_N(ε)`` is the sup-metric entropy of the predictors by sample-free covers (proper ones
    for :class:`Bernstein`); ``approximation`` bounds inf_F exc.

    >>> float(excess(lambda ε: 0.0 * ε + math.log(8), 1000, 1.0, NoiseFree(1.0)).value) < 0.003
    True
    """
    if not isinstance(condition, NoiseFree | Bernstein):
        raise InputError(
            "condition", "NoiseFree or Bernstein", condition, "without one no fast rate is true"
        )
    if isinstance(condition, Bernstein) and approximation:
        raise InputError("approximation", "0 under Bernstein (f₀ is in the class)", approximation)
    _positive(n=n, kappa=κ)
    if not 0 <= approximation < math.inf:
        raise InputError("approximation", "a finite number ≥ 0", approximation)
    δ = (condition.M / κ) * np.exp(-np.arange(0, 60, 0.05))
    values = condition.rate * _entropies(log_N, δ) / n + condition.slack * κ * δ
    k = int(values.argmin())
    terms = (
        Term("complexity", float(values[k] - condition.slack * κ * δ[k])),
        Term("resolution", float(condition.slack * κ * δ[k])),
        Term("approximation", condition.approximation * approximation),
    )
    total = sum(term.value for term in terms)
    return Bound.of(
        min(total, condition.M),
        quantity="excess risk of an empirical risk minimiser",
        sense=Sense.EXPECTATION,
        terms=terms,
        assumptions=(*COMMON, *condition.assumptions),
        trivial=condition.M,
    )


def _entropies(log_N: Callable, δ: np.ndarray) -> np.ndarray:
    return np.asarray(log_N(δ), dtype=float) + np.zeros_like(δ)
