"""A wrapping node that the package has never seen works wherever it walks over networks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

import dudley as du
from dudley.audit.problem import SearchProblem
from dudley.calculus import arithmetic
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.nest import entries
from dudley.calculus.node import Node, Part
from dudley.certificates.forward_error import forward_error
from dudley.core.constraint import Constraint
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.networks import files
from dudley.networks.activations import activation
from dudley.networks.registry import NODES
from node_cases import QUICK, S, check_facts


@dataclass(frozen=True)
class Gated(Node):
    """x ↦ f(x) ⊙ g(x), g(x) = σ(x W_g) with the logistic σ, row by row, W_g ∈ R^{d×k}.

    Let ‖f‖ ≤ R_f. Entries of g lie in (0, 1) and σ has slope ≤ 1/4, so ‖f ⊙ g‖₂ ≤ R_f, and from

        f⊙g − f̂⊙ĝ = (f − f̂)⊙ĝ + f⊙(g − ĝ),   ‖a⊙b‖₂ ≤ ‖a‖₂‖b‖_∞ ≤ ‖a‖₂‖b‖₂,

    errors of f pass as they are, an error ‖xΔW_g‖₂ of the gate's map is multiplied by R_f/4, and
    the Lipschitz constant is L_f + R_f‖W_g‖₂/4.

    In float64 let f be off by e. The gate's entries xW_g, of size s = R‖W_g‖_F at most, are off by
    γ_d s, so σ of them by h = γ_d s/4 + 64u(s + γ_d s + 1), and the product, rounded once, by
    e(1 + h) + R_f h + u(R_f + e)(1 + h).
    """

    d: int
    inner: Node
    W_g: Constraint
    lemma = Lemma("Gate", "A gate in (0, 1) shrinks rows.", r"L=L_f+R_f\|W_g\|/4", "product rule")

    def _gate(self, width: int) -> Parameter:
        return Parameter((self.d, self.inner.parameters(width)[1]), self.W_g)

    def facts(self, signal: Signal) -> Facts:
        f, W_g = self.inner.facts(signal), self._gate(signal.width)
        if f.out.rows != signal.rows:
            raise InputError("gate", "a row for each row", f"{f.out.rows:g} rows")
        R_f = f.out.radius
        gate = Use("W_g", W_g, R_f * signal.radius / 4, rows=signal.rows, l1=signal.l1)
        lipschitz = f.lipschitz + R_f * W_g.norm() / 4
        return Facts(replace(f.out, l1=None), lipschitz, (*f.uses, gate))

    def parameters(self, width: int) -> tuple[Any, int]:
        nest, out = self.inner.parameters(width)
        return [nest, {"W_g": self._gate(width)}], out

    def apply(self, params: Any, X: Any) -> Any:
        gate = activation("sigmoid").apply(X @ params[1]["W_g"])
        return self.inner.apply(params[0], X) * gate

    def parts(self) -> tuple[Part, ...]:
        return (Part(self.inner, (0,), "", reads_input=True),)

    def with_parts(self, nodes: Sequence[Node]) -> Node:
        (inner,) = nodes
        return replace(self, inner=inner)

    def introduction(self) -> str:
        return "gate × "

    def rounding(self, signal: Signal) -> float:
        u, e = arithmetic.U, self.inner.rounding(signal)
        s = float(signal.radius) * float(self._gate(signal.width).norm("fro"))
        off = arithmetic.γ(self.d) * s
        h = off / 4 + 64 * u * (s + off + 1)
        R_f = float(self.inner.facts(signal).out.radius)
        return e * (1 + h) + R_f * h + u * (R_f + e) * (1 + h)


D, K = 4, 3
GATED = Gated(D, du.Dense(D, S(2.0), K), S(1.5))
DEEP = (
    GATED >> du.Dense(K, S(1.0), D) >> du.Residual(Gated(D, du.MLP(D, 5, S(1.0), S(0.8)), S(0.5)))
)
NET = DEEP >> du.Readout(S(1.0))
TOKENS = du.Tokens(row2inf=1.0, T=3)


@pytest.fixture
def registered():
    NODES.register("gated")(Gated)
    yield
    NODES.remove("gated")


# -- capacity, its explanation and its proof ----------------------------------------------------


def test_capacity_uses_the_facts_that_the_node_declares():
    cap = du.capacity(NET, TOKENS, n=10**8)
    facts = cap.facts
    assert float(facts.out.radius) == pytest.approx(2.0 * (1 + 0.8))
    first, last = 2.0 + 2.0 * 1.5 / 4, 1 + (0.8 + (0.8 * 2.0) * 0.5 / 4)
    assert float(facts.lipschitz) == pytest.approx(first * last)
    weights = {use.name: float(use.weight) for use in facts.uses}
    assert weights["0.W"] == pytest.approx(last) and weights["0.W_g"] == pytest.approx(last * 2 / 4)
    assert weights["2.W_g"] == pytest.approx((0.8 * 2) * 2 / 4)
    assert 0 < cap.gap(0.05).value < 1


def test_a_gate_costs_what_a_dense_layer_of_its_weight_costs():
    """The entropy of the gate is that of a linear map of the same shape, norm and weight."""
    alone = Gated(D, du.Activate("identity"), S(1.0)) >> du.Readout(S(1.0))
    twin = du.Dense(D, S(1.0)) >> du.Readout(S(1.0))  # W has weight 1 there, W_g has 1/4
    here, there = (du.capacity(net, TOKENS, n=100).allocated for net in (alone, twin))
    gate, dense = here.blocks[0], there.blocks[0]
    assert math.isclose(float(gate.weight), float(dense.weight) / 4)
    ε = np.log([0.01, 0.1])
    assert np.array_equal(gate.entropy.log_log(ε), dense.entropy.log_log(ε))


def test_the_explanation_shows_the_gate_and_what_is_inside_it():
    cap = du.capacity(NET, TOKENS, n=10**8)
    text = cap.explain()
    assert "├─ Gated   radius 1 → 2,  Lipschitz 2.75" in text
    assert "gate × Dense   radius 1 → 2,  Lipschitz 2" in text
    assert "gate × Chain" in text and "+ Gated" in text
    shown = [
        line.split("share ")[1].split("%")[0] for line in text.splitlines() if "share " in line
    ]
    assert len(shown) == len(cap.facts.uses)  # each block once
    assert sum(map(float, shown)) == pytest.approx(100, abs=0.5)
    assert text.count("─ W_g ") == 2


def test_the_proof_has_the_lemma_of_the_gate_once():
    proof = du.capacity(NET, TOKENS, n=10**8).proof()
    assert proof.count("A gate in (0, 1) shrinks rows.") == 1
    assert ". Dense layer\n" in proof and ". Residual connection\n" in proof


def test_elasticities_know_the_norm_of_the_gate():
    values = du.capacity(NET, TOKENS, n=10**8).elasticities().values
    assert 0 < values["W_g.op"] < 1


# -- rewriting ----------------------------------------------------------------------------------


def test_rewriting_reaches_the_inside_and_keeps_the_nest():
    from dudley.models.rewrite import rewritten

    seen = []
    again = rewritten(NET, lambda path, node: seen.append((path, type(node).__name__)) or node)
    assert again == NET
    assert seen[:2] == [((0, 0), "Dense"), ((0,), "Gated")]
    assert ((2, 0, 1), "Dense") in seen and ((2,), "Residual") in seen
    changed = rewritten(
        NET, lambda _, node: replace(node, sigma="tanh") if isinstance(node, du.Dense) else node
    )
    assert changed.nodes[0] == replace(GATED, inner=replace(GATED.inner, sigma="tanh"))
    rng = np.random.default_rng(0)
    nest = arrays(changed, rng)
    X = rng.standard_normal((3, D))
    gate = 1 / (1 + np.exp(-X @ nest[0][1]["W_g"]))
    assert np.allclose(changed.nodes[0].apply(nest[0], X), np.tanh(X @ nest[0][0]["W"]) * gate)


def test_sets_read_off_weights_reach_gate_and_inside():
    pytest.importorskip("torch")
    from dudley.models.constrain import constrained

    nest = NET.parameters(D)[0]
    paths = [path for path, _ in entries(nest)]
    sets = {path: S(float(i + 1)) for i, path in enumerate(paths)}
    filled = constrained(NET, sets).parameters(D)[0]
    assert {path: p.constraint for path, p in entries(filled)} == sets


def test_a_node_that_cannot_change_its_parts_is_refused():
    @dataclass(frozen=True)
    class Closed(Gated):
        def with_parts(self, nodes):
            return Node.with_parts(self, nodes)

    with pytest.raises(InputError, match="can change its parts"):
        Closed(D, GATED.inner, S(1.0)).with_parts([GATED.inner])


# -- searches -----------------------------------------------------------------------------------


def test_the_conformance_search_attacks_every_fact_of_the_gate():
    best = check_facts(SearchProblem(GATED, T=3, d=D), **QUICK).worst()
    assert {"radius", "lipschitz", "0.W", "1.W_g"} <= set(best)
    assert best["0.W"] > 0.9 and best["radius"] > 0.8


@pytest.mark.parametrize("part", ["lipschitz", "gate"])
def test_the_conformance_search_finds_a_wrong_fact(part):
    @dataclass(frozen=True)
    class Wrong(Gated):
        def facts(self, signal):
            facts = Gated.facts(self, signal)
            if part == "lipschitz":
                return replace(facts, lipschitz=facts.lipschitz / 4)
            *others, gate = facts.uses
            return replace(facts, uses=(*others, replace(gate, weight=gate.weight / 10)))

    with pytest.raises(AssertionError, match="above declared"):
        check_facts(SearchProblem(Wrong(D, GATED.inner, S(1.5)), T=3, d=D), **QUICK)


def test_sensitivity_names_the_weights_of_the_gate():
    search = du.sensitivity(NET, TOKENS, restarts=4, steps=10)
    assert not search.exceeded()
    assert {"0.0.W", "0.1.W_g", "2.0.0.W_1", "2.1.W_g"} <= set(search.worst())


# -- network files ------------------------------------------------------------------------------

FILE = """
schema = "dudley.net/1"

[input]
T = 3
d = 4
X.row2inf = 1.0

[[layer]]
node = "gated"
W_g.op = 1.5
inner = { node = "dense", k = 3, W = { op = 2.0 } }

[[layer]]
node = "dense"
k = 4
W.op = 1.0

[[layer]]
node = "gated"
repeat = 2
W_g.op = 0.5
inner = { node = "mlp", k = 5, W_1.op = 1.0, W_2.op = 0.8 }

[output]
w.op = 1.0
"""


def test_a_network_file_holds_a_gate_and_what_is_inside_it(tmp_path, registered):
    path = tmp_path / "gated.toml"
    path.write_text(FILE, encoding="utf-8")
    network = files.load(path).network
    assert network.nodes[0] == GATED
    mlp = du.MLP(D, 5, S(1.0), S(0.8))
    assert network.nodes[2] == du.Repeat(Gated(D, mlp, S(0.5)), 2)
    tighter = files.load(path, {"W_g.op": 0.25, "W_1.op": 3.0}).network
    assert tighter.nodes[0].W_g == S(0.25)
    inside = tighter.nodes[2].inner.inner
    assert inside == du.MLP(D, 5, S(3.0), S(0.8))


def test_a_wrong_key_inside_the_gate_is_named(tmp_path, registered):
    path = tmp_path / "gated.toml"
    path.write_text(FILE.replace("k = 3, W =", "k = 3, V ="), encoding="utf-8")
    with pytest.raises(du.UnknownName, match="key of dense in inner in layer 1"):
        files.load(path)


def test_a_gate_without_its_inside_is_refused(tmp_path, registered):
    path = tmp_path / "gated.toml"
    path.write_text(FILE.replace('node = "dense", k = 3', "k = 3"), encoding="utf-8")
    with pytest.raises(InputError, match="inner in layer 1"):
        files.load(path)


# -- float64 ------------------------------------------------------------------------------------


def arrays(network, rng):
    def fill(nest):
        if isinstance(nest, dict):
            return {name: rng.uniform(-0.5, 0.5, p.shape) for name, p in nest.items()}
        return [fill(part) for part in nest]

    return fill(network.parameters(D)[0])


def exact(nest):
    if isinstance(nest, dict):
        return {name: exact(W) for name, W in nest.items()}
    if isinstance(nest, list):
        return [exact(part) for part in nest]
    return np.vectorize(arb, otypes=[object])(nest)


def test_the_forward_error_holds_against_exact_arithmetic():
    """Arb numbers of 300 bits run through the same ``apply``."""
    network = Gated(D, du.Dense(D, du.LInf(0.5), K), du.LInf(0.5)) >> du.Dense(K, du.LInf(0.5), 1)
    η = forward_error(network, TOKENS)
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(8):
        nest = arrays(network, rng)
        X = rng.standard_normal((3, D))
        X *= (1 - 1e-12) / np.linalg.norm(X, axis=1).max()
        with ctx.workprec(300):
            off = network.apply(exact(nest), exact(X)) - exact(network.apply(nest, X))
            worst = max(worst, *(float(abs(entry).upper()) for entry in off.ravel()))
    assert 0 < worst <= η <= 1e4 * worst


def test_a_gate_around_a_node_without_a_rule_is_refused():
    glu = du.SwiGLU(D, 2, S(1.0), S(1.0), S(1.0))
    with pytest.raises(InputError, match="SwiGLU"):
        forward_error(Gated(D, glu, S(1.0)), TOKENS)


def test_a_node_that_says_nothing_of_rounding_is_refused():
    @dataclass(frozen=True)
    class Silent(Gated):
        def rounding(self, signal):
            return Node.rounding(self, signal)

    assert forward_error(GATED, TOKENS) < 1e-12
    with pytest.raises(InputError, match="Silent"):
        forward_error(Silent(D, GATED.inner, S(1.0)), TOKENS)
