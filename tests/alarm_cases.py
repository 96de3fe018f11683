"""Networks whose norm layers have levels, in small sizes."""

from __future__ import annotations

from dataclasses import replace

import dudley as du
from dudley.calculus.compose import Heads, Parallel, Residual
from dudley.calculus.node import Node
from dudley.calculus.repeat import Repeat
from dudley.networks.alarms import with_norm_layers
from node_cases import S, b

d, T = 4, 3
LN = du.LayerNorm(d, 1e-6, du.LInf(1.5), b(0.4), least_std=0.8)
RMS = du.RMSNorm(d, 1e-6, du.LInf(1.5), least_rms=0.5)
ATTENTION = {"d": d, "H": 2, "W_Q": S(0.6), "W_K": S(0.7), "W_v": S(0.8), "W_c": S(1.1)}
MLP = du.MLP(d, 5, S(1.5), S(0.8), "relu", b(0.3), b(0.2))
DENSE = du.Dense(d, S(2.0))
NETWORKS = {
    "one layer": DENSE >> LN,
    "a slope before": DENSE >> DENSE >> RMS,
    "two layers": DENSE >> LN >> du.Dense(d, S(0.2)) >> replace(LN, least_std=0.05),
    "residual": Residual(DENSE >> LN >> du.Dense(d, S(0.5))) >> replace(RMS, least_std=2.0),
    "parallel": Parallel((DENSE >> LN, du.Dense(d, S(1.0)) >> RMS)),
    "heads": Heads(du.Head(d, S(1.0), S(1.0)) >> LN, 2),
    "repeat": Repeat(Residual(LN >> du.Dense(d, S(0.5))), 3),
    "pre-norm": du.pre_ln_block(MLP, LN, **ATTENTION),
    "post-norm": du.post_ln_block(MLP, RMS, **ATTENTION),
}


def plain(network: Node) -> Node:
    """The network without levels."""
    return with_norm_layers(network, lambda layer: replace(layer, least_std=0.0))
