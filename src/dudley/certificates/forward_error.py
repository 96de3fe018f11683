"""Forward error: how far the float64 program may be from the function it stands for.

``forward_error(network, inputs)`` is η with ‖fl(f)(X) − f(X)‖₂ ≤ η in every output row, for every
input of the stated radius and every weight in the network's sets: f is the network in real
arithmetic with the same float weights, fl(f) its ``apply`` in numpy float64. The model of
arithmetic is that of ``dudley.calculus.arithmetic``. Each node says what its own operations add
(``Node.rounding``); one that does not is refused.

>>> import dudley as du
>>> head = du.Head(d=9, v=du.LInf(4.0), W_v=du.LInf(1.0), k=1, sigma="identity", query="fixed")
>>> 1e-16 < forward_error(head, du.Tokens(1.0, T=5, row1inf=1.0)) < 1e-12
True
"""

from __future__ import annotations

from dudley.calculus.arithmetic import OUTWARD, UNDERFLOW
from dudley.calculus.compose import Node
from dudley.core.errors import InputError
from dudley.networks.embeddings import Tokens


def forward_error(network: Node, inputs: Tokens) -> float:
    """η: the largest ℓ2 distance between an output row and its float64 value."""
    width = network.input_width() or inputs.d
    if width is None:
        raise InputError("network", "a node that knows its input width, or Tokens(d=…)", "none")
    return network.rounding(inputs.signal(width)) * OUTWARD + UNDERFLOW
