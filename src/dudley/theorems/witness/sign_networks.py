"""The 2^(p²) heads as networks that run: one head, several, a stack, the shallow encoder.

``many_heads.SignHeads`` gives one member for each p×p pattern of signs, and p² inputs that tell
them apart. Here the same weights stand in the package's own nodes, so that a packing of 2^(p²)
members is found by running them (small p), and its log is p² log 2 for any p.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from dudley.calculus.compose import Chain, Heads, Node
from dudley.calculus.facts import Signal
from dudley.calculus.repeat import Repeat
from dudley.core.constraint import L2, L11, Constraint, Spectral
from dudley.core.errors import InputError
from dudley.core.rounding import down, up
from dudley.networks.blocks import shallow_encoder, trauger_block
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.witness.counterexamples.many_heads import SignHeads
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.members import outputs
from dudley.theorems.witness.packings import greedy, sensitivity

KINDS = ("head", "heads", "stack", "encoder")


@dataclass(frozen=True)
class SignNetwork:
    """A network that realises all p×p sign patterns, by kind; all norm bounds are ‖·‖_{1,1} ≤ 1.

    ``heads``: further heads are zero. ``stack``: a block after the first sees the [CLS] row alone
    (the others are 0), averages three rows and needs ‖W_v‖_{1,1} ≤ 3 to undo that; once all rows
    agree, Π keeps their norm at 1. ``encoder``: relu keeps the patterns with sign + at an input,
    and the mean over three rows, two of them zero, divides by 3; there W_K = I,
    W_Q = √d_m W_QK, spectral norms √d_m/p and 1.

    Half the separation of two members is τ, or τ/6 for the encoder.

    >>> net = SignNetwork("head", 2)
    >>> print(net.below(0.9))
    at least 2.77259 (all 2^4 sign patterns)
    >>> print(net.run(0.9))
    at least 2.77259 (16 of 16 members, more than 2ε apart)
    """

    kind: str
    p: int
    more: int = 2  # heads, or blocks of the stack

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("kind", " or ".join(KINDS), self.kind)

    @property
    def signs(self) -> SignHeads:
        return SignHeads(self.p)

    @property
    def half(self) -> float:
        """Half the separation."""
        return float(down(self.signs.τ / (6 if self.kind == "encoder" else 1), 64))

    @property
    def node(self) -> Node:
        d, unit_ball = self.signs.d, L11(1.0)
        if self.kind == "encoder":
            W_Q = Spectral(float(up(math.sqrt(d) / self.p, 64)))
            return shallow_encoder(d, d, W_Q, Spectral(1.0), unit_ball, L2(1.0))
        if self.kind == "stack":
            W_v: Constraint = L11(3.0)
            block = trauger_block(d, unit_ball, W_v, unit_ball, sigma="identity")
            return Chain((Repeat(block, self.more), Readout(L2(1.0))))
        head = Head(d, unit_ball, unit_ball, W_c=unit_ball, sigma="identity", query="cls")
        many = Heads(head, self.more) if self.kind == "heads" else head
        return Chain((many, Readout(L2(1.0))))

    def weights(self, signs: np.ndarray) -> list:
        """The nest of weights for one pattern of signs."""
        matrices = self.signs.weights(signs)
        v = matrices["w"]
        w = {"w": v[:, None]}
        if self.kind == "encoder":
            d = self.signs.d
            return [
                {"W_v": matrices["W_v"], "W_Q": math.sqrt(d) * matrices["W_QK"], "W_K": np.eye(d)},
                w,
            ]
        head = {name: matrices[name] for name in ("W_QK", "W_v", "W_c")}
        none = {name: np.zeros_like(W) for name, W in head.items()}
        if self.kind == "stack":
            first = _block(matrices["W_QK"], matrices["W_v"], matrices["W_c"])
            later = _block(none["W_QK"], 3 * np.outer(v, v), np.outer(v, v))
            return [[first] + [later] * (self.more - 1), w]
        return [[head] + [none] * (self.more - 1) if self.kind == "heads" else head, w]

    def below(self, ε: float) -> LowerBound:
        """log N(ε) of the class, by the argument."""
        if not 0 < ε < self.half:
            return LowerBound(0.0, "one member")
        return LowerBound(float(down(self.signs.log_count)), f"all 2^{self.p**2} sign patterns")

    def run(self, ε: float) -> LowerBound:
        """The same, by running all members (p ≤ 3)."""
        if self.p > 3:
            raise InputError("p", "at most 3, to run all members", self.p)
        patterns = itertools.product([-1.0, 1.0], repeat=self.p**2)
        F = outputs(self.node, [self.weights(np.array(s)) for s in patterns], self.signs.tokens())
        scale = sensitivity(self.node, self.signal)
        return greedy(F, ε, restarts=1, scale=scale)

    @property
    def signal(self) -> Signal:
        """The inputs' facts: three tokens of norm at most s."""
        from dudley.networks.embeddings import Tokens

        return Tokens(float(up(self.signs.s, 8)), T=3).signal(self.signs.d)


def _block(W_QK: np.ndarray, W_v: np.ndarray, W_c: np.ndarray) -> list:
    return [{"W_QK": W_QK, "W_v": W_v}, {}, {}, {"W_c": W_c}, {}]
