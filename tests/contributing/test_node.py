"""A node and a block that a file adds: bounded, searched and read from network files."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dudley as du
from dudley.audit.problem import SearchProblem
from dudley.networks import files
from dudley.networks.registry import NODES
from node_cases import QUICK, check_facts

SOURCE = '''
from dataclasses import dataclass, replace

from dudley.calculus.facts import Facts, Signal
from dudley.calculus.node import Node
from dudley.core.constraint import Constraint
from dudley.core.lemma import Lemma
from dudley.core.magnitude import Magnitude
from dudley.networks.pointwise import Dense
from dudley.networks.registry import NODES


@NODES.register("scale-rows")
@dataclass(frozen=True)
class ScaleRows(Node):
    """x ↦ c·x: norms and distances are multiplied by |c|."""

    c: float
    lemma = Lemma("Scale", "A number multiplies rows.", r"L=|c|", "homogeneity")

    def facts(self, signal: Signal) -> Facts:
        c = Magnitude.of(abs(self.c))
        return Facts(replace(signal, radius=c * signal.radius, l1=None), c, ())

    def parameters(self, width):
        return {}, width

    def apply(self, params, X):
        return self.c * X


@NODES.register("scaled-dense")
def scaled_dense(d: int, c: float, W: Constraint):
    """A block: x ↦ c·σ(xW)."""
    return Dense(d, W) >> ScaleRows(c)
'''
FILE = """
schema = "dudley.net/1"

[input]
T = 3
d = 4
X.row2inf = 1.0

[[layer]]
node = "scale-rows"
c = 0.5

[[layer]]
node = "scaled-dense"
c = 2.0
W.op = 1.0

[output]
w.op = 1.0
"""


@pytest.fixture
def scale_rows(add):
    yield add("scale_rows", SOURCE).ScaleRows
    NODES.remove("scale-rows")
    NODES.remove("scaled-dense")


def test_the_facts_of_the_node_reach_the_bound(scale_rows):
    net = scale_rows(3.0) >> du.Readout(du.Spectral(1.0))
    cap = du.capacity(net, du.Tokens(row2inf=1.0, T=3, d=4), n=10**6)
    assert float(cap.facts.lipschitz) == pytest.approx(3.0)
    assert "ScaleRows   radius 1 → 3,  Lipschitz 3" in cap.explain()
    assert "A number multiplies rows." in cap.proof()


def test_the_search_attacks_what_the_node_declares(scale_rows):
    worst = check_facts(SearchProblem(scale_rows(3.0), T=2, d=3), **QUICK).worst()
    assert worst["lipschitz"] > 0.9


def test_the_search_sees_a_constant_that_is_too_small(scale_rows):
    class TooSmall(scale_rows):
        def facts(self, signal):
            facts = scale_rows.facts(self, signal)
            return replace(facts, lipschitz=facts.lipschitz / 2)

    with pytest.raises(AssertionError, match="above declared"):
        check_facts(SearchProblem(TooSmall(3.0), T=2, d=3), **QUICK)


def test_a_network_file_names_the_node_and_the_block(scale_rows, tmp_path):
    path = tmp_path / "scaled.toml"
    path.write_text(FILE, encoding="utf-8")
    network = files.load(path).network
    assert network.nodes[0] == scale_rows(0.5)
    assert du.Dense(4, du.Spectral(1.0)) >> scale_rows(2.0) in (
        network.nodes[1],
        network.nodes[1] >> network.nodes[2],
    )


def test_they_are_gone_afterwards():
    assert "scale-rows" not in NODES and "scaled-dense" not in NODES
