"""Every node in small sizes, and the starts at which the suprema of heads are nearly attained."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch

import dudley as du
from dudley.audit.problem import SearchProblem
from dudley.audit.search import search
from dudley.audit.search_ratios import SearchRatios
from dudley.audit.starts import Start
from dudley.calculus.compose import Chain, Heads, Parallel, Residual
from dudley.calculus.repeat import Repeat
from dudley.networks.activations import ACTIVATIONS, Activation
from dudley.networks.scaling import LayerScale, Scale

torch.set_num_threads(1)
S, b = du.Spectral, du.L2
TRIPLE = Activation("triple", lambda x: 3 * x * (x > 0) + 0.5, 3.0, 0.5)

# The budget of `make test`: half the steps, longer ones. test_node_mutations.py finds every error
# that it plants with this budget.
QUICK = {"steps": 25, "lr": 0.12}


def check_facts(problem: SearchProblem, **options) -> SearchRatios:
    """Raise if the search finds anything above what the node declares."""
    ratios = search(problem, **options)
    assert not ratios.exceeded(), f"found above declared: {ratios.exceeded()}"
    return ratios


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
    sets = {"W_v": S(2.0), "W_QK": S(2.0), "W_c": S(1.5), "k": 3} | changes
    if sets.get("W_Q") is not None:
        sets["W_QK"] = None
    return du.Head(4, **sets)


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

CASES: dict[str, SearchProblem] = {
    "dense": SearchProblem(du.Dense(4, S(2.0), 3)),
    "dense l11": SearchProblem(du.Dense(4, du.L11(2.0), 3, b(0.5), "relu")),
    "dense frobenius": SearchProblem(du.Dense(4, du.Frobenius(2.0), 3, b(0.5), "relu")),
    "dense row2inf": SearchProblem(du.Dense(4, du.Row2Inf(1.0) & S(1.7), 3)),
    "dense l1 inputs": SearchProblem(du.Dense(4, du.Row2Inf(1.0) & S(1.7), 3), l1=1.3),
    **{
        f"dense {σ}": SearchProblem(du.Dense(4, S(2.0), 3, b(0.5), σ))
        for σ in sorted(ACTIVATIONS)
    },
    "dense own activation": SearchProblem(du.Dense(4, S(2.0), 3, b(0.5), TRIPLE)),
    "mlp": SearchProblem(MLP),
    "swiglu": SearchProblem(du.SwiGLU(4, 3, S(1.5), S(2.0), S(0.7))),
    "geglu": SearchProblem(du.SwiGLU(4, 3, S(1.5), S(2.0), S(0.7), "gelu-tanh")),
    "scale": SearchProblem(Scale(1.7)),
    "layer scale": SearchProblem(LayerScale(4, du.LInf(1.5))),
    **{f"activate {σ}": SearchProblem(du.Activate(σ)) for σ in sorted(ACTIVATIONS)},
    "activate own": SearchProblem(du.Activate(TRIPLE)),
    "project rows": SearchProblem(du.ProjectRows()),
    "layer norm": SearchProblem(du.LayerNorm(4, 0.1)),
    "layer norm tiny eps": SearchProblem(du.LayerNorm(4, 1e-5)),
    "layer norm gain bias": SearchProblem(LN),
    "layer norm capped": SearchProblem(du.LayerNorm(4, 1e-5, least_std=0.4)),
    "layer norm capped gain bias": SearchProblem(replace(LN, least_std=0.8)),
    "rms norm capped": SearchProblem(du.RMSNorm(4, 1e-5, du.LInf(2.0), least_rms=0.4)),
    "rms norm": SearchProblem(du.RMSNorm(4, 0.1, du.LInf(2.0))),
    "pool cls": SearchProblem(du.Pool("cls")),
    "pool mean": SearchProblem(du.Pool("mean")),
    "readout": SearchProblem(du.Readout(b(2.0))),
    "readout mean l1": SearchProblem(du.Readout(du.L1(2.0), pool="mean")),
    "logits": SearchProblem(du.Logits(5, du.Col2Inf(1.5)), logits=True),
    "logits rows": SearchProblem(du.Logits(5, S(1.5), rows=2), logits=True),
    "logits capped": SearchProblem(
        du.Logits(5, S(1.5), b=du.LInf(0.5), cap=2.0), logits=True
    ),
    "logits bias": SearchProblem(du.Logits(5, S(1.5), b=du.LInf(0.5)), logits=True),
    "positions fixed": SearchProblem(du.Positions(4, 5, du.Row2Inf(0.7))),
    "positions trained": SearchProblem(du.Positions(4, 5, du.Row2Inf(0.7), trained=True)),
    "embedding": SearchProblem(
        du.Embedding(5, 3, du.Row2Inf(1.5)), d=5, radii=(1.0,), one_hot=True, l1=1.0
    ),
    "embedding positions head": SearchProblem(
        du.Embedding(5, 4, du.Row2Inf(1.5)) >> du.Positions(4, 4, du.Row2Inf(0.5), True) >> head(),
        d=5,
        radii=(1.0,),
        one_hot=True,
        l1=1.0,
    ),
    "head": SearchProblem(head(), T=5, witness=head_start()),
    "head cls": SearchProblem(head(query="cls"), T=5, witness=head_start()),
    "head fixed": SearchProblem(head(query="fixed", query_norm=1.5), T=5),
    "head own query": SearchProblem(head(W_QK=None, query="fixed", v=S(1.8)), T=5),
    "head apart": SearchProblem(head(W_Q=S(1.5), W_K=S(1.2)), T=5),
    "head apart cls": SearchProblem(head(W_Q=S(1.5), W_K=S(1.2), query="cls"), T=3),
    "head papers": SearchProblem(head(attention="softmax-papers"), T=5, witness=head_start()),
    "head sparsemax": SearchProblem(head(attention="sparsemax"), T=5, witness=head_start()),
    "head sigmoid": SearchProblem(head(attention="sigmoid"), T=5, witness=head_start()),
    "head causal": SearchProblem(head(causal=True), T=5, witness=head_start()),
    "head causal sparsemax": SearchProblem(head(causal=True, attention="sparsemax"), T=4),
    "head causal sigmoid": SearchProblem(head(causal=True, attention="sigmoid"), T=4),
    "head without W_c": SearchProblem(head(W_c=None), T=5, witness=head_start(after=("none",))),
    "head scale": SearchProblem(head(scale=0.5), T=5, witness=head_start(B=1.0)),
    "head softplus": SearchProblem(head(sigma="softplus"), T=5, witness=head_start()),
    "head own activation": SearchProblem(head(sigma=TRIPLE), T=5, witness=head_start()),
    "head l11": SearchProblem(head(W_QK=du.L11(2.0), W_v=du.L11(1.0), W_c=du.L11(1.0)), T=5),
    "head readout": SearchProblem(head() >> du.Readout(b(2.0)), T=5),
    "heads": SearchProblem(Heads(head(), 2), T=5),
    "parallel": SearchProblem(Parallel((head(), head(W_v=S(0.5), attention="sparsemax"))), T=4),
    "residual": SearchProblem(Residual(du.Dense(4, S(0.7), b=b(0.3), sigma="tanh"))),
    "chain": SearchProblem(Chain((MLP, LN, du.Dense(4, S(0.5), 3)))),
    "chain capped": SearchProblem(Chain((MLP, replace(LN, least_std=0.8), du.Dense(4, S(0.5), 3)))),
    "repeat trauger": SearchProblem(Repeat(TRAUGER, 2), T=5),
    "repeat residual": SearchProblem(Repeat(Residual(du.Dense(4, S(0.7), sigma="relu")), 3)),
    "trauger block": SearchProblem(TRAUGER, T=5, witness=TRAUGER_START),
    "trauger block softplus": SearchProblem(
        du.trauger_block(4, S(2.0), S(2.0), S(1.5), k=3, sigma="softplus"), T=5
    ),
    "li block": SearchProblem(
        du.li_block(4, S(2.0), S(2.0), S(1.5), k=3), T=5, witness=head_start((0,))
    ),
    "pre-ln block": SearchProblem(du.pre_ln_block(MLP, LN, **ATTENTION)),
    "post-ln block": SearchProblem(du.post_ln_block(MLP, LN, **ATTENTION)),
    "shallow encoder": SearchProblem(du.shallow_encoder(4, 3, S(1.5), S(1.2), S(2.0), b(1.0))),
    "mha": SearchProblem(mha()),
    "mha biases": SearchProblem(mha(**BIASES)),
    "mha grouped": SearchProblem(mha(d=8, H=4, groups=2, **BIASES), d=8),
    "mha one group": SearchProblem(mha(d=6, H=3, groups=1, **BIASES), d=6),
    "mha rope": SearchProblem(mha(rope=True, **BIASES)),
    "mha turns": SearchProblem(mha(rope=True, turns=(0.3,), **BIASES)),
    "mha capped": SearchProblem(mha(cap=0.8, **BIASES)),
    "mha capped sigmoid": SearchProblem(mha(cap=0.8, attention="sigmoid", **BIASES)),
    "mha causal": SearchProblem(mha(causal=True)),
    "mha qk-norm": SearchProblem(mha(qk_norm=True, qk_eps=0.2, qk_gain=du.LInf(1.5))),
    "mha qk-norm plain": SearchProblem(mha(qk_norm=True, qk_eps=0.2, b_Q=b(0.5), rope=True)),
    "mha qk-norm grouped": SearchProblem(
        mha(d=8, H=4, groups=2, qk_norm=True, qk_eps=0.2, qk_gain=du.LInf(1.5)), d=8
    ),
    "mha linear": SearchProblem(mha(attention="linear"), radii=SMALL),
    "mha linear biases causal": SearchProblem(
        mha(attention="linear", causal=True, **BIASES), radii=SMALL
    ),
    "mha linear qk-norm": SearchProblem(
        mha(attention="linear", qk_norm=True, qk_eps=0.5, qk_gain=du.LInf(0.7)), radii=SMALL
    ),
    "mha sigmoid": SearchProblem(mha(attention="sigmoid")),
    "mha sparsemax": SearchProblem(mha(attention="sparsemax")),
    "mha head width": SearchProblem(mha(k=3, **BIASES)),
    "mha few tokens": SearchProblem(mha(d=6, H=3), d=6, T=2),
    "mha sigmoid grouped": SearchProblem(mha(H=2, k=2, groups=1, attention="sigmoid", **BIASES)),
}  # fmt: skip
