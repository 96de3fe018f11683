"""Which parameter sees which, from a network that is written out layer by layer.

``check_order`` says whether the covers that the calculus would use can be chosen in some order.
"""

import numpy as np

import dudley as du
from dudley.audit.problem import signal_of
from dudley.calculus import tie
from dudley.calculus.compose import Chain, Heads, Parallel, Residual
from dudley.calculus.repeat import Repeat
from dudley.core.entropy import Scope

WIDTH = 4
NAMES = (None, None, "A", "B", "C")


def random_network(rng, depth: int = 3):
    """A network of dense layers, some of them shared, in sequence, in sums and repeated."""
    kind = rng.choice(["dense", "chain", "chain", "sum", "residual", "repeat", "heads"])
    if depth == 0 or kind == "dense":
        name = NAMES[rng.integers(len(NAMES))]
        ball = du.Frobenius(1.0)
        bias = du.L2(1.0) if rng.random() < 0.3 else None
        return du.Dense(WIDTH, ball if name is None else ball.tied(name), b=bias)
    if kind in ("chain", "sum"):
        nodes = tuple(random_network(rng, depth - 1) for _ in range(rng.integers(2, 4)))
        return Chain(nodes) if kind == "chain" else Parallel(nodes)
    inner = random_network(rng, depth - 1)
    if kind == "residual":
        return Residual(inner)
    return Repeat(inner, int(rng.integers(1, 4))) if kind == "repeat" else Heads(inner, 2)


class Graph:
    """Every layer and head of a network on its own: ``sees[P]`` are those whose output P reads.

    A parameter is the name that its uses share, or else the number of its leaf, in the order of the
    network's facts, and the copy. Biases read nothing.
    """

    def __init__(self, network):
        self.sees: dict = {}
        self.leaves = 0
        self.walk(network, 0, frozenset(), ())

    def walk(self, node, leaf: int, behind: frozenset, copy: tuple) -> tuple[frozenset, int]:
        """What the output depends on, and the number of the next leaf."""
        if isinstance(node, du.Dense):
            parameter = node.W.tie or (leaf, copy)
            self.sees[parameter] = self.sees.get(parameter, frozenset()) | behind
            if node.b is None:
                return behind | {parameter}, leaf + 1
            self.sees[(leaf + 1, copy)] = frozenset()
            return behind | {parameter, (leaf + 1, copy)}, leaf + 2
        if isinstance(node, Chain):
            for inner in node.nodes:
                behind, leaf = self.walk(inner, leaf, behind, copy)
            return behind, leaf
        if isinstance(node, Parallel):
            out = frozenset()
            for inner in node.nodes:
                part, leaf = self.walk(inner, leaf, behind, copy)
                out |= part
            return out, leaf
        if isinstance(node, Residual):
            return self.walk(node.inner, leaf, behind, copy)
        after, out = leaf, frozenset()
        if isinstance(node, Heads):
            for h in range(node.H):
                part, after = self.walk(node.inner, leaf, behind, (*copy, h))
                out |= part
            return out, after
        assert isinstance(node, Repeat)
        for layer in range(node.L):
            behind, after = self.walk(node.inner, leaf, behind, (*copy, layer))
        return behind, after


def turns(sees: dict) -> list[set]:
    """The parameters that see one another in turn, or themselves; each such group once."""
    names = list(sees)
    index = {name: i for i, name in enumerate(names)}
    reach = np.zeros((len(names), len(names)), dtype=bool)
    for name, others in sees.items():
        reach[index[name], [index[o] for o in others if o in index]] = True
    for middle in range(len(names)):
        reach |= np.outer(reach[:, middle], reach[middle])
    mutual = reach & reach.T
    groups = {frozenset(np.flatnonzero(row)) for row in mutual if row.any()}
    return [{names[i] for i in group} for group in groups]


def scopes(network) -> tuple[dict, dict]:
    """For each parameter (tied: its name; else its leaf) the scopes it may use, and how many."""
    uses = network.facts(signal_of(1.0, 2, WIDTH)).uses
    merged = tie.tie_together(uses)
    names = {use.tie for use in uses}
    shared = {use.name: use for use in merged if use.name in names}
    leaves = [leaf for leaf, use in enumerate(uses) if use.tie is None]
    alone = [use for use in merged if use.name not in names]
    by_parameter = {**dict(zip(leaves, alone, strict=True)), **shared}
    kinds = {p: {c.scope for c in use.entropy.covers} for p, use in by_parameter.items()}
    return kinds, {p: use.together for p, use in by_parameter.items()}


def check_order(network) -> set:
    """No circle of parameters of which some are covered on given points; return how they are."""
    kinds, together = scopes(network)

    def of(parameter):
        return parameter if isinstance(parameter, str) else parameter[0]

    uniform = {p for p, kind in kinds.items() if kind == {Scope.UNIFORM}}
    later = {p: s for p, s in Graph(network).sees.items() if of(p) not in uniform}
    for group in turns(later):
        for parameter in group:
            assert Scope.POINTS not in kinds[of(parameter)], f"{parameter} sees itself"
            assert together[of(parameter)] >= len(group), f"{parameter} is chosen with more"
    return {scope for kind in kinds.values() for scope in kind}


def check_orders(seeds=range(200)) -> set:
    """Random networks, written out layer by layer; which scopes came up."""
    networks = (random_network(np.random.default_rng(seed)) for seed in seeds)
    return {scope for network in networks for scope in check_order(network)}
