"""What the statements share: inputs with the paper's letters, and covers by the calculus."""

from __future__ import annotations

import math

from dudley.calculus.compose import Node
from dudley.core.bound import Bound, Sense
from dudley.core.constraint import Constraint, ball
from dudley.core.statement import Input
from dudley.networks.capacity import capacity
from dudley.networks.embeddings import Tokens

OWN = ("zhang",)  # the paper's own cover, Lemma A.10
PAPERS = "softmax-papers"  # its softmax constant 2, Corollary A.7

SAMPLES = Input("n", aliases=("m",))
TOKENS = Input("T")
RADIUS = Input("X.row2inf", aliases=("B_X",))
SLOPE = Input("sigma.lipschitz", default=1.0, aliases=("L_sigma",))
READOUT = Input("w.l2", aliases=("B_w",))
RESOLUTION = Input("epsilon", aliases=("eps",))
HIDDEN = Input("c", default=1.0)


def within(**norms: float) -> Constraint:
    """The matrices with these norm bounds; an infinite bound says nothing and is left out.

    >>> print(within(op=2.0, col2inf=math.inf))
    op ≤ 2
    """
    balls = [ball(name, radius).balls[0] for name, radius in norms.items() if radius < math.inf]
    return Constraint(tuple(balls))


def log_cover(
    network: Node, inputs: Tokens, ε: float, n: float, covers: tuple[str, ...] | None = None
) -> Bound:
    """log N(ε) of a network on n examples by the calculus, kept by its logarithm."""
    entropy = capacity(network, inputs, n, covers=covers).allocated
    one_point = math.log(ε) >= entropy.log_radius
    log_log = -math.inf if one_point else float(entropy.log_log(math.log(ε), math.log(n)))
    return Bound(log_log, quantity="log covering number", sense=Sense.SURELY)
