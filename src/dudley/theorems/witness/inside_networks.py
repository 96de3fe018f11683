"""What a class of Transformers contains: linear classes, and all sign patterns of its scores.

*Linear classes.* If all tokens of an input are equal, attention does nothing, and with σ(x) = L_σx
and all matrices but one fixed the network is linear in that one, as long as Π leaves its rows alone
(rows that it shortens keep their direction). Varied here: the readout w, behind W_v and W_c that
are multiples of the identity in a p×p corner; and the first W_v, whose first column is read out
through single entries behind it (or all of it, where outputs are rows).

*Sign patterns.* Input (a, b) has tokens ±α(f_b + v) and queries R·e_a, with orthonormal e, f, v and
α = R/√2 (R/2, if R bounds ℓ1 norms). For signs S ∈ {±1}^{p×q} and W_QK = c Σ S_ab e_af_bᵀ the
scores of a query are ±S_ab ρ with ρ = cRα, and 0 at queries and zero tokens. With m tokens of
either sign among T the average has v-coordinate S_ab ατ and no other that W_v can see, which is a
multiple of v e_1ᵀ (or of v·1ᵀ, where its rows are the output):

    τ = 2m sinh ρ/(2m cosh ρ + T − 2m).

Rows that are no queries score 0 everywhere and average to 0. A second block with W_QK = 0 averages
the rows, of which s are queries, and divides by T/s; after it all rows agree. So outputs are ± the
amplitude that is left, and log N(ε) ≥ pq·log 2 for any ε below it, on pq inputs and for any cover.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from dudley.classes.linear import LinearMap
from dudley.core.constraint import Ball, Constraint
from dudley.core.errors import InputError
from dudley.core.rounding import down, up
from dudley.theorems.witness.linear_maps import linear
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.patterns import pattern_norms

SAFE = 1 - 1e-9  # pays for the rounding of products, exponentials and roots
NOTHING = LowerBound(0.0, "one member")


def sizes(limit: float) -> list[int]:
    """Powers of two up to a limit, and the limit."""
    limit = int(min(limit, 2.0**52))
    return sorted({2**e for e in range(limit.bit_length()) if 2**e <= limit} | {limit})


def entry(constraint: Constraint) -> float:
    """How large a matrix with one entry may be: all its norms are that entry."""
    return min((float(ball.radius) for ball in constraint.balls), default=0.0)


def balls_alone(constraint: Constraint) -> Constraint:
    """The constraint, refused where it bounds the rank or the number of nonzeros."""
    if constraint.rank is not None or constraint.nonzeros is not None:
        raise InputError("constraint of a witness", "balls alone", f"{constraint}")
    return constraint


def one_row(constraint: Constraint, k: int) -> float:
    """How long the only row of a matrix may be, if its k entries are equal."""
    if constraint.nonzeros is not None and k > constraint.nonzeros:
        raise InputError("entries of a row", f"at most {constraint.nonzeros}", k)
    root = math.sqrt(k)
    norms = {"l11": root, "row1inf": root, "col21": root}
    norms |= {"linf": 1 / root, "col2inf": 1 / root, "col1inf": 1 / root}
    return min(float(b.radius) / float(up(norms.get(b.norm, 1.0))) for b in constraint.balls)


def diagonal(constraint: Constraint, p: int) -> float:
    """The largest multiple of the p×p identity in the balls."""
    norms = {"fro": math.sqrt(p), "nuc": p, "l11": p, "row21": p, "col21": p}
    balls = balls_alone(constraint).balls
    return min(float(b.radius) / float(up(norms.get(b.norm, 1.0))) for b in balls)


def within(constraint: Constraint, norm: str, radius: float) -> Constraint:
    """The same set and one more ball, if its radius is finite."""
    if radius == math.inf:
        return constraint
    return replace(constraint, balls=(*constraint.balls, Ball(norm, radius)))


@dataclass(frozen=True)
class NetworkClass:
    """L blocks X ↦ σ(softmax(XW_QKXᵀ)XW_v)W_c of the [CLS] row, with or without W_c and w.

    ``projected``: blocks are Π(σ(Π(softmax(·)XW_v))W_c). ``H`` heads are added. Tokens have norm
    ≤ ``radius`` (the ℓ1 norm, with ``ell1``), T in number (any number: infinity), on n examples
    (any number: None). σ is known by its Lipschitz constant, or it is ``relu``, and then L = 1.

    >>> from dudley.core.constraint import L2, L11
    >>> head = NetworkClass(9, 9, 2.0, L11(30.0), L11(1.0), w=L2(1.0), T=3)
    >>> for name, lower in head.each(0.5):
    ...     print(f"{name}: {lower}")
    readout: at least 1.38629 (volumes: the op ball in R^(1×1))
    values: at least 4.96981 (signs: 2 scattered in 9×1)
    scores: at least 11.0904 (all 4×4 sign patterns of scores)
    """

    d: int
    k: int
    radius: float
    W_QK: Constraint
    W_v: Constraint
    W_c: Constraint | None = None
    w: Constraint | None = None
    L: int = 1
    projected: bool = False
    slope: float = 1.0
    relu: bool = False
    H: int = 1
    T: float = math.inf
    n: float | None = None
    ell1: bool = False

    def each(self, ε: float) -> Iterator[tuple[str, LowerBound]]:
        """log N(ε) from below, by what is varied."""
        if self.w is not None:
            yield "readout", self.readout(ε)
        yield "values", self.values(ε)
        yield "scores", self.scores(ε)

    # -- amplitudes ------------------

    def behind(self, v: float, c: float, share: float = 1.0) -> list[tuple[float, bool]]:
        """Factors behind the first W_v, each with whether rows are shortened to 1 before it."""
        c, on = (1.0 if self.W_c is None else c), self.projected
        factors = [(self.slope * c * self.H, on)]
        for i in range(self.L - 1):
            factors += [(v * (share if i == 0 else 1.0), on), (self.slope * c, on)]
        return factors

    def amplitude(self, a: float, factors: list[tuple[float, bool]]) -> float:
        """What is left of a row of norm a, before the readout."""
        for factor, shortened in factors:
            a = (min(a, 1.0) if shortened else a) * factor
        return min(a, 1.0) if self.projected else a

    @cached_property
    def single(self) -> tuple[float, float]:
        """How long one row of W_v may be (one entry of it, if W_c or w follow), and W_c's entry."""
        last = self.W_c is None and self.w is None
        v = max(entry(self.W_v), one_row(self.W_v, self.k) if last else 0.0)
        return v, 1.0 if self.W_c is None else entry(self.W_c)

    # -- subclasses ------------------

    def readout(self, ε: float) -> LowerBound:
        """W_v and W_c are multiples of the identity in a corner, w is free."""
        assert self.w is not None
        best = NOTHING
        for p in sizes(min(self.d, self.k)):
            v = diagonal(self.W_v, p)
            c = 1.0 if self.W_c is None else diagonal(self.W_c, p)
            reach = self.amplitude(self.radius * v, self.behind(v, c)) * SAFE
            n = self.n if self.n is not None or not (self.relu or self.ell1) else p
            if reach > 0:
                best = self._better(best, LinearMap((p, 1), self.w), ε, reach, n)
        return best

    def values(self, ε: float) -> LowerBound:
        """Of the first W_v all (outputs are rows), or one column (two with opposite readouts)."""
        if self.w is None:
            reach = self.radius * self.slope * self.H * SAFE
            maps = LinearMap((self.d, self.k), self.W_v)
            return self._better(NOTHING, maps, ε, reach, self.n, l1=self.ell1)
        readout = entry(self.w)
        gain, limit = 1.0, math.inf  # up to |x·v| = limit nothing is shortened
        for factor, shortened in [*self.behind(*self.single), (readout, self.projected)]:
            if shortened:
                limit = min(limit, 1 / gain if gain > 0 else math.inf)
            gain *= factor
        column, limit = self.W_v, limit / self.radius * SAFE
        if self.relu:  # v⁺ and v⁻ in two columns, read out with opposite signs
            euclidean = all(ball.norm == "fro" for ball in self.w.balls)
            column, gain = _two_columns(column), gain / (math.sqrt(2) if euclidean else 2)
            gain = gain if self.k > 1 else 0.0
        reach, best = self.radius * gain * SAFE, NOTHING
        if reach > 0:
            at = self.d if self.n is None else self.n
            bounded = LinearMap((self.d, 1), within(column, "linf", limit))
            best = self._better(best, bounded, ε, reach, at, l1=self.ell1)
            if self.n is None and not self.relu and not self.ell1:
                everywhere = LinearMap((self.d, 1), within(column, "fro", limit))
                best = self._better(best, everywhere, ε, reach, None)
        return best

    def _better(
        self,
        best: LowerBound,
        maps: LinearMap,
        ε: float,
        reach: float,
        n: float | None,
        l1: bool = False,
    ) -> LowerBound:
        bound = linear(maps, ε, reach, None if n is None else int(n), l1=l1)
        return bound if bound.value > best.value else best

    def scores(self, ε: float) -> LowerBound:
        """All sign patterns that W_QK can hold and the network can tell apart."""
        best = NOTHING
        for p in sizes(self.d):
            for q in sizes(self.d - p - 1) if self.d > p + 1 else ():
                if p * q * math.log(2) <= best.value or (self.n is not None and p * q > self.n):
                    continue
                if max(self._apart(p, q)) > ε:
                    value = float(down(p * q * math.log(2)))
                    best = LowerBound(value, f"all {p}×{q} sign patterns of scores")
        return best

    def _apart(self, p: int, q: int) -> Iterator[float]:
        """Half the separation of two patterns, for some numbers of queries among the tokens."""
        norms = pattern_norms(p, q, q)
        c = min((float(b.radius) / norms[b.norm] for b in self.W_QK.balls), default=0.0)
        α = self.radius / (2 if self.ell1 else math.sqrt(2))
        ρ = min(c * self.radius * α, 300.0)
        v, c_entry = self.single
        readout = 1.0 if self.w is None else entry(self.w) / (2 if self.relu else 1)
        yield 0.0
        for T, s in self._tokens():
            m = (T - s) // 2
            τ = 2 * m * math.sinh(ρ) / (2 * m * math.cosh(ρ) + T - 2 * m)
            behind = self.behind(v, c_entry, s / T)
            yield self.amplitude(α * τ * v, behind) * readout * SAFE

    def _tokens(self) -> Iterator[tuple[int, int]]:
        """Numbers of tokens, and of queries among them."""
        for T in (3, 5, 101, 10_001) if math.isinf(self.T) else (int(self.T),):
            if T >= 3:
                yield from ((T, s) for s in {1, max(T // 3, 1), max(T // 2, 1)} if T - s >= 2)


def _two_columns(constraint: Constraint) -> Constraint:
    """Vectors v whose d×2 matrix (v⁺, v⁻) is in the balls.

    Its rows have one entry |v_i|, so norms by rows and l11 are those of v; op, fro and columns are
    at most ‖v‖₂, two column norms sum to at most √2‖v‖₂, the nuclear norm is at most that.
    """
    balls = []
    for ball in balls_alone(constraint).balls:
        halved = ball.norm in ("col21", "nuc")
        radius = float(down(ball.radius / math.sqrt(2))) if halved else ball.radius
        balls.append(Ball("fro", radius) if halved else ball)
    return Constraint(tuple(balls))
