"""Complexities of networks climbed by gradients: what random inputs show, whatever their size.

The exact instances reach the trivial bound on inputs made for it. These are drawn inputs and a
search over all weights, so they show how the bounds do on data that nobody chose.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.core.constraint import L1, L2, L11, Col1Inf, Frobenius, Row1Inf
from dudley.networks.blocks import shallow_encoder
from dudley.networks.embeddings import Tokens
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.witness.members import inputs

DRAWS, RESTARTS, STEPS = 1024, 2, 20


def climbed(network, tokens: Tokens, d: int, n: int, rng: np.random.Generator):
    """The complexity of a network on n drawn inputs, from below."""
    from dudley.audit.complexity import rademacher_below

    X = inputs(tokens.signal(d), n, rng)
    seed = int(rng.integers(2**31))
    return rademacher_below(network, X, DRAWS, RESTARTS, STEPS, seed=seed)


@ATTACKS.register("climbed heads")
class ClimbedHeads(Attack):
    """One head with ℓ1-bounded rows and columns, read out in ℓ1, on drawn tokens."""

    targets = ("trauger2024/corollary-4.1.1",)
    quick = False

    def run(self, rng) -> Iterator[AttackFinding]:
        d, T, n = 8, 2, 40
        ball = Row1Inf(1.0) & Col1Inf(1.0)
        head = Head(d, W_v=ball, W_QK=L11(4.0), W_c=ball, sigma="identity", query="cls")
        lower = climbed(head >> Readout(L1(1.0)), Tokens(1.0, T), d, n, rng)
        values = {f"{W}.{norm}": 1.0 for W in ("W_v", "W_c") for norm in ("row1inf", "col1inf")}
        values |= {"n": n, "d": d, "k": d, "T": T, "w.l1": 1.0, "sigma.lipschitz": 1.0}
        values |= {"X.row2inf": 1.0, "W_QK.l11": 4.0}
        yield AttackFinding(self.targets[0], values, lower)


@ATTACKS.register("climbed encoders")
class ClimbedEncoders(Attack):
    """The shallow encoder around the origin, on drawn inputs."""

    targets = ("mwigo2026/lemma-2",)
    quick = False

    def run(self, rng) -> Iterator[AttackFinding]:
        d, T, n = 4, 2, 40
        ball = Frobenius(1.0)
        encoder = shallow_encoder(d, d, ball, ball, ball, L2(1.0))
        lower = climbed(encoder, Tokens(0.5**0.5, T), d, n, rng)
        values = {"n": n, "T": T, "d": d, "k": d, "X.fro": 1.0 + 1e-12, "w.l2": 1.0}
        values |= {f"{W}.fro": 1.0 for W in ("W_Q", "W_K", "W_v")}
        yield AttackFinding(self.targets[0], values, lower)
