"""Whole networks from below: inputs that the last layer shatters, through all that is before it.

Take one member of the class for everything but the readout, and k orthonormal rows v_i that it
sends to g·v_i each, one factor for all. The readout u = Σ s_iv_i/g has the outputs s_i on them, so
all outputs {−t, t}^k occur for t√k/g ≤ ‖·‖₂ bound, or tk/g ≤ ‖·‖₁ bound where v_i are unit vectors.
Of logits one column is u and the others are 0. The loss at ±t then takes two values, Δ apart, in
every pattern, so on m = ⌊n/k⌋ copies of each input the complexity of the loss class is at least

    Δ/2 · E|S_m|/m · km/n.

Two kinds of members, with scores 0, so that rows do not see each other (all rows of an input are
equal). *At rest*, in networks with layer normalisation: the weights of the blocks are 0, so that
residuals pass; gains are ones, biases and positions 0, other matrices multiples of the identity.
Every part then sends a row of mean 0 to a multiple of it that depends on its length alone, and the
v_i are any rows of mean 0: d − 1 of them are orthonormal. *Straight*, in the others: each matrix is
a multiple of the identity on k coordinates, which are treated alike, and the v_i are k unit
vectors. In both cases one row is run, and g is read off.

Where the logits are the transposed embedding, tokens 1, …, k are embedded as a·v_i, token 0 (the
answer) as u and all others as 0: a token's own logit a·g joins the sum of the exponentials.

This tests the readout, and what the other layers leave of an input. What a bound pays for the
weights of the layers before is not tested: no attack on a deep stack does so yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.audit.instances import mean_sign
from dudley.calculus.compose import Chain
from dudley.calculus.facts import Parameter
from dudley.calculus.nest import entries, filled, name_of
from dudley.calculus.node import Node
from dudley.core.constraint import Constraint
from dudley.core.errors import InputError
from dudley.core.norms import norm_named
from dudley.networks.capacity import Capacity, capacity
from dudley.networks.files import EXAMPLES, Description, count_parameters, load
from dudley.networks.losses import CrossEntropy, Margin
from dudley.networks.outputs import Logits, Readout

IDLE = ("W_Q", "W_K", "W_QK", "P", "bias", "b")  # weights that are 0
BLOCKS = ("W_v", "W_c", "W_1", "W_2")  # weights that are 0 at rest
COSTS = {"fro": 0.5, "op": 0.5, "col2inf": 0.5, "l11": 1.0}  # ‖u‖ ≤ t·k^cost/g, as one column
EMBEDDED = (0.03, 0.1, 0.3, 1.0)  # lengths of embedded tokens that are tried
INSIDE = 1 - 1e-6  # for rounding, in all of it
δ = 0.05


@dataclass(frozen=True)
class AttackedNetwork:
    """A network where its gap is half of the trivial bound: the complexity of its losses there."""

    network: str
    weights: int
    n: int
    lower: float
    claimed: float
    method: str

    @property
    def factor(self) -> float:
        return self.claimed / self.lower

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> AttackedNetwork:
        return cls(**fields)


@dataclass(frozen=True)
class Shattering:
    """k inputs on which two values of the loss, ``apart``, occur in every pattern."""

    k: int
    apart: float

    def complexity(self, n: int) -> float:
        """What the Rademacher complexity on n examples is at least.

        >>> Shattering(2, 1.0).complexity(4), Shattering(4, 1.0).complexity(4)
        (0.25, 0.5)
        """
        m = n // self.k
        return self.apart / 2 * mean_sign(m) * (self.k * m / n) if m else 0.0


def attack_shipped() -> list[AttackedNetwork]:
    """Each shipped network, as it is shipped."""
    names = sorted(path.stem for path in EXAMPLES.glob("*.toml"))
    return [attack_network(name, load(name)) for name in names]


def attack_network(name: str, network: Description) -> AttackedNetwork:
    """The best shattering, at the n where the bound is half of the trivial one."""
    cap = capacity(network.network, network.inputs, loss=network.loss)
    n = math.ceil(10 ** cap.log10_needed_n(network.loss.range / 2, δ))
    best = max(shatterings(cap), key=lambda shattering: shattering.complexity(n))
    return AttackedNetwork(
        network=name,
        weights=count_parameters(network.network, cap.signal.width),
        n=n,
        lower=best.complexity(n),
        claimed=cap.gap(δ, n).terms[0].value / 2,
        method=f"the readout shatters {best.k} input{'s' * (best.k > 1)}",
    )


def shatterings(cap: Capacity) -> Iterator[Shattering]:
    """Every size and length that is tried."""
    stages = [part.node for part in cap.network.stages()]
    last, width, lengths = stages[-1], cap.signal.width, (float(cap.inputs.row2inf) * INSIDE,)
    if not isinstance(last, Readout | Logits):
        raise InputError("network", "one that ends in a readout or in logits", type(last).__name__)
    if isinstance(last, Logits) and last.cap is not None:
        raise InputError("network", "logits without a cap", f"a cap of {last.cap:g}")
    readout, body = (last.w if isinstance(last, Readout) else last.W), stages[:-1]
    if readout.tie is not None:  # to the embedding, the first of them
        body, width, lengths = stages[1:-1], stages[0].parameters(width)[1], EMBEDDED
    for k in sizes(width):
        for length in lengths:
            g = factor_of(body, width, length, k)
            own_logit = length * g if readout.tie is not None else -math.inf
            yield Shattering(k, apart(cap, level(readout, g, k), own_logit) * INSIDE)


def sizes(width: int) -> list[int]:
    """1, 2, 4, … and as many orthonormal rows as have mean 0."""
    return sorted({*(2**j for j in range(width.bit_length()) if 2**j < width), max(1, width - 1)})


def factor_of(body: list[Node], width: int, length: float, k: int) -> float:
    """g with which the member multiplies the directions of inputs of this length.

    >>> from dudley.core.constraint import Frobenius
    >>> from dudley.networks.pointwise import Dense
    >>> round(factor_of([Dense(4, Frobenius(2.0))], 4, 3.0, 4), 4)  # 3·2/√4
    3.0
    """
    if not body:
        return length
    chain = Chain(tuple(body))
    nest, _ = chain.parameters(width)
    parameters = [(path, parameter) for path, parameter in entries(nest)]
    rests = any(path[-1] == "gain" for path, _ in parameters)
    v = np.zeros((1, 1, width))
    v[..., : 2 if rests else 1] = [math.sqrt(0.5), -math.sqrt(0.5)] if rests else [1.0]
    arrays = {name_of(path): member(str(path[-1]), p, rests, k) for path, p in parameters}
    out = np.asarray(chain.apply(filled(nest, arrays), length * v))
    g = float((out * v).sum())
    if not np.abs(out - g * v).max() <= 1e-9 * abs(g):
        raise InputError("network", "layers that keep the directions of such inputs", "others")
    return g


def member(name: str, parameter: Parameter, rests: bool, k: int) -> np.ndarray:
    """One matrix of the member: 0, ones, or a multiple of the identity that lies in its balls."""
    if name in IDLE or (rests and name in BLOCKS):
        return np.broadcast_to(0.0, parameter.shape)
    if name == "gain":
        W, most = np.ones(parameter.shape), 1.0
    else:
        W, most = np.eye(*parameter.shape), math.inf
        W *= rests | (np.arange(parameter.shape[1]) < k)
    for ball in parameter.constraint.balls:
        most = min(most, float(ball.radius) / float(norm_named(ball.norm).value(W)))
    return W * (most * INSIDE)


def level(readout: Constraint, g: float, k: int) -> float:
    """The largest t for which readouts in their balls give all of {−t, t}^k."""
    unknown = [ball.norm for ball in readout.balls if ball.norm not in COSTS]
    if unknown or not readout.balls:
        raise InputError("readout", f"bounds on {', '.join(COSTS)}", unknown or "none")
    return INSIDE * min(float(b.radius) * g / k ** COSTS[b.norm] for b in readout.balls)


def apart(cap: Capacity, t: float, own_logit: float) -> float:
    """How far apart the losses at the outputs t and −t are, the answer being the class of u."""
    loss = cap.loss
    if isinstance(loss, Margin):
        return min(1.0, t / float(loss.margin))  # 1 at −t, and the ramp at t
    if isinstance(loss, CrossEntropy):
        others = math.log(cap.facts.out.width - 2 + math.exp(max(own_logit, 0.0)))
        losses = [min(loss.range, float(np.logaddexp(others, z)) - z) for z in (-t, t)]
        return losses[0] - losses[1]
    return min(loss.range, 2 * loss.lipschitz * t)  # of t ↦ L·t + b/2, cut to [0, b]
