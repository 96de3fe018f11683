"""Attacks on covers of heads and stacks: linear classes and sign patterns inside, drawn members.

``CLASSES`` builds from a statement's inputs the classes that it is about (``witness.
inside_networks`` says what they contain); ``network_instances`` lists the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import ClassVar

from dudley.audit.attacks.linear_covers import Values
from dudley.audit.attacks.network_instances import INSTANCES
from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.calculus.compose import Heads, Node
from dudley.calculus.repeat import Repeat
from dudley.core.constraint import L1, L2, L11, Col2Inf, Col21, Constraint, Row1Inf, Row21, Spectral
from dudley.networks.blocks import trauger_block
from dudley.networks.embeddings import Tokens
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems import registry
from dudley.theorems.edelman2021.common import within
from dudley.theorems.witness import packings
from dudley.theorems.witness.inside_networks import NetworkClass
from dudley.theorems.witness.lower import LowerBound

Classes = tuple[NetworkClass, ...]


def norm(v: Values, name: str) -> float:
    return v.get(name, math.inf)


def edelman_head(v: Values) -> NetworkClass:
    sides = {name: norm(v, f"W_v.{name}") for name in ("row2inf", "col2inf", "op")}
    return NetworkClass(
        int(v["d"]), int(v["d"]), v["X.row2inf"], Col2Inf(v["W_QK.col2inf"]), within(**sides),
        slope=v.get("sigma.lipschitz", 1.0), H=int(v.get("H", 1)), T=v["T"], n=v["n"],
    )  # fmt: skip


def with_positions(v: Values) -> Classes:
    """No positions at all; or one input, whose tokens point the way that the positions do."""
    along_positions = {**v, "X.row2inf": v["X.row2inf"] + v["P.row2inf"], "n": 1}
    return edelman_head(v), edelman_head(along_positions)


def stack(v: Values, sizes, R: float, QK, W_v, W_c, w, **how) -> NetworkClass:
    slope = v.get("sigma.lipschitz", 1.0)
    return NetworkClass(
        int(sizes[0]), int(sizes[1]), R, QK, W_v, W_c, w, int(v["L"]), True, slope, **how
    )


def edelman_stack(v: Values) -> NetworkClass:
    QK = within(op=v["W_QK.op"], row2inf=v["W_QK.row2inf"])
    W_v, W_c = (within(op=v[f"{W}.op"], col2inf=v[f"{W}.col2inf"]) for W in ("W_v", "W_c"))
    R, sizes = v.get("X.row2inf", 1.0), (v["d"], v["k"])
    return stack(v, sizes, R, QK, W_v, W_c, L2(v["w.l2"]), T=v["T"], n=v["n"])


def simplified(v: Values) -> NetworkClass:
    QK = within(op=v["W.op"], row2inf=v["W.col2inf"])
    W = within(op=v["W.op"], col2inf=v["W.col2inf"])
    R, sizes = v["X.row2inf"], (v["d"], v["d"])
    return stack(v, sizes, R, QK, W, W, L2(v["w.l2"]), T=v["T"], n=v["n"])


def trauger_stack(ball: Callable[[Values], Constraint], radius: str) -> Callable:
    def of(v: Values) -> Classes:
        all_in = ball(v)
        QK, W_v, W_c = (all_in & Spectral(v[f"{W}.op"]) for W in ("W_QK", "W_v", "W_c"))
        w, T = all_in & L2(v["w.l2"]), v.get("T", math.inf)
        sizes, ell1 = (v["d"], v["k"]), radius == "X.row1inf"
        return (stack(v, sizes, v[radius], QK, W_v, W_c, w, T=T, ell1=ell1),)

    return of


def li_head(v: Values) -> NetworkClass:
    w = L2(v["w.l2"]) & L1(v["w.l1"]) if "w.l1" in v else L2(v["w.l2"])
    QK, W_v, W_c = (L11(v[f"{W}.l11"]) for W in ("W_QK", "W_v", "W_c"))
    return NetworkClass(
        int(v["d"]), int(v["k"]), v["X.row2inf"], QK, W_v, W_c, w, slope=v["sigma.lipschitz"]
    )


def one_token(v: Values) -> NetworkClass:
    W_v = within(**{name: norm(v, f"W_v.{name}") for name in ("op", "row21", "col21")})
    return NetworkClass(
        int(v["d"]), int(v["k"]), v["X.row2inf"], Row21(v["W_QK.row21"]), W_v, None,
        L2(v["w.l2"]), relu=True, T=v["T"], n=v["n"],
    )  # fmt: skip


CLASSES: dict[str, Callable[[Values], Classes]] = {
    "edelman2021/corollary-4.4": lambda v: (edelman_head(v),),
    "edelman2021/lemma-A.11": with_positions,
    "edelman2021/lemma-A.12": lambda v: (edelman_head(v),),
    "edelman2021/theorem-A.17": lambda v: (edelman_stack(v),),
    "edelman2021/theorem-4.6": lambda v: (simplified(v),),
    "trauger2024/corollary-4.2.1": trauger_stack(lambda v: L11(v["W.l11"]), "X.row2inf"),
    "trauger2024/corollary-F.0.1": trauger_stack(lambda v: Row1Inf(v["W.row1inf"]), "X.row1inf"),
    "trauger2024/corollary-F.0.2": trauger_stack(
        lambda v: Row21(v["W.row21"]) & Col21(v["W.col21"]), "X.row1inf"
    ),
    "li2026/equation-14": lambda v: (li_head(v),),
    "mwigo2026/lemma-6": lambda v: (one_token(v),),
}


@ATTACKS.register("inside networks")
class InsideNetworks(Attack):
    """Linear classes and sign patterns inside, on the instances above and on each example."""

    targets = tuple(CLASSES)

    def run(self, rng) -> Iterator[AttackFinding]:
        for id in self.targets:
            for values in (*INSTANCES[id], registry.load()[id].example):
                yield AttackFinding(id, values, strongest(CLASSES[id](values), values["epsilon"]))


def strongest(classes: Classes, ε: float) -> LowerBound:
    """The largest of all lower bounds on these classes, which one statement is about."""
    bounds = [(name, lower) for networks in classes for name, lower in networks.each(ε)]
    name, lower = max(bounds, key=lambda pair: pair[1].value)
    return LowerBound(lower.value, f"{name}: {lower.method}")


@ATTACKS.register("drawn networks")
class DrawnNetworks(Attack):
    """A greedy packing of members with two of everything, drawn from all corners of their sets."""

    targets = tuple(CLASSES)
    tiny: ClassVar = {"d": 2, "k": 2, "n": 8, "T": 2, "L": 2, "H": 2, "epsilon": 0.05}

    def run(self, rng) -> Iterator[AttackFinding]:
        for id in self.targets:
            statement = registry.load()[id]
            named = {i.name for i in statement.inputs}
            sizes = {name: value for name, value in self.tiny.items() if name in named}
            values = {**statement.example, **sizes}
            networks = CLASSES[id](values)[0]
            tokens = Tokens(networks.radius, 2, row1inf=networks.radius if networks.ell1 else None)
            lower = packings.network(runnable(networks), tokens.signal(2), 0.05, rng, 200, 8)
            yield AttackFinding(id, values, lower)


def runnable(networks: NetworkClass) -> Node:
    """The class as a network that can be run, with σ(x) = x or relu."""
    σ = "relu" if networks.relu else "identity"
    if networks.projected:
        assert networks.W_c is not None
        block = trauger_block(networks.d, networks.W_QK, networks.W_v, networks.W_c, networks.k, σ)
        node = Repeat(block, networks.L)
    else:
        head = Head(
            networks.d,
            networks.W_v,
            networks.W_QK,
            W_c=networks.W_c,
            k=networks.k,
            sigma=σ,
            query="cls",
        )
        node = Heads(head, networks.H)
    return node if networks.w is None else node >> Readout(networks.w)
