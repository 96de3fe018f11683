"""A test of the tests: plant a wrong constant in a node, and the search must find it."""

import math
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pytest

import dudley as du
from dudley.audit.problem import SearchProblem
from dudley.calculus import compose
from dudley.calculus.compose import Chain, Heads, Parallel, Repeat, Residual
from dudley.core.magnitude import ONE, ZERO, Magnitude
from dudley.networks import head as head_module, multihead, normalisers, pointwise
from dudley.networks.activations import Activation, activation
from dudley.networks.embeddings import Positions
from dudley.networks.head import Head
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.normalisers import Sigmoid, Softmax, Sparsemax
from dudley.networks.outputs import Logits, Readout
from dudley.networks.pointwise import Dense, LayerNorm, Pool, ProjectRows, SwiGLU
from node_cases import CASES, QUICK, TRAUGER, S, b, check_facts, head, head_start, mha


def facts_with(cls, change):
    """Patch ``cls.facts``: ``change(node, signal, facts)`` gives the wrong ones."""

    def patch(monkeypatch):
        right = cls.facts
        monkeypatch.setattr(
            cls, "facts", lambda self, signal: change(self, signal, right(self, signal))
        )

    return patch


def use_times(cls, names, factor):
    """Multiply the declared weights of some blocks by a factor (a number, or of the node)."""

    def change(node, signal, facts):
        f = factor(node, signal) if callable(factor) else factor
        uses = tuple(
            replace(u, weight=u.weight * f) if u.name in names.split() else u for u in facts.uses
        )
        return replace(facts, uses=uses)

    return facts_with(cls, change)


def lipschitz_of(cls, wrong):
    return facts_with(cls, lambda n, s, f: replace(f, lipschitz=wrong(n, s, f)))


def radius_of(cls, wrong):
    return facts_with(cls, lambda n, s, f: replace(f, out=replace(f.out, radius=wrong(n, s, f))))


def attribute(owner, name, value):
    return lambda monkeypatch: monkeypatch.setattr(owner, name, value)


def planted(name, modes, node, patch, **more):
    return pytest.param(patch, SearchProblem(node, **more), modes, id=name)


def only_local(node, signal, facts):
    """Layer l of a stack of slope 2 sees rows of norm 2^l R; what comes after is forgotten."""
    own = Magnitude(signal.radius.log + math.log(2.0) * np.arange(node.L))
    return replace(facts, uses=tuple(replace(u, weight=own) for u in facts.uses))


repeat_forgets = facts_with(Repeat, only_local)
TRIPLED = Activation("tripled", lambda x: 3 * x * (x > 0), 3.0)
DENSE = du.Dense(4, S(2.0), 3, b(0.5), "relu")
GELU = activation("gelu")
LN = du.LayerNorm(4, 0.1, du.LInf(2.0), b(0.4))
GROUPED = mha(b_v=b(0.4), b_c=b(0.5), b_Q=b(0.5))
START = {"T": 5, "witness": head_start()}
W_QK, W_v, W_c = ("W_QK",), ("W_v",), ("W_c",)

MUTATIONS = [
    # pointwise
    planted(
        "dense forgets W in its slope", ["lipschitz"], DENSE, lipschitz_of(Dense, lambda *_: ONE)
    ),
    planted("dense forgets R", [("W",)], DENSE, use_times(Dense, "W", lambda n, s: 1 / s.radius)),
    planted(
        "dense forgets L_σ",
        [("b",)],
        du.Dense(4, S(2.0), b=b(0.5), sigma=TRIPLED),
        use_times(Dense, "b", 1 / 3),
    ),
    planted(
        "the bias radius is ignored",
        ["radius"],
        DENSE,
        attribute(pointwise, "bias_norm", lambda *_: ZERO),
    ),
    planted(
        "gelu is taken as 1-Lipschitz",
        ["lipschitz"],
        du.Activate(Activation("gelu", GELU.apply, 1.0)),
        lambda _: None,
    ),
    planted(
        "softplus(0) is taken as 0",
        ["radius"],
        du.Activate(Activation("softplus", activation("softplus").apply, 1.0)),
        lambda _: None,
    ),
    planted(
        "σ(0) without √k",
        ["radius"],
        du.Activate("sigmoid"),
        radius_of(du.Activate, lambda n, s, f: s.radius * 0.25 + 0.5),
    ),
    planted(
        "swiglu forgets the gate's slope",
        ["lipschitz"],
        CASES["swiglu"].node,
        lipschitz_of(SwiGLU, lambda n, s, f: f.lipschitz * (1 / 2.09985)),
    ),
    planted(
        "swiglu forgets R",
        [("W_3",)],
        CASES["swiglu"].node,
        use_times(SwiGLU, "W_3", lambda n, s: 1 / s.radius),
    ),
    planted(
        "the projection is a half-contraction",
        ["lipschitz"],
        ProjectRows(),
        lipschitz_of(ProjectRows, lambda *_: Magnitude.of(0.5)),
    ),
    planted(
        "the slope of layer norm is g/√(4ε)",
        ["lipschitz"],
        LN,
        lipschitz_of(LayerNorm, lambda n, s, f: f.lipschitz * 0.5),
    ),
    planted(
        "the slope of layer norm is g/(R/√d)",
        ["lipschitz"],
        LN,
        lipschitz_of(LayerNorm, lambda n, s, f: 2 * 2 / s.radius),
    ),
    planted(
        "layer norm's radius forgets √d",
        ["radius"],
        LN,
        radius_of(LayerNorm, lambda n, s, f: f.out.radius * 0.5),
    ),
    planted(
        "a gain sees rows of norm 1",
        [("gain",)],
        LN,
        use_times(LayerNorm, "gain", 1 / math.sqrt(4)),
    ),
    planted(
        "pooling by the mean divides the slope",
        ["lipschitz"],
        Pool("mean"),
        lipschitz_of(Pool, lambda n, s, f: ONE * (1 / s.rows)),
    ),
    planted(
        "fixed positions move no radius",
        ["radius"],
        CASES["positions fixed"].node,
        radius_of(Positions, lambda n, s, f: s.radius),
    ),
    planted(
        "trained positions weigh half",
        [("P",)],
        CASES["positions trained"].node,
        use_times(Positions, "P", 0.5),
    ),
    # outputs
    planted(
        "the readout's slope is its largest entry",
        ["lipschitz"],
        Readout(b(2.0)),
        lipschitz_of(Readout, lambda n, s, f: f.lipschitz * 0.5),
    ),
    planted(
        "the readout forgets R",
        [("w",)],
        Readout(b(2.0)),
        use_times(Readout, "w", lambda n, s: 1 / s.radius),
    ),
    planted(
        "logits forget the columns' norm",
        ["lipschitz"],
        Logits(5, du.Col2Inf(1.5)),
        lipschitz_of(Logits, lambda *_: ONE),
        logits=True,
    ),
    # the head
    planted(
        "softmax with constant 1/2",
        [W_QK],
        head(),
        attribute(Softmax, "lipschitz", lambda *_: Magnitude.of(0.5)),
        **START,
    ),
    planted(
        "sparsemax with constant 1",
        [W_QK],
        head(attention="sparsemax"),
        attribute(Sparsemax, "lipschitz", lambda *_: ONE),
        **START,
    ),
    planted(
        "sigmoid with mass 1",
        ["radius"],
        head(attention="sigmoid"),
        attribute(Sigmoid, "mass", lambda *_: ONE),
        **START,
    ),
    planted(
        "sigmoid with slope 1/4",
        [W_QK],
        head(attention="sigmoid"),
        attribute(Sigmoid, "lipschitz", lambda *_: Magnitude.of(0.25)),
        **START,
    ),
    planted(
        "the score slope forgets its 2",
        ["lipschitz"],
        head(),
        lipschitz_of(Head, lambda n, s, f: 2.0 * 1.5 * (1 + 2.0 * s.radius**2)),
        **START,
    ),
    planted(
        "the score slope forgets R²",
        ["lipschitz"],
        head(),
        lipschitz_of(Head, lambda n, s, f: Magnitude.of(2.0 * 1.5 * 5)),
        **START,
    ),
    planted("the head forgets B_c", [W_v], head(), use_times(Head, "W_v", 1 / 1.5), **START),
    planted(
        "the head forgets B_v in the scores",
        [W_QK],
        head(),
        use_times(Head, "W_QK", 1 / 2.0),
        **START,
    ),
    planted(
        "the score weight forgets R",
        [W_QK],
        head(),
        use_times(Head, "W_QK", lambda n, s: 1 / s.radius),
        **START,
    ),
    planted(
        "the output matrix forgets B_v", [W_c], head(), use_times(Head, "W_c", 1 / 2.0), **START
    ),
    planted(
        "the hidden row forgets σ(0)",
        [W_c],
        head(sigma="softplus"),
        use_times(
            Head, "W_c", lambda n, s: 2 * s.radius / (2 * s.radius + math.log(2) * math.sqrt(3))
        ),
        **START,
    ),
    planted(
        "the scale is forgotten", [W_QK], head(scale=3.0), use_times(Head, "W_QK", 1 / 3), **START
    ),
    planted(
        "W_Q forgets W_K",
        [("W_Q",)],
        head(W_Q=S(1.5), W_K=S(1.2)),
        use_times(Head, "W_Q", 1 / 1.2),
        T=5,
    ),
    planted(
        "a fixed query forgets its norm",
        [("v",)],
        head(query="fixed", query_norm=1.5),
        use_times(Head, "v", 0.8),
        T=5,
    ),
    # many heads
    planted(
        "values without √H", [W_v], mha(), use_times(MultiHeadAttention, "W_v", 1 / math.sqrt(2))
    ),
    planted(
        "concatenated heads without √H",
        [W_c],
        mha(),
        use_times(MultiHeadAttention, "W_c", 1 / math.sqrt(2)),
    ),
    planted("no √H anywhere", ["radius"], mha(), attribute(multihead, "sqrt", lambda x: ONE)),
    planted(
        "queries forget r_k",
        [("W_Q",)],
        mha(),
        use_times(MultiHeadAttention, "W_Q", lambda n, s: 1 / (2.0 * s.radius)),
    ),
    planted(
        "keys forget r_q",
        [("W_K",)],
        mha(),
        use_times(MultiHeadAttention, "W_K", lambda n, s: 1 / (1.5 * s.radius)),
    ),
    planted(
        "scores forget 1/√k upside down",
        [("W_K",)],
        mha(),
        use_times(MultiHeadAttention, "W_K", 1 / math.sqrt(2)),
    ),
    planted(
        "biases widen nothing",
        ["radius"],
        GROUPED,
        attribute(multihead, "bias_norm", lambda *_: ZERO),
    ),
    planted(
        "the output bias weighs half",
        [("b_c",)],
        GROUPED,
        use_times(MultiHeadAttention, "b_c", 0.5),
    ),
    planted(
        "the value bias forgets B_c",
        [("b_v",)],
        GROUPED,
        use_times(MultiHeadAttention, "b_v", 1 / 1.5 / 1.42),
    ),
    planted(
        "grouped values weigh less",
        [W_v],
        mha(d=8, H=4, groups=2),
        use_times(MultiHeadAttention, "W_v", 1 / math.sqrt(2)),
        d=8,
    ),
    planted(
        "qk-norm forgets its slope",
        [("W_Q",)],
        CASES["mha qk-norm"].node,
        use_times(MultiHeadAttention, "W_Q", math.sqrt(0.2)),
    ),
    planted(
        "qk-norm gains weigh 1",
        [("g_k",)],
        CASES["mha qk-norm"].node,
        use_times(MultiHeadAttention, "g_k", 1 / math.sqrt(2)),
    ),
    planted(
        "linear attention forgets its floor",
        [("W_K",)],
        mha(attention="linear"),
        use_times(MultiHeadAttention, "W_K", 0.01),
        radii=(0.1, 0.5, 1.0),
    ),
    # composition
    planted(
        "a chain forgets what comes after",
        [(0, "W")],
        du.Dense(4, S(1.0)) >> du.Dense(4, S(2.0)),
        use_times(Chain, "0.W", 0.5),
    ),
    planted(
        "a chain multiplies no slopes",
        ["lipschitz"],
        du.Dense(4, S(2.0)) >> du.Dense(4, S(2.0)),
        lipschitz_of(Chain, lambda n, s, f: Magnitude.of(2.0)),
    ),
    planted(
        "a residual forgets the identity",
        ["lipschitz"],
        Residual(du.Dense(4, S(0.7))),
        lipschitz_of(Residual, lambda n, s, f: Magnitude.of(0.7)),
    ),
    planted(
        "a residual's radius is the larger",
        ["radius"],
        Residual(du.Dense(4, S(0.7))),
        radius_of(Residual, lambda n, s, f: s.radius),
    ),
    planted(
        "heads do not add",
        ["radius"],
        Heads(head(), 2),
        radius_of(Heads, lambda n, s, f: f.out.radius * 0.5),
    ),
    planted(
        "slopes of heads do not add",
        ["lipschitz"],
        Heads(head(), 2),
        lipschitz_of(Heads, lambda n, s, f: f.lipschitz * 0.5),
        T=5,
    ),
    planted(
        "parallel radii: the first alone",
        ["radius"],
        Parallel((head(), head())),
        radius_of(Parallel, lambda n, s, f: f.out.radius * 0.5),
    ),
    planted(
        "a repeat forgets the layers behind",
        [(0, "W")],
        Repeat(du.Dense(4, S(2.0)), 3),
        repeat_forgets,
    ),
    planted(
        "a block forgets L_σ",
        [(0, "W_v")],
        du.trauger_block(4, S(2.0), S(2.0), S(1.5), k=3, sigma=TRIPLED),
        use_times(Chain, "0.W_v", 1 / 3),
    ),
    planted(
        "the block's scores weigh half",
        [(0, "W_QK")],
        TRAUGER,
        use_times(Chain, "0.W_QK", 0.5),
        T=5,
        witness=CASES["trauger block"].witness,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("patch, problem, modes", MUTATIONS)
def test_the_search_sees_a_wrong_constant(monkeypatch, patch, problem, modes):
    patch(monkeypatch)
    with pytest.raises(AssertionError, match="found above declared"):
        check_facts(problem, modes=modes, **QUICK)


@pytest.mark.parametrize(
    "problem, modes",
    [m.values[1:] for m in MUTATIONS if "taken as" not in m.id],
    ids=[m.id for m in MUTATIONS if "taken as" not in m.id],
)
def test_and_nothing_where_none_is_planted(problem, modes):
    check_facts(problem, modes=modes, restarts=12, steps=5)


def test_tied_weights_must_add(monkeypatch):
    """Two layers that share one matrix: the larger of the two weights alone is too small."""
    shared = du.Dense(4, S(1.0).tied("W"))
    problem = SearchProblem(Chain((shared, shared)), ties={(1, "W"): ((0, "W"), False)})
    check_facts(problem, modes=["weights"])
    right = compose._merged
    monkeypatch.setattr(
        compose,
        "_merged",
        lambda name, group, circular: replace(
            right(name, group, circular), weight=Magnitude(max(float(u.weight.log) for u in group))
        ),
    )
    with pytest.raises(AssertionError, match="found above declared"):
        check_facts(problem, modes=["weights"])


def test_the_modules_that_are_patched_are_those_in_use():
    assert head_module.normaliser is normalisers.normaliser
    assert multihead.sqrt is pointwise.sqrt
