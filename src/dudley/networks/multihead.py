"""Multi-head attention as it is used in practice: concatenated heads and an output matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dudley.calculus import arithmetic
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.node import Node
from dudley.core.arrays import arange_like, array_like, namespace, transpose
from dudley.core.constraint import Constraint, radius_of, size_of
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import ONE, ZERO, Magnitude, smallest, sqrt
from dudley.networks.head import causal_mask, expect_softmax
from dudley.networks.normalisers import NormalisedLinear, Normaliser, normaliser
from dudley.networks.pointwise import bias_norm, bias_use, expect_constraints, expect_width
from dudley.networks.registry import NODES


@dataclass(frozen=True, eq=False)
class _Slices:
    """Queries or keys as the scores see them."""

    total: Magnitude  # √ of the sum of squares over slices
    slice: Magnitude  # one slice
    slope: Magnitude  # of a slice in what the matrix gives
    unscaled: Magnitude  # total and slice before the gain
    unscaled_slice: Magnitude


@NODES.register("attention")
@dataclass(frozen=True)
class MultiHeadAttention(Node):
    """X ↦ [A_1 V_1 | … | A_H V_H] W_c + b_c with Q = XW_Q + b_Q, K = XW_K + b_K, V = XW_v + b_v.

    Head h takes its slice of width k (d/H unless given) of Q, K, V and A_h = A(Q_h K_hᵀ · scale),
    scale 1/√k; so W_Q ∈ R^{d×Hk} and W_c ∈ R^{Hk×d}.
    With ``groups`` < H, keys and values have that many slices, shared by H/groups heads each
    (grouped-query; 1: multi-query). ``rope`` rotates queries and keys by position, which keeps
    norms but forbids folding W_Q W_Kᵀ; ``turns`` are the angles of its pairs per position, for the
    first 2·len(turns) entries of a slice (10000^{−2j/k} for all k unless given), which move no
    bound. ``cap`` = c > 0 puts c·tanh(s/c) in the place of a score s: slope 1 at most, size c at
    most, but a shift of the scores now matters. ``qk_norm`` brings each query and key slice to RMS
    norm 1 (with ε = ``qk_eps`` and a gain bounded by ``qk_gain``) before the scores.

    On rows of norm ≤ R let r_q bound √Σ_h‖q_h‖², r_k each slice of a key, and ℓ_q, ℓ_k the slopes
    of what happens to queries and keys after their matrices. Scores of head h move by
    (‖Δq_h‖ r_k + ‖q_h‖ max‖Δk_h‖)·scale; squares summed over heads, √Σ_h‖ΔA_h‖₁² is at most
    c_q‖ΔQ‖ + c_k‖ΔK‖ with c_q = L_A·scale·r_k ℓ_q and c_k = L_A·scale·r_q ℓ_k (for normalised
    linear attention c_q = ℓ_q and c_k = √H ℓ_k), and

        ‖ΔY‖ ≤ B_c [ spread·m‖ΔV‖ + r_v (c_q‖ΔQ‖ + c_k‖ΔK‖) ] + ‖[A V]ΔW_c‖,

    where ‖ΔQ‖, ‖ΔK‖, ‖ΔV‖ are the largest row errors of the full-width maps. Values are spread
    over heads by √((H/groups)·min(groups, T)), or √(H/groups) where no token can hold all the
    mass; a value bias, the same for all tokens, by √(H/groups). If weights sum to one, r_v leaves
    that bias out; if they ignore a shift of the scores, the bias of the keys does nothing.
    """

    d: int
    H: int
    W_Q: Constraint
    W_K: Constraint
    W_v: Constraint
    W_c: Constraint
    b_Q: Constraint | None = None
    b_K: Constraint | None = None
    b_v: Constraint | None = None
    b_c: Constraint | None = None
    k: int | None = None
    groups: int | None = None
    attention: str | Normaliser = "softmax"
    scale: float | None = None
    causal: bool = False
    rope: bool = False
    turns: tuple[float, ...] | None = None
    cap: float | None = None
    qk_norm: bool = False
    qk_eps: float = 1e-6
    qk_gain: Constraint | None = None
    lemma = Lemma(
        "Multi-head attention",
        "Scores of all heads together move by one row error of Q or K; values by √H at most.",
        r"\|\Delta Y\|\le B_c\bigl[\sqrt H\,m\|\Delta V\|+r_vL_A\,s\,(r_k\ell_q\|\Delta Q\|"
        r"+r_q\ell_k\|\Delta K\|)\bigr]+\|[AV]\,\Delta W_c\|",
        "edelman2021, Lemma A.13, for concatenated heads",
    )

    def __post_init__(self) -> None:
        expect_constraints(self)
        for name in ("d", "H"):
            size_of(name, getattr(self, name))
        if self.k is None and self.d % self.H:
            raise InputError("H", f"a divisor of d = {self.d} (or a head width k)", self.H)
        size_of("k", self.slice)
        if self.scale is not None:
            radius_of("score.scale", self.scale)
        if self.H % size_of("groups", self.kv):
            raise InputError("groups", f"a divisor of H = {self.H}", self.groups)
        if self.rope and self.turns is None and self.slice % 2:
            raise InputError("rope", "an even head width", self.slice)
        if self.turns is not None and not (self.rope and 2 * len(self.turns) <= self.slice):
            expected = f"at most {self.slice // 2} angles, and rope"
            raise InputError("turns", expected, f"{len(self.turns)}, rope {self.rope}")
        if self.cap is not None and radius_of("cap of the scores", self.cap) == 0:
            raise InputError("cap of the scores", "a number > 0", self.cap)
        if radius_of("qk_eps", self.qk_eps) == 0:
            raise InputError("qk_eps", "a number > 0", self.qk_eps)
        normaliser(self.attention)

    @property
    def slice(self) -> int:
        """The width of one head."""
        return self.d // self.H if self.k is None else self.k

    @property
    def kv(self) -> int:
        return self.H if self.groups is None else self.groups

    @property
    def s(self) -> float:
        return 1 / math.sqrt(self.slice) if self.scale is None else self.scale

    def facts(self, signal: Signal) -> Facts:
        expect_width("attention", self.d, signal)
        p, A = self.parameters(self.d)[0], normaliser(self.attention)
        R, T = signal.radius, signal.rows
        wide, narrow = self.H * self.slice, self.kv * self.slice
        b_v = bias_norm(self.b_v, narrow)
        q = self._after("q", p, signal.reach(p["W_Q"]) + bias_norm(self.b_Q, wide), self.H)
        k = self._after("k", p, signal.reach(p["W_K"]) + bias_norm(self.b_K, narrow), self.kv)

        ρ = q.slice * k.slice * self.s
        ρ = ρ if self.cap is None else smallest(ρ, self.cap)
        H, m = sqrt(self.H), A.mass(ρ, T)
        if isinstance(A, NormalisedLinear):
            if self.cap is not None:  # its scores are φ(q)·φ(k), which this does not describe
                raise InputError("cap of the scores", "softmax or another range", "linear")
            on_q, on_k = ONE, H
        else:
            L_A = A.lipschitz(ρ, T) * self.s
            on_q, on_k = L_A * k.slice, L_A * q.total
        sharing = sqrt(self.H / self.kv)  # heads that look at one slice of the values
        spread = sharing if A.entrywise else sharing * sqrt(min(self.kv, T))
        values = signal.reach(p["W_v"])
        r_v = values if A.sums_to_one else values + b_v
        mixed = m * (spread * values + sharing * b_v)  # norm of the concatenated heads

        B_c = p["W_c"].norm()
        scores, to_V = B_c * r_v, B_c * spread * m
        to_Q, to_K = scores * on_q * q.slope, scores * on_k * k.slope
        plain = not self.rope and not self.qk_norm and self.cap is None
        moved = not (A.shift_invariant and plain)
        l1 = signal.l1
        uses = [
            Use("W_Q", p["W_Q"], to_Q * R, rows=T, l1=l1),
            Use("W_K", p["W_K"], to_K * R, rows=T, l1=l1),
            Use("W_v", p["W_v"], to_V * R, rows=T, l1=l1),
            Use("W_c", p["W_c"], mixed, rows=T),
            *bias_use("b_Q", self.b_Q, wide, to_Q),
            *bias_use("b_K", self.b_K, narrow, to_K if moved else ZERO),
            *bias_use("b_v", self.b_v, narrow, B_c * sharing * m),
            *bias_use("b_c", self.b_c, self.d, ONE),
        ]
        if self.qk_norm and self.qk_gain is not None:
            gains = (("g_q", scores * on_q * q.unscaled), ("g_k", scores * on_k * k.unscaled_slice))
            uses += [Use(n, p[n], weight, rows=self.slice, l1=1.0) for n, weight in gains]
        lipschitz = to_V * p["W_v"].norm() + to_Q * p["W_Q"].norm() + to_K * p["W_K"].norm()
        radius = B_c * mixed + bias_norm(self.b_c, self.d)
        return Facts(Signal(radius, T, self.d), lipschitz, tuple(uses))

    def _after(self, which: str, p: dict[str, Parameter], norm: Magnitude, slices: int) -> _Slices:
        """What becomes of queries or keys of that norm: normalised slice by slice, or nothing."""
        if not self.qk_norm:
            return _Slices(norm, norm, ONE, ZERO, ZERO)
        g = p[f"g_{which}"].norm("linf") if f"g_{which}" in p else ONE
        k, ε = self.slice, self.qk_eps
        each = sqrt(k) * norm / sqrt(norm**2 + k * ε)
        both = sqrt(k) * norm / sqrt(norm**2 / slices + k * ε)  # concave in the squared norms
        return _Slices(g * both, g * each, g / sqrt(ε), both, each)

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        d, wide, narrow = self.d, self.H * self.slice, self.kv * self.slice
        shapes = {
            "W_Q": ((d, wide), self.W_Q), "W_K": ((d, narrow), self.W_K),
            "W_v": ((d, narrow), self.W_v), "W_c": ((wide, d), self.W_c),
            "b_Q": ((1, wide), self.b_Q), "b_K": ((1, narrow), self.b_K),
            "b_v": ((1, narrow), self.b_v), "b_c": ((1, d), self.b_c),
        }  # fmt: skip
        if self.qk_norm:
            shapes |= {
                "g_q": ((self.slice, 1), self.qk_gain),
                "g_k": ((self.slice, 1), self.qk_gain),
            }
        return {n: Parameter(shape, c) for n, (shape, c) in shapes.items() if c is not None}, d

    def rounding(self, signal: Signal) -> float:
        """As for a head; the errors of queries and keys reach the scores through each other's size.

        Each of H heads averages values of size r_v, so the joined row is off by √H times one head.
        """
        expect_softmax(self, self.attention)
        for name in ("rope", "cap", "qk_norm"):
            if getattr(self, name):
                subject = "node with a proven rounding error"
                raise InputError(subject, f"no {name}", f"{name} attention")
        γ, p, d = arithmetic.γ, self.parameters(self.d)[0], self.d
        R, T = float(signal.radius), signal.rows
        size = {name: float(p[name].norm("fro")) for name in p}

        def linear(W: str, b: str) -> tuple[float, float]:
            largest = R * size[W] + size.get(b, 0.0)
            return largest, γ(d + 1) * largest

        (q, e_q), (k, e_k), (v, e_v) = map(linear, ("W_Q", "W_K", "W_v"), ("b_Q", "b_K", "b_v"))
        s = (q + e_q) * (k + e_k) * self.s
        off = γ(self.slice + 2) * s + (e_q * (k + e_k) + q * e_k) * self.s
        α = arithmetic.softmax_error(s + off, T) + off
        head = γ(T) * (1 + α) * (v + e_v) + α * (v + e_v) + e_v
        root, wide = math.sqrt(self.H), self.H * self.slice
        mixed = root * (v + head)
        return size["W_c"] * root * head + γ(wide + 1) * (
            size["W_c"] * mixed + size.get("b_c", 0.0)
        )

    def apply(self, params: Any, X: Any) -> Any:
        xp, A = namespace(X), normaliser(self.attention)
        q = self._split(X @ params["W_Q"] + params.get("b_Q", 0), self.H)
        k = self._split(X @ params["W_K"] + params.get("b_K", 0), self.kv)
        v = self._split(X @ params["W_v"] + params.get("b_v", 0), self.kv)
        if self.qk_norm:
            q, k = self._rms(q, params.get("g_q")), self._rms(k, params.get("g_k"))
        if self.rope:
            q, k = rotate(q, self.turns), rotate(k, self.turns)
        share = [h * self.kv // self.H for h in range(self.H)]
        k, v = k[..., share, :, :], v[..., share, :, :]  # (…, H, T, k)
        if isinstance(A, NormalisedLinear):
            q, k = A.features(q), A.features(k)
        scores = (q @ transpose(k)) * self.s
        if self.cap is not None:
            scores = self.cap * xp.tanh(scores / self.cap)
        mixed = A.apply(scores, causal_mask(scores) if self.causal else None) @ v
        joined = xp.concatenate([mixed[..., h, :, :] for h in range(self.H)], axis=-1)
        return joined @ params["W_c"] + params.get("b_c", 0)

    def _split(self, Y: Any, heads: int) -> Any:
        """(…, T, heads·k) → (…, heads, T, k)."""
        parts = Y.reshape(*Y.shape[:-1], heads, self.slice)
        return parts.swapaxes(-2, -3)

    def _rms(self, Y: Any, gain: Any) -> Any:
        xp = namespace(Y)
        rows = Y / xp.sqrt(xp.mean(Y * Y, axis=-1, keepdims=True) + self.qk_eps)
        return rows if gain is None else rows * transpose(gain)[..., None, :, :]  # (…, 1, 1, k)


def rotate(Y: Any, turns: tuple[float, ...] | None = None) -> Any:
    """Rotary positions: pair j of a row at position t is turned by t·turns[j].

    The pairs are (j, j + m) for m angles; 10000^{−2j/k} for the m = k/2 pairs unless given.
    """
    xp = namespace(Y)
    half = Y.shape[-1] // 2 if turns is None else len(turns)
    positions = arange_like(0, Y.shape[-2], Y)[:, None]
    usual = 10000.0 ** (-arange_like(0, half, Y) / max(half, 1))
    speeds = usual if turns is None else array_like(turns, Y)
    cos, sin = xp.cos(positions * speeds), xp.sin(positions * speeds)
    a, b, rest = Y[..., :half], Y[..., half : 2 * half], Y[..., 2 * half :]
    return xp.concatenate([a * cos - b * sin, a * sin + b * cos, rest], axis=-1)
