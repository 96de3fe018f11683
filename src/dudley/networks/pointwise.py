"""Nodes that act on each token by itself: dense layers, activations, norm layers, pooling."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

from dudley.calculus import arithmetic
from dudley.calculus.augment import alarm_slope, capped
from dudley.calculus.compose import Chain
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.node import Node
from dudley.core.arrays import namespace, transpose
from dudley.core.constraint import Constraint, radius_of, size_of
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import ONE, ZERO, Magnitude, largest, smallest, sqrt
from dudley.networks.activations import Activation, activation
from dudley.networks.registry import NODES


def expect_width(node: str, d: int, signal: Signal) -> None:
    """Refuse a signal whose rows have another width."""
    if signal.width != d:
        raise InputError(f"input of {node}", f"rows of width {d}", f"width {signal.width}")


def expect_constraints(node: Node) -> None:
    """Refuse weights whose set is not a constraint: a plain number does not say which norm."""
    for slot in fields(node):  # pyright: ignore[reportArgumentType]
        value = getattr(node, slot.name)
        absent = value is None and slot.default is not MISSING
        if absent or isinstance(value, Constraint) or "Constraint" not in str(slot.type):
            continue
        radius = value if isinstance(value, int | float) else "radius"
        raise InputError(
            f"{slot.name} of {type(node).__name__}",
            "a norm ball",
            repr(value),
            f"write {slot.name}=du.L11({radius}), du.Spectral({radius}) or another norm",
        )


def bias_use(
    name: str, b: Constraint | None, width: int, weight: Magnitude, form: str = "linear"
) -> list[Use]:
    """A bias is a linear map of the constant input 1."""
    return [] if b is None else [Use(name, Parameter((1, width), b), weight, form, l1=1.0)]


def bias_norm(b: Constraint | None, width: int) -> Magnitude:
    """The ℓ2 norm of a bias, zero if there is none."""
    return ZERO if b is None else Parameter((1, width), b).norm("fro")


@NODES.register("dense")
@dataclass(frozen=True)
class Dense(Node):
    """x ↦ σ(xW + b), W ∈ R^{d×k}."""

    d: int
    W: Constraint
    k: int | None = None
    b: Constraint | None = None
    sigma: str | Activation = "identity"
    names: tuple[str, str] = ("W", "b")  # what the weights are called in reports and in ``params``
    lemma = Lemma(
        "Dense layer",
        "One Lipschitz map after one linear map.",
        r"\|\sigma(xW+b)-\sigma(x\hat W+\hat b)\|\le L_\sigma(\|x\Delta W\|+\|\Delta b\|)",
        "definition",
    )

    def __post_init__(self) -> None:
        expect_constraints(self)
        size_of("d", self.d)
        size_of("k", self.out)
        activation(self.sigma)

    @property
    def out(self) -> int:
        return self.d if self.k is None else self.k

    def facts(self, signal: Signal) -> Facts:
        expect_width("dense layer", self.d, signal)
        σ, W, R = activation(self.sigma), Parameter((self.d, self.out), self.W), signal.radius
        L_σ = Magnitude.of(σ.lipschitz)
        radius = σ.radius(signal.reach(W) + bias_norm(self.b, self.out), self.out)
        uses = [Use(self.names[0], W, L_σ * R, rows=signal.rows, l1=signal.l1)]
        uses += bias_use(self.names[1], self.b, self.out, L_σ)
        out = replace(signal, radius=radius, width=self.out, l1=None)
        return Facts(out, L_σ * W.norm(), tuple(uses))

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        blocks = {self.names[0]: Parameter((self.d, self.out), self.W)}
        blocks |= {} if self.b is None else {self.names[1]: Parameter((1, self.out), self.b)}
        return blocks, self.out

    def rounding(self, signal: Signal) -> float:
        weight, bias = self.names
        size = {name: float(p.norm("fro")) for name, p in self.parameters(self.d)[0].items()}
        largest = float(signal.radius) * size[weight] + size.get(bias, 0.0)
        e = arithmetic.γ(self.d + 1) * largest
        return activation(self.sigma).rounding(e, largest, self.out)[0]

    def apply(self, params: Any, X: Any) -> Any:
        weight, bias = self.names
        return activation(self.sigma).apply(X @ params[weight] + params.get(bias, 0))


@NODES.register("mlp")
def MLP(
    d: int,
    k: int,
    W_1: Constraint,
    W_2: Constraint,
    sigma: str | Activation = "relu",
    b_1: Constraint | None = None,
    b_2: Constraint | None = None,
) -> Chain:
    """Position-wise x ↦ σ(xW_1 + b_1)W_2 + b_2, W_1 ∈ R^{d×k}, W_2 ∈ R^{k×d}."""
    up = Dense(d, W_1, k, b_1, sigma, ("W_1", "b_1"))
    return Chain((up, Dense(k, W_2, d, b_2, names=("W_2", "b_2"))))


@NODES.register("swiglu")
@dataclass(frozen=True)
class SwiGLU(Node):
    """x ↦ (σ(xW_1) ⊙ xW_3) W_2 (Shazeer 2020), W_1, W_3 ∈ R^{d×k}, W_2 ∈ R^{k×d}; σ(0) = 0.

    σ is swish unless given; with gelu it is known as GeGLU. |σ(x)| ≤ g|x| bounds the first factor.
    """

    d: int
    k: int
    W_1: Constraint
    W_3: Constraint
    W_2: Constraint
    sigma: str | Activation = "swish"
    lemma = Lemma(
        "Gated linear unit",
        "A product of two maps of radius r₁, r₃: each error is multiplied by the other's radius.",
        r"\|u\odot v-\hat u\odot\hat v\|\le r_3\|\Delta u\|+r_1\|\Delta v\|",
        "‖a⊙b‖₂ ≤ ‖a‖₂‖b‖_∞, |σ(x)| ≤ g|x|; g = 1 for swish and gelu",
    )

    def __post_init__(self) -> None:
        expect_constraints(self)
        size_of("d", self.d)
        size_of("k", self.k)
        if activation(self.sigma).at0 != 0:
            raise InputError("sigma of swiglu", "an activation with σ(0) = 0", self.sigma)

    def facts(self, signal: Signal) -> Facts:
        expect_width("swiglu", self.d, signal)
        σ = activation(self.sigma)
        p, R, L_σ = self.parameters(self.d)[0], signal.radius, σ.lipschitz
        r1, r3 = σ.radius(signal.reach(p["W_1"]), self.k), signal.reach(p["W_3"])
        B_2 = p["W_2"].norm()
        uses = (
            Use("W_1", p["W_1"], B_2 * r3 * L_σ * R, rows=signal.rows, l1=signal.l1),
            Use("W_3", p["W_3"], B_2 * r1 * R, rows=signal.rows, l1=signal.l1),
            Use("W_2", p["W_2"], r1 * r3, rows=signal.rows),
        )
        lipschitz = B_2 * (p["W_1"].norm() * L_σ * r3 + p["W_3"].norm() * r1)
        return Facts(replace(signal, radius=r1 * r3 * B_2, l1=None), lipschitz, uses)

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return {
            "W_1": Parameter((self.d, self.k), self.W_1),
            "W_3": Parameter((self.d, self.k), self.W_3),
            "W_2": Parameter((self.k, self.d), self.W_2),
        }, self.d

    def apply(self, params: Any, X: Any) -> Any:
        gate = activation(self.sigma).apply(X @ params["W_1"])
        return (gate * (X @ params["W_3"])) @ params["W_2"]


@NODES.register("activate")
@dataclass(frozen=True)
class Activate(Node):
    """x ↦ σ(x)."""

    sigma: str | Activation
    lemma = Lemma(
        "Activation", "σ is Lipschitz.", r"\|\sigma(x)-\sigma(y)\|\le L_\sigma\|x-y\|", ""
    )

    def __post_init__(self) -> None:
        activation(self.sigma)

    def facts(self, signal: Signal) -> Facts:
        σ = activation(self.sigma)
        radius = σ.radius(signal.radius, signal.width)
        return Facts(replace(signal, radius=radius, l1=None), Magnitude.of(σ.lipschitz))

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return {}, width

    def rounding(self, signal: Signal) -> float:
        return activation(self.sigma).rounding(0.0, float(signal.radius), signal.width)[0]

    def apply(self, params: Any, X: Any) -> Any:
        return activation(self.sigma).apply(X)


@NODES.register("project-rows")
@dataclass(frozen=True)
class ProjectRows(Node):
    """Π_norm: each row x ↦ x/max(1, ‖x‖₂), a contraction onto the unit ball."""

    lemma = Lemma(
        "Row projection",
        "Projection onto the unit ball does not expand distances.",
        r"\|\Pi(x)-\Pi(y)\|\le\|x-y\|",
        "edelman2021, Lemma A.9",
    )

    def facts(self, signal: Signal) -> Facts:
        return Facts(replace(signal, radius=smallest(signal.radius, 1.0), l1=None), ONE)

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return {}, width

    def rounding(self, signal: Signal) -> float:
        return 2 * arithmetic.γ(signal.width + 6) * min(float(signal.radius), 1.0)

    def apply(self, params: Any, X: Any) -> Any:
        xp = namespace(X)
        squares = xp.sum(X * X, axis=-1, keepdims=True)
        # √ after the choice: a row of zeros has a gradient
        return X / xp.sqrt(xp.where(squares > 1, squares, xp.ones_like(squares)))


@NODES.register("layer-norm")
@dataclass(frozen=True)
class LayerNorm(Node):
    """x ↦ g ⊙ c/√(‖c‖²/d + ε) + b, c = x − mean(x); with ``centered=False`` RMSNorm, c = x.

    With r = ‖c‖ ≤ R the normalised row has norm √d·r/√(r² + dε) ≤ √d, and its Jacobian has norm
    at most 1/√ε. So the radius is √d·‖g‖_∞ + ‖b‖₂ or less, and the Lipschitz constant ‖g‖_∞/√ε.

    ``least_std`` = a > 0 declares that rows have standard deviation (``centered=False``: root mean
    square) a or more, but for those of alarmed examples, which count in full in the loss. Rows are
    divided by √(max(σ, s)² + ε) with s = ¾a; the norm is then √d·r/√(max(r², ds²) + dε) or less,
    and the slope 1/√(s² + ε) (proof in ``dudley.calculus.augment``).

    >>> steep, flat = LayerNorm(64, 1e-12), LayerNorm(64, 1e-12, least_std=0.5)
    >>> rows = Signal(Magnitude.of(8.0), 1.0, 64)
    >>> [round(float(ln.facts(rows).lipschitz), 3) for ln in (steep, flat)]
    [1000000.0, 2.667]
    """

    d: int
    eps: float = 1e-5
    gain: Constraint | None = None
    bias: Constraint | None = None
    centered: bool = True
    least_std: float = field(default=0.0, metadata={"round": "down"})
    lemma = Lemma(
        "Layer normalisation",
        "Rows are brought to norm at most √d; the slope at the centre is 1/√ε.",
        r"R\mapsto\|g\|_\infty\sqrt d\,\tfrac{R}{\sqrt{R^2+d\epsilon}}+\|b\|_2,"
        r"\qquad L=\|g\|_\infty/\sqrt\epsilon",
        "derivative of c/√(‖c‖²/d+ε)",
    )

    def __post_init__(self) -> None:
        expect_constraints(self)
        size_of("d", self.d)
        radius_of("ln.least_std", self.least_std)
        if radius_of("ln.eps", self.eps) == 0:
            raise InputError("ln.eps", "a number > 0 (at 0 the map is not Lipschitz)", self.eps)

    @property
    def slope(self) -> Magnitude:
        """1/√(s² + ε)."""
        return 1 / sqrt(Magnitude.of(capped(self.least_std)) ** 2 + self.eps)

    def facts(self, signal: Signal) -> Facts:
        expect_width("layer norm", self.d, signal)
        R, d, ε = signal.radius, self.d, self.eps
        divisor = sqrt(largest(R, sqrt(d) * capped(self.least_std)) ** 2 + d * ε)
        rows = sqrt(d) * R / divisor
        g = ONE if self.gain is None else Parameter((d, 1), self.gain).norm("linf")
        uses = bias_use("bias", self.bias, d, ONE)
        if self.gain is not None:
            uses.append(Use("gain", Parameter((d, 1), self.gain), rows, rows=d, l1=1.0))
        out = replace(signal, radius=g * rows + bias_norm(self.bias, d), l1=None)
        return Facts(out, g * self.slope, tuple(uses), alarm_slope(self.least_std, d))

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        blocks = {} if self.gain is None else {"gain": Parameter((self.d, 1), self.gain)}
        blocks |= {} if self.bias is None else {"bias": Parameter((1, self.d), self.bias)}
        return blocks, width

    def rounding(self, signal: Signal) -> float:
        """c = x − mean is off by 2γ_{d+4}R; what follows has slope 1/√(s² + ε), its γ_{d+6}√d.

        The mean is off by γ_d R/√d, the same for d entries; mean square, ε, root and quotient by
        relative errors γ_{d+1}, u, u, u; gain and bias by u each. The larger of the mean square and
        s² is off by the larger relative error of the two.
        """
        d, R = self.d, float(signal.radius)
        p = self.parameters(d)[0]
        g = float(p["gain"].norm("linf")) if "gain" in p else 1.0
        b = float(p["bias"].norm("fro")) if "bias" in p else 0.0
        off = 2 * arithmetic.γ(d + 4) * R if self.centered else 0.0
        rows = 2 * arithmetic.γ(d + 8) * (g * math.sqrt(d) + b)
        return g * off / math.sqrt(capped(self.least_std) ** 2 + self.eps) + rows

    def apply(self, params: Any, X: Any) -> Any:
        xp = namespace(X)
        c = X - xp.mean(X, axis=-1, keepdims=True) if self.centered else X
        square, least = xp.mean(c * c, axis=-1, keepdims=True), capped(self.least_std) ** 2
        if least:
            square = xp.where(square > least, square, least + 0 * square)
        rows = c / xp.sqrt(square + self.eps)
        gain = transpose(params["gain"]) if "gain" in params else 1
        return rows * gain + params.get("bias", 0)


@NODES.register("rms-norm")
def RMSNorm(
    d: int, eps: float = 1e-5, gain: Constraint | None = None, least_rms: float = 0.0
) -> LayerNorm:
    """x ↦ g ⊙ x/√(mean(x²) + ε)."""
    return LayerNorm(d, eps, gain, None, centered=False, least_std=least_rms)


@NODES.register("pool")
@dataclass(frozen=True)
class Pool(Node):
    """One row from all: the last (``cls``), the first, or the mean."""

    how: str = "cls"
    lemma = Lemma("Pooling", "A row, or a mean of rows, is within the rows' radius.", r"L=1", "")

    def __post_init__(self) -> None:
        if self.how not in ("cls", "first", "mean"):
            raise InputError("pool", "'cls', 'first' or 'mean'", self.how)

    def facts(self, signal: Signal) -> Facts:
        return Facts(replace(signal, rows=1.0, l1=signal.l1), ONE)

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return {}, width

    def rounding(self, signal: Signal) -> float:
        return 0.0 if self.how == "cls" else arithmetic.γ(signal.rows + 1) * float(signal.radius)

    def apply(self, params: Any, X: Any) -> Any:
        if self.how != "mean":
            return X[..., -1:, :] if self.how == "cls" else X[..., :1, :]
        return namespace(X).mean(X, axis=-2, keepdims=True)
