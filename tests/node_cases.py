"""Every node in small sizes, and the starts at which the suprema of heads are nearly attained."""

from __future__ import annotations

import math

import numpy as np
import torch

import dudley as du
from dudley.audit.found import Found
from dudley.audit.problem import Problem
from dudley.audit.search import search
from dudley.audit.starts import Start
from dudley.calculus.compose import Chain, Heads, Parallel, Repeat, Residual
from dudley.networks.activations import ACTIVATIONS, Activation

torch.set_num_threads(1)
S, b = du.Spectral, du.L2
TRIPLE = Activation("triple", lambda x: 3 * x * (x > 0) + 0.5, 3.0, 0.5)

# The budget of `make test`: half the steps, longer ones. test_node_mutations.py finds every error
# that it plants with this budget.
QUICK = {"steps": 25, "lr": 0.12}


def check_facts(problem: Problem, **options) -> Found:
    """Raise if the search finds anything above what the node declares."""
    found = search(problem, **options)
    assert not found.exceeded(), f"found above declared: {found.exceeded()}"
    return found


def head_start(prefix=(), T=5, d=4, k=3, after=None, B=2.0):
    """Values ±e_1 with equal scores, and a query e_3 that overlooks itself.

    Rows of W_QK: e_3 ↦ −cos·e_3 (+ sin·e_2, through which keys act), e_1 ↦ e_1 (through which a
    moved query acts); ΔW_QK: e_3 ↦ e_1. ``after``: where the output matrix stands.
    """
    after = after or (*prefix, "W_c")

    def start(R):
        angle = min(math.pi / 2, 4 / (B * R * R))  # the query's own score is about −4
        W = np.zeros((d, d))
        W[0, 0], W[2, 1], W[2, 2] = 1, math.cos(angle), -math.sin(angle)
        D = np.zeros((d, d))
        D[2, 0] = 1
        X = np.zeros((T, d))
        X[:-1, 0] = R * np.resize([1, -1], T - 1)
        X[-1, 2] = R
        E = np.zeros((T, d))
        E[:-1, 1], E[-1, 0] = np.resize([1, -1], T - 1), 1
        weights = {(*prefix, "W_QK"): B * W, (*prefix, "W_v"): 9 * np.eye(d, k)}
        if after[-1] == "W_c":
            weights[after] = 9 * np.eye(k, d)
        return Start(weights, {(*prefix, "W_QK"): D}, X, E)

    return start


def head(**changes):
    own = {"W_v": S(2.0), "W_QK": S(2.0), "W_c": S(1.5), "k": 3} | changes
    if own.get("W_Q") is not None:
        own["W_QK"] = None
    return du.Head(4, **own)


def mha(d=4, H=2, **changes):
    return du.MultiHeadAttention(
        d, H, **({"W_Q": S(1.5), "W_K": S(2.0), "W_v": S(1.0), "W_c": S(1.5)} | changes)
    )


BIASES = {"b_Q": b(0.5), "b_K": b(0.7), "b_v": b(0.4), "b_c": b(0.3)}
MLP = du.MLP(4, 5, S(1.5), S(0.8), "gelu", b(0.3), b(0.2))
LN = du.LayerNorm(4, 0.3, du.LInf(1.5), b(0.4))
ATTENTION = {"d": 4, "H": 2, "W_Q": S(1.0), "W_K": S(1.2), "W_v": S(0.8), "W_c": S(1.1)}
TRAUGER = du.trauger_block(4, S(2.0), S(2.0), S(1.5), k=3)
TRAUGER_START = head_start((0,), after=(3, "W_c"))
SMALL = (0.1, 0.5, 1.0)  # linear attention: the floor falls like e^{−2R}

CASES: dict[str, Problem] = {
    "dense": Problem(du.Dense(4, S(2.0), 3)),
    "dense l11": Problem(du.Dense(4, du.L11(2.0), 3, b(0.5), "relu")),
    "dense frobenius": Problem(du.Dense(4, du.Frobenius(2.0), 3, b(0.5), "relu")),
    "dense row2inf": Problem(du.Dense(4, du.Row2Inf(1.0) & S(1.7), 3)),
    "dense l1 inputs": Problem(du.Dense(4, du.Row2Inf(1.0) & S(1.7), 3), l1=1.3),
    **{
        f"dense {σ}": Problem(du.Dense(4, S(2.0), 3, b(0.5), σ))
        for σ in sorted(ACTIVATIONS)
    },
    "dense own activation": Problem(du.Dense(4, S(2.0), 3, b(0.5), TRIPLE)),
    "mlp": Problem(MLP),
    "swiglu": Problem(du.SwiGLU(4, 3, S(1.5), S(2.0), S(0.7))),
    **{f"activate {σ}": Problem(du.Activate(σ)) for σ in sorted(ACTIVATIONS)},
    "activate own": Problem(du.Activate(TRIPLE)),
    "project rows": Problem(du.ProjectRows()),
    "layer norm": Problem(du.LayerNorm(4, 0.1)),
    "layer norm tiny eps": Problem(du.LayerNorm(4, 1e-5)),
    "layer norm gain bias": Problem(LN),
    "rms norm": Problem(du.RMSNorm(4, 0.1, du.LInf(2.0))),
    "pool cls": Problem(du.Pool("cls")),
    "pool mean": Problem(du.Pool("mean")),
    "readout": Problem(du.Readout(b(2.0))),
    "readout mean l1": Problem(du.Readout(du.L1(2.0), pool="mean")),
    "logits": Problem(du.Logits(5, du.Col2Inf(1.5)), logits=True),
    "logits rows": Problem(du.Logits(5, S(1.5), rows=2), logits=True),
    "logits bias": Problem(du.Logits(5, S(1.5), b=du.LInf(0.5)), logits=True),
    "positions fixed": Problem(du.Positions(4, 5, du.Row2Inf(0.7))),
    "positions trained": Problem(du.Positions(4, 5, du.Row2Inf(0.7), trained=True)),
    "embedding": Problem(
        du.Embedding(5, 3, du.Row2Inf(1.5)), d=5, radii=(1.0,), one_hot=True, l1=1.0
    ),
    "embedding positions head": Problem(
        du.Embedding(5, 4, du.Row2Inf(1.5)) >> du.Positions(4, 4, du.Row2Inf(0.5), True) >> head(),
        d=5,
        radii=(1.0,),
        one_hot=True,
        l1=1.0,
    ),
    "head": Problem(head(), T=5, witness=head_start()),
    "head cls": Problem(head(query="cls"), T=5, witness=head_start()),
    "head fixed": Problem(head(query="fixed", query_norm=1.5), T=5),
    "head own query": Problem(head(W_QK=None, query="fixed", v=S(1.8)), T=5),
    "head apart": Problem(head(W_Q=S(1.5), W_K=S(1.2)), T=5),
    "head apart cls": Problem(head(W_Q=S(1.5), W_K=S(1.2), query="cls"), T=3),
    "head papers": Problem(head(attention="softmax-papers"), T=5, witness=head_start()),
    "head sparsemax": Problem(head(attention="sparsemax"), T=5, witness=head_start()),
    "head sigmoid": Problem(head(attention="sigmoid"), T=5, witness=head_start()),
    "head causal": Problem(head(causal=True), T=5, witness=head_start()),
    "head causal sparsemax": Problem(head(causal=True, attention="sparsemax"), T=4),
    "head causal sigmoid": Problem(head(causal=True, attention="sigmoid"), T=4),
    "head without W_c": Problem(head(W_c=None), T=5, witness=head_start(after=("none",))),
    "head scale": Problem(head(scale=0.5), T=5, witness=head_start(B=1.0)),
    "head softplus": Problem(head(sigma="softplus"), T=5, witness=head_start()),
    "head own activation": Problem(head(sigma=TRIPLE), T=5, witness=head_start()),
    "head l11": Problem(head(W_QK=du.L11(2.0), W_v=du.L11(1.0), W_c=du.L11(1.0)), T=5),
    "head readout": Problem(head() >> du.Readout(b(2.0)), T=5),
    "heads": Problem(Heads(head(), 2), T=5),
    "parallel": Problem(Parallel((head(), head(W_v=S(0.5), attention="sparsemax"))), T=4),
    "residual": Problem(Residual(du.Dense(4, S(0.7), b=b(0.3), sigma="tanh"))),
    "chain": Problem(Chain((MLP, LN, du.Dense(4, S(0.5), 3)))),
    "repeat trauger": Problem(Repeat(TRAUGER, 2), T=5),
    "repeat residual": Problem(Repeat(Residual(du.Dense(4, S(0.7), sigma="relu")), 3)),
    "trauger block": Problem(TRAUGER, T=5, witness=TRAUGER_START),
    "trauger block softplus": Problem(
        du.trauger_block(4, S(2.0), S(2.0), S(1.5), k=3, sigma="softplus"), T=5
    ),
    "li block": Problem(
        du.li_block(4, S(2.0), S(2.0), S(1.5), k=3), T=5, witness=head_start((0,))
    ),
    "pre-ln block": Problem(du.pre_ln_block(MLP, LN, **ATTENTION)),
    "post-ln block": Problem(du.post_ln_block(MLP, LN, **ATTENTION)),
    "shallow encoder": Problem(du.shallow_encoder(4, 3, S(1.5), S(1.2), S(2.0), b(1.0))),
    "mha": Problem(mha()),
    "mha biases": Problem(mha(**BIASES)),
    "mha grouped": Problem(mha(d=8, H=4, groups=2, **BIASES), d=8),
    "mha one group": Problem(mha(d=6, H=3, groups=1, **BIASES), d=6),
    "mha rope": Problem(mha(rope=True, **BIASES)),
    "mha causal": Problem(mha(causal=True)),
    "mha qk-norm": Problem(mha(qk_norm=True, qk_eps=0.2, qk_gain=du.LInf(1.5))),
    "mha qk-norm plain": Problem(mha(qk_norm=True, qk_eps=0.2, b_Q=b(0.5), rope=True)),
    "mha qk-norm grouped": Problem(
        mha(d=8, H=4, groups=2, qk_norm=True, qk_eps=0.2, qk_gain=du.LInf(1.5)), d=8
    ),
    "mha linear": Problem(mha(attention="linear"), radii=SMALL),
    "mha linear biases causal": Problem(
        mha(attention="linear", causal=True, **BIASES), radii=SMALL
    ),
    "mha linear qk-norm": Problem(
        mha(attention="linear", qk_norm=True, qk_eps=0.5, qk_gain=du.LInf(0.7)), radii=SMALL
    ),
    "mha sigmoid": Problem(mha(attention="sigmoid")),
    "mha sparsemax": Problem(mha(attention="sparsemax")),
    "mha head width": Problem(mha(k=3, **BIASES)),
    "mha few tokens": Problem(mha(d=6, H=3), d=6, T=2),
    "mha sigmoid grouped": Problem(mha(H=2, k=2, groups=1, attention="sigmoid", **BIASES)),
}  # fmt: skip
