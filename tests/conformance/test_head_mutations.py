"""A test of the tests: a wrong constant planted in one head or in many is found."""

import math

import pytest

from dudley.core.magnitude import ONE, ZERO, Magnitude
from dudley.networks import head as head_module, multihead, normalisers, pointwise
from dudley.networks.head import Head
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.normalisers import Sigmoid, Softmax, Sparsemax
from each import for_each
from node_cases import CASES, QUICK, S, b, check_facts, head, head_start, mha
from node_mutations import attribute, lipschitz_of, planted, use_times

GROUPED = mha(b_v=b(0.4), b_c=b(0.5), b_Q=b(0.5))
START = {"T": 5, "witness": head_start()}
W_QK, W_v, W_c = ("W_QK",), ("W_v",), ("W_c",)

MUTATIONS = [
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


def test_the_modules_that_are_patched_are_those_in_use():
    assert head_module.normaliser is normalisers.normaliser
    assert multihead.sqrt is pointwise.sqrt
