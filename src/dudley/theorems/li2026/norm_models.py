"""Heads and layers with bounded ‖·‖_{1,1}, by the calculus: entropies and bounds A.

>>> bounds = Bounds(QK=1.0, v=1.0, c=1.0, w=1.0, σ=1.0)
>>> F = Class(heads(64, 64, bounds, H=2), d=64, B_x=3.0)
>>> round(F.A, 9), round(F.entropy()(1.0)), round(F.entropy("uniform")(1.0))
(6.0, 31469, 24701)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from dudley.calculus.allocate import Allocated, WeightBlock
from dudley.calculus.compose import Chain, Heads, Node
from dudley.calculus.facts import Facts, Use
from dudley.calculus.memory import remembered
from dudley.calculus.repeat import Repeat
from dudley.classes.best import BestOf
from dudley.core.constraint import L11
from dudley.core.entropy import Scope
from dudley.networks.activations import declared as declared_sigma
from dudley.networks.blocks import li_block
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.li2026.gammas import Bounds
from dudley.theorems.trauger2024.peeling import tokens


def heads(d: float, k: float, b: Bounds, H: float = 1) -> Chain:
    """H heads (2), (3) with ‖·‖_{1,1} bounds, added, and a readout of the [CLS] row."""
    σ = declared_sigma(b.σ)
    head = Head(int(d), L11(b.v), L11(b.QK), W_c=L11(b.c), k=int(k), sigma=σ, query="cls")
    return (head if H == 1 else Heads(head, int(H))) >> Readout(b.readout)


def layers(d: float, k: float, b: Bounds, L: float) -> Chain:
    """L blocks (5), in which σ acts twice, and a readout of the [CLS] row."""
    σ = declared_sigma(b.σ)
    block = li_block(int(d), L11(b.QK), L11(b.v), L11(b.c), k=int(k), sigma=σ)
    return Repeat(block, int(L)) >> Readout(b.readout)


@dataclass(frozen=True)
class Class:
    """A network on tokens of norm ≤ B_x: its entropy, and the bound A on its predictions."""

    network: Node
    d: float
    B_x: float
    T: float = math.inf

    @cached_property
    def facts(self) -> Facts:
        return self.network.facts(tokens(self.B_x, self.T).signal(int(self.d)))

    @property
    def A(self) -> float:
        """The largest prediction."""
        return float(self.facts.out.radius)

    def entropy(self, covers: str = "own") -> Allocated:
        """Sup metric over the sample. ``covers`` says which ones:

        ``"own"``: Maurey's for matrices, as in the paper, and every one for w; ``"all"``: every one
        (without T: of uniform scope) for matrices too; ``"uniform"``: only of uniform scope.
        """
        blocks = []
        for use in self.facts.uses:
            best = use.entropy
            assert isinstance(best, BestOf)
            blocks.append(
                WeightBlock(use.name, self._chosen(best, use, covers), use.weight, use.copies)
            )
        return Allocated(tuple(blocks), float(self.facts.out.radius.log))

    def _chosen(self, entropy: BestOf, use: Use, covers: str) -> BestOf:
        uniform = tuple(c.name for c in entropy.covers if c.scope is Scope.UNIFORM)
        if covers == "uniform":
            return entropy.only(uniform)
        if use.name.endswith(".w"):
            return entropy
        if covers == "own":
            return entropy.only(("maurey",))
        return entropy if math.isfinite(self.T) else entropy.only(uniform)


@remembered(64)
def head_entropy(d: float, k: float, bounds: Bounds, B_x: float, covers: str) -> Allocated:
    """The entropy of one head with a readout: the same for every ε that is asked."""
    return Class(heads(d, k, bounds), d, B_x).entropy(covers)
