"""A test of the tests: plant a wrong constant in a node, and the search must find it."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dudley as du
from dudley.audit.problem import SearchProblem
from dudley.calculus import tie
from dudley.calculus.compose import Chain, Heads, Parallel, Residual
from dudley.calculus.repeat import Repeat
from dudley.core.magnitude import ONE, ZERO, Magnitude
from dudley.networks import pointwise
from dudley.networks.activations import Activation, activation
from dudley.networks.embeddings import Positions
from dudley.networks.outputs import Logits, Readout
from dudley.networks.pointwise import Dense, LayerNorm, Pool, ProjectRows, SwiGLU
from each import for_each
from node_cases import CASES, QUICK, TRAUGER, S, b, check_facts, head
from node_mutations import attribute, facts_with, lipschitz_of, planted, radius_of, use_times


def only_local(node, signal, facts):
    """Layer l of a stack of slope 2 sees rows of norm 2^l R; what comes after is forgotten."""
    radii = Magnitude(signal.radius.log + math.log(2.0) * np.arange(node.L))
    return replace(facts, uses=tuple(replace(u, weight=radii) for u in facts.uses))


repeat_forgets = facts_with(Repeat, only_local)
TRIPLED = Activation("tripled", lambda x: 3 * x * (x > 0), 3.0)
DENSE = du.Dense(4, S(2.0), 3, b(0.5), "relu")
GELU = activation("gelu")
LN = du.LayerNorm(4, 0.1, du.LInf(2.0), b(0.4))
CAPPED = du.LayerNorm(4, 1e-5, least_std=0.4)

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
        "the slope of a capped layer norm is a sixth too small",
        ["lipschitz"],
        CAPPED,
        lipschitz_of(LayerNorm, lambda n, s, f: f.lipschitz * (1 / 1.2)),
    ),
    planted(
        "a layer norm is capped at its level",
        ["lipschitz"],
        CAPPED,
        lipschitz_of(LayerNorm, lambda n, s, f: Magnitude.of(1 / 0.4)),
    ),
    planted(
        "the radius of a capped layer norm is a sixth too small",
        ["radius"],
        CAPPED,
        radius_of(LayerNorm, lambda n, s, f: f.out.radius * (1 / 1.2)),
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


def test_and_nothing_where_none_is_planted():
    for_each(
        ((m.id, *m.values[1:]) for m in MUTATIONS if "taken as" not in m.id),
        lambda problem, modes: check_facts(problem, modes=modes, restarts=12, steps=5),
    )


def test_tied_weights_must_add(monkeypatch):
    """Two layers that share one matrix: the larger of the two weights alone is too small."""
    shared = du.Dense(4, S(1.0).tied("W"))
    problem = SearchProblem(Chain((shared, shared)), ties={(1, "W"): ((0, "W"), False)})
    check_facts(problem, modes=["weights"])
    right = tie._merged
    monkeypatch.setattr(
        tie,
        "_merged",
        lambda name, group: replace(
            right(name, group), weight=Magnitude(max(float(u.weight.log) for u in group))
        ),
    )
    with pytest.raises(AssertionError, match="found above declared"):
        check_facts(problem, modes=["weights"])
