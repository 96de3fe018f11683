"""Every node's facts against what random and gradient search find on concrete weights.

``python tests/conformance/test_nodes.py`` prints the table of ratios found/declared.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pytest
import torch

import dudley as du
from dudley.audit.backend import tensor
from dudley.audit.balls import clip_rows, rows
from dudley.audit.climb import climb
from dudley.audit.problem import SearchProblem, signal_of
from dudley.audit.search import search
from dudley.core.entropy import PowerLaw
from each import each
from node_cases import CASES, QUICK, S, check_facts, head, head_start

# What the search must reach, so that it can fail: (case, mode) -> share of the declared value.
SHARP = {
    ("dense", "radius"): 0.99,
    ("dense", "lipschitz"): 0.99,
    ("dense", "W"): 0.99,
    ("dense l1 inputs", "radius"): 0.95,
    ("dense relu", "b"): 0.99,
    ("dense gelu", "lipschitz"): 0.99,
    ("dense swish", "lipschitz"): 0.99,
    ("dense sigmoid", "lipschitz"): 0.99,
    ("dense own activation", "radius"): 0.99,
    ("activate softplus", "radius"): 0.9,
    ("swiglu", "lipschitz"): 0.9,
    ("geglu", "lipschitz"): 0.85,
    ("scale", "radius"): 0.99,
    ("scale", "lipschitz"): 0.99,
    ("layer scale", "lipschitz"): 0.95,
    ("layer scale", "gain"): 0.95,
    ("logits capped", "radius"): 0.8,
    ("mha turns", "W_v"): 0.9,
    ("project rows", "radius"): 0.99,
    ("project rows", "lipschitz"): 0.99,
    ("layer norm", "radius"): 0.99,
    ("layer norm", "lipschitz"): 0.95,
    ("layer norm tiny eps", "lipschitz"): 0.9,
    ("layer norm gain bias", "gain"): 0.95,
    ("layer norm gain bias", "bias"): 0.95,
    ("layer norm capped", "radius"): 0.99,
    ("layer norm capped", "lipschitz"): 0.99,
    ("layer norm capped gain bias", "gain"): 0.95,
    ("rms norm capped", "lipschitz"): 0.99,
    ("rms norm", "gain"): 0.95,
    ("readout", "w"): 0.99,
    ("logits", "W"): 0.99,
    ("logits", "lipschitz"): 0.99,
    ("logits bias", "b"): 0.99,
    ("logits bias", "radius"): 0.95,
    ("positions trained", "P"): 0.99,
    ("embedding", "W_E"): 0.99,
    ("head", "lipschitz"): 0.9,
    ("head", "W_QK"): 0.9,
    ("head", "W_v"): 0.95,
    ("head", "W_c"): 0.95,
    ("head fixed", "v"): 0.9,
    ("head own query", "v"): 0.9,
    ("head apart", "W_Q"): 0.9,
    ("head apart", "W_K"): 0.9,
    ("head sparsemax", "W_QK"): 0.9,
    ("head sigmoid", "W_QK"): 0.9,
    ("residual", "lipschitz"): 0.95,
    ("repeat residual", "0.W"): 0.9,
    ("trauger block", "lipschitz"): 0.9,
    ("trauger block", "0.W_QK"): 0.9,
    ("trauger block", "0.W_v"): 0.9,
    ("trauger block", "3.W_c"): 0.9,
    ("li block", "lipschitz"): 0.9,
    ("li block", "0.W_QK"): 0.9,
    ("mha", "W_Q"): 0.9,
    ("mha", "W_K"): 0.9,
    ("mha", "W_v"): 0.9,
    ("mha", "W_c"): 0.9,
    ("mha qk-norm", "W_Q"): 0.9,
    ("mha qk-norm", "g_k"): 0.9,
    ("mha sparsemax", "W_Q"): 0.9,
    ("mha sigmoid", "W_Q"): 0.9,
}


@pytest.mark.parametrize(
    "name, budget",
    [pytest.param(name, QUICK, id=f"{name}-quick") for name in dict.fromkeys(n for n, _ in SHARP)]
    + [pytest.param(name, {}, id=f"{name}-whole", marks=pytest.mark.slow) for name in CASES],
)
def test_facts_hold_and_are_reached(name, budget):
    best = check_facts(CASES[name], **budget).worst()
    short = {
        mode: (best[mode], share)
        for (case, mode), share in SHARP.items()
        if case == name and not best[mode] >= share
    }
    assert not short, f"the search stays below what it must reach: {short}"


@each("name", CASES)
def test_facts_hold_at_random(name):
    check_facts(CASES[name], restarts=12, steps=1, seed=1)


@pytest.mark.parametrize("name", ["head", "head cls", "head causal", "trauger block", "li block"])
def test_scores_by_their_actual_error(name):
    """The error of scores is max |x ΔW zᵀ| on the inputs, not the spectral norm of ΔW."""
    path = ("W_QK",) if name.startswith("head") else (0, "W_QK")
    ratios = check_facts(CASES[name], modes=[path, "weights"], scores=True)
    assert ratios.worst()[".".join(map(str, path))] > 0.9


# -- covers that leave the norm ball -------------------------------------------


def clip(x, radius):
    sizes = (x * x).sum(-1, keepdim=True).sqrt()
    return x * (radius / torch.maximum(sizes, radius * torch.ones_like(sizes)))


def clipped_head(node, B_v, B_QK=None, B_Q=None):
    """The covered head: scores, queries and hidden rows clipped to what the class allows."""

    def apply(params, x, R):
        if B_QK is not None:
            ρ = B_QK * R * R
            raw = x @ params["W_QK"] @ x.transpose(-1, -2)
            scores = torch.maximum(torch.minimum(raw, ρ), -ρ)
            mass = x.shape[-2] / (1 + x.shape[-2] * torch.exp(-ρ))
        else:
            q = clip(x @ params["W_Q"], B_Q * R)
            scores, mass = q @ (x @ params["W_K"]).transpose(-1, -2), 1
        A = du.networks.normalisers.normaliser(node.attention)
        mass = mass if node.attention == "sigmoid" else 1
        hidden = torch.relu(A.apply(scores) @ x @ params["W_v"])
        return clip(hidden, mass * B_v * R) @ params["W_c"]

    return apply


def outside(node, T=4, **more):
    return SearchProblem(node, T=T, radii=(0.1, 1.0), free_hats=True, **more)


def test_clipped_covers_may_leave_the_ball():
    softmax, sigmoid = head(), head(attention="sigmoid")
    apart = head(W_Q=S(1.5), W_K=S(1.2))
    for node, hats in (
        (softmax, clipped_head(softmax, 2.0, 2.0)),
        (sigmoid, clipped_head(sigmoid, 2.0, 2.0)),
        (apart, clipped_head(apart, 2.0, B_Q=1.5)),
    ):
        check_facts(outside(node, hat_apply=hats), modes=["weights"], restarts=24)


def test_heads_without_clipping_break():
    """T12 needs it: Ŵ_v outside its ball makes the rows that Ŵ_c sees too long."""
    for node in (head(), head(attention="sigmoid"), head(W_Q=S(1.5), W_K=S(1.2))):
        with pytest.raises(AssertionError):
            check_facts(outside(node), modes=["weights"], restarts=24)


SMALL_LI = du.li_block(4, S(1.0), S(0.005), S(0.005), k=3)


def clipped_li(params, x, R):
    first = SMALL_LI.nodes[0]
    y = clipped_head(first, 0.005, 1.0)(params[0], x, R)
    return clip(torch.relu(clip(y, torch.ones(()))), torch.ones(()))


def test_li_block_holds_with_clipping_and_breaks_without():
    """CATALOGUE §0.1: the li2026 block fails by a factor of a hundred without clipping."""
    check_facts(outside(SMALL_LI, hat_apply=clipped_li), modes=["weights"], restarts=24)
    wild = search(outside(SMALL_LI), modes=["weights"], restarts=24)
    assert max(wild.ratios.values()) > 50, wild.ratios

    def norms(W_v, W_c):
        X = np.eye(4)[:1]
        params = [{"W_QK": np.zeros((4, 4)), "W_v": W_v, "W_c": W_c}, {}, {}, {}]
        return SMALL_LI.apply(params, X)

    W_v, W_c = np.eye(4, 3), np.eye(3, 4)  # both 200 times outside
    uses = {u.name: float(u.weight) for u in SMALL_LI.facts(signal_of(1.0, 1, 4)).uses}
    gap = np.linalg.norm(norms(W_v, W_c) - norms(0.005 * W_v, 0 * W_c))
    assert gap / (uses["0.W_v"] * 0.995 + uses["0.W_c"] * 1.0) > 99


def test_trauger_block_stands_for_arbitrary_centres_where_its_projection_clips():
    """Where B_v·R ≥ 1 the inner projection is the clip. Where B_v·R < 1 the block's facts use that
    smaller radius for W_c (T11 says 1), and then this block too needs its hidden rows clipped.
    """
    node = du.trauger_block(4, S(2.0), S(2.0), S(1.5), k=3)
    wild = {"modes": ["weights"], "restarts": 24}
    ratios = check_facts(SearchProblem(node, radii=(0.5, 1.0), free_hats=True), **wild)
    assert max(ratios.ratios.values()) > 0.5
    with pytest.raises(AssertionError):
        check_facts(SearchProblem(node, radii=(0.1,), free_hats=True), **wild)


# -- the general head ----------------------------------------------------------


def general_head(C_norm=1.0, L_out=2.0, B_in=1.5):
    def softmax(s):  # (…, T, 1)
        e = torch.exp(s - s.amax(-2, keepdim=True))
        return e / e.sum(-2, keepdim=True)

    functions = (
        lambda p, x, z: torch.tanh(x @ p["W"] @ z.transpose(-1, -2)),
        softmax,
        lambda p, x: torch.relu(x @ p["V"]),
        lambda p, y: 2.0 * torch.tanh(y),
    )
    entropy = PowerLaw(1.0)
    return du.GeneralHead(entropy, entropy, C_norm, L_out, B_in, functions=functions)


def check_general_head(node, B=400, T=4, d=4):
    """Gradient search on ‖y − ŷ‖ against the errors of scores and inner rows, and on ‖y‖."""
    rng = np.random.default_rng(0)
    R = tensor(np.resize([0.1, 1.0, 3.0], B))
    facts = {r: node.facts(signal_of(r, T, d)) for r in (0.1, 1.0, 3.0)}
    weight = {
        name: tensor([float(u.weight) for r in R for u in facts[float(r)].uses if u.name == name])
        for name in ("score", "inner")
    }
    radius = tensor([float(facts[float(r)].out.radius) for r in R])
    scale = tensor(np.repeat([1e-3, 1.0], B // 2))[:, None, None]
    draws = {n: tensor(rng.normal(size=(B, d, d))) for n in ("W", "V", "dW", "dV")}
    X = tensor(rng.normal(size=(B, T, d)))
    variables = [*draws.values(), X]
    for v in variables:
        v.requires_grad_()
    score, _, phi_in, _ = node.functions

    def parts():
        V, moved = draws["V"], draws["V"] + scale * draws["dV"]
        p = {"W": draws["W"], "V": 1.5 * V / V.norm(dim=(-2, -1))[:, None, None]}
        q = {
            "W": draws["W"] + scale * draws["dW"],
            "V": 1.5 * moved / moved.norm(dim=(-2, -1))[:, None, None],
        }
        x = clip_rows(X * R[:, None, None], R)
        z = x[..., -1:, :]
        Δscore = (score(p, x, z) - score(q, x, z)).abs().amax((-2, -1))
        Δinner = rows(phi_in(p, x) - phi_in(q, x) + 1e-300)
        declared = weight["score"] * Δscore + weight["inner"] * Δinner + 1e-12
        return rows(node.apply(p, x) - node.apply(q, x)) / declared, rows(node.apply(p, x)) / radius

    climb(lambda: parts()[0], variables, 60, 0.08)
    change, size = (float(v.detach().max()) for v in parts())
    assert change <= 1 + 1e-6, f"change {change}"
    climb(lambda: parts()[1], variables, 60, 0.08)
    size = max(size, float(parts()[1].detach().max()))
    assert size <= 1 + 1e-6, f"size {size}"
    return change, size


def test_general_head():
    change, size = check_general_head(general_head())
    assert change > 0.9 and size > 0.9


@pytest.mark.parametrize("wrong", [{"C_norm": 0.4}, {"L_out": 1.0}, {"B_in": 1.0}])
def test_general_head_with_a_wrong_constant(wrong):
    with pytest.raises(AssertionError):
        check_general_head(general_head(**wrong))


def test_witnesses_are_inside():
    start = head_start()(1.0)
    assert np.linalg.norm(start.W[("W_QK",)], 2) <= 2.0 + 1e-12
    assert np.linalg.norm(start.X, axis=1).max() <= 1.0 + 1e-12


def table(names=CASES) -> str:
    """Ratios found/declared: for each node, the largest over the radii, by mode."""
    lines = []
    for name in names:
        best = search(CASES[name]).worst()
        lines.append(f"{name:26s} " + "  ".join(f"{mode} {v:.3f}" for mode, v in best.items()))
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
