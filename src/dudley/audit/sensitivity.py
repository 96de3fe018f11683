"""Sensitivity: how much of what a network declares a search can reach.

>>> import dudley as du
>>> net = du.Dense(3, du.Spectral(2.0), sigma="relu") >> du.Readout(du.L2(1.5))
>>> print(sensitivity(net, du.Tokens(row2inf=1.0, T=2)))  # doctest: +ELLIPSIS
       R  mode                declared     found  ratio
       1  radius                     3 ...
       1  lipschitz                  3 ...
       1  everything ...
       1  0.W                      1.5 ...
       1  1.w                        2 ...
       1  weights ...
"""

from __future__ import annotations

from dudley.audit.leaves import leaves, ties_of
from dudley.audit.problem import SearchProblem
from dudley.audit.search import search
from dudley.audit.search_ratios import SearchRatios
from dudley.calculus.compose import Node
from dudley.core.constraint import radius_of
from dudley.core.entropy import Metric
from dudley.core.errors import InputError
from dudley.networks.embeddings import Tokens


def sensitivity(
    network: Node,
    inputs: Tokens | float = 1.0,
    T: int = 4,
    restarts: int = 10,
    steps: int = 50,
    seed: int = 0,
    device: str = "cpu",
) -> SearchRatios:
    """How much of the declared radius, Lipschitz constant and weights of blocks a search reaches.

    ``inputs``: ``Tokens``, or a radius for ``T`` rows. A ratio above 1 refutes a declared fact; a
    small one says that the network cannot do what the facts allow, or that the search missed it.
    """
    if not isinstance(inputs, Tokens):
        inputs = Tokens(radius_of("radius", inputs), T)
    d = network.input_width() or inputs.d
    if d is None:
        raise InputError("network", "a node that knows its input width, or Tokens(d=…)", "none")
    signal = inputs.signal(d)
    if float(signal.radius) == 0:
        raise InputError("radius of the inputs", "a number > 0", 0)
    problem = SearchProblem(
        network,
        T=inputs.T,
        d=d,
        radii=(float(signal.radius),),
        logits=network.facts(signal).out.metric is Metric.LOGITS,
        l1=signal.l1,
        ties=ties_of(leaves(network, network.parameters(d)[0])),
    )
    return search(problem, restarts=restarts, steps=steps, seed=seed, device=device)
