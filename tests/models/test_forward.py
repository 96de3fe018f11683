"""Each model against the formula written anew in plain torch, and against torch's own layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dudley as du
from dudley.models import AndClassifier, HeadMLP
from dudley.networks.normalisers import normaliser
from dudley.theorems.constructions.assemble import build
from dudley.theorems.constructions.targets import target
from each import each
from model_cases import CASES


def softmax(s):
    return torch.softmax(s, -1)


def project(Z):
    return Z / Z.norm(dim=-1, keepdim=True).clamp(min=1)


def head(X, p, σ, mix=softmax, scale=1.0):
    """Every row asks; the papers' σ(softmax(X W_QK Xᵀ) X W_v) W_c."""
    W_QK = p["W_QK"] if "W_QK" in p else p["W_Q"] @ p["W_K"].T
    Y = σ(mix(torch.einsum("ntd,de,nse->nts", X, W_QK, X) * scale) @ X @ p["W_v"])
    return Y @ p["W_c"]


def sparsemax(s):
    return normaliser("sparsemax").apply(s)


def trauger(Z, p):
    W = [p["0.W_QK"], p["0.W_v"], p["3.W_c"]]
    return project(torch.relu(project(softmax(Z @ W[0] @ Z.mT) @ Z @ W[1])) @ W[2])


def li(Z, p):
    inner = torch.relu(softmax(Z @ p["0.W_QK"] @ Z.mT) @ Z @ p["0.W_v"]) @ p["0.W_c"]
    return project(torch.relu(project(inner)))


def below(p, prefix):
    return {n.removeprefix(prefix): W for n, W in p.items() if n.startswith(prefix)}


def concatenated(X, p, H):
    k = p["W_Q"].shape[1] // H
    Q, K, V = (X @ p[f"W_{n}"] + p.get(f"b_{n}", 0) for n in ("Q", "K", "v"))
    heads = []
    for h in range(H):
        s = slice(h * k, (h + 1) * k)
        heads.append(softmax(Q[..., s] @ K[..., s].mT / k**0.5) @ V[..., s])
    return torch.cat(heads, -1) @ p["W_c"] + p.get("b_c", 0)


def and_classifier(X, p):
    def ln(Z, q):
        return F.layer_norm(Z, Z.shape[-1:], q["gain"].flatten(), q["bias"].flatten(), 1e-5)

    Z = X @ p["0.W_E"] + p["1.P"]
    Z = Z + concatenated(ln(Z, below(p, "2.0.0.")), below(p, "2.0.1."), 2)
    q = below(p, "2.1.")
    wide = F.gelu(ln(Z, below(q, "0.")) @ q["1.W_1"] + q["1.b_1"])
    Z = Z + wide @ q["2.W_2"] + q["2.b_2"]
    return (ln(Z, below(p, "3.")) @ p["4.W"])[:, -1:]


def majority(X, p):
    Y = torch.relu(concatenated(X, below(p, "0."), 2))
    return ((Y @ p["2.W_1"] + p["2.b_1"]) @ p["3.W"] + p["3.b"])[:, -1:]


def general(X, p, g, mix, σ_in, σ_out, scale=1.0):
    z = X[:, -1]
    scores = g(torch.einsum("ntd,de,ne->nt", X, p["0.W_QK"], z) * scale)
    y = torch.einsum("nt,ntk->nk", mix(scores), σ_in(X @ p["0.W_v"]))
    return (σ_out(y) @ p["1.w"])[:, None, :]


def head_mlp(X, p):
    y = sum(head(X, below(p, f"0.{h}."), lambda x: x) for h in range(2))
    y = torch.relu(y @ p["1.W_1"] + p["1.b_1"])
    return (torch.relu(y @ p["2.W_2"] + p["2.b_2"]) @ p["3.w"])[:, -1:]


def encoder(X, p):
    rows = []
    for i in range(X.shape[1]):
        a = softmax((X @ p["0.W_K"] @ p["0.W_Q"].T @ X[:, i, :, None])[..., 0] / 6**0.5)
        rows.append(torch.relu((a[:, None, :] @ X)[:, 0] @ p["0.W_v"]) @ p["1.w"])
    return torch.stack(rows).mean(0)[:, None, :]


def cls(Y, w):
    return Y[:, -1:] @ w


ORACLES = {
    "single head": lambda X, p: cls(head(X, below(p, "0."), torch.relu), p["1.w"]),
    "single head apart": lambda X, p: cls(head(X, below(p, "0."), F.gelu, scale=0.5), p["1.w"]),
    "single head sparsemax": lambda X, p: cls(
        head(X, below(p, "0."), torch.relu, sparsemax), p["1.w"]
    ),
    "multi-head": lambda X, p: cls(
        sum(head(X, below(p, f"0.{h}."), torch.relu) for h in range(3)), p["1.w"]
    ),
    "concatenated heads": lambda X, p: cls(concatenated(X, below(p, "0."), 2), p["1.w"]),
    "concatenated heads plain": lambda X, p: cls(concatenated(X, below(p, "0."), 2), p["1.w"]),
    "trauger block": trauger,
    "li block": li,
    "trauger layers": lambda X, p: cls(
        trauger(trauger(X, below(p, "0.")), below(p, "1.")), p["2.w"]
    ),
    "li layers": lambda X, p: cls(li(li(X, below(p, "0.")), below(p, "1.")), p["2.w"]),
    "general attention": lambda X, p: general(
        X, p, torch.tanh, softmax, lambda x: x, torch.relu
    ),
    "general sparsemax": lambda X, p: general(
        X, p, lambda s: s, sparsemax, F.gelu, torch.tanh, 0.5
    ),
    "head and MLP": head_mlp,
    "shallow encoder": encoder,
    "and classifier": and_classifier,
    "majority classifier": majority,
}  # fmt: skip


def test_every_model_has_an_oracle():
    assert ORACLES.keys() == CASES.keys()


@each("name", CASES)
def test_forward_is_the_formula(name):
    model = CASES[name].model()
    X = CASES[name].inputs(model) * 1.7
    named = {n.removeprefix("weights."): W.detach() for n, W in model.named_parameters()}
    output, wanted = model(X), ORACLES[name](X, named)
    assert output.shape == wanted.shape
    torch.testing.assert_close(output, wanted, rtol=1e-11, atol=1e-12)


def test_concatenated_heads_are_torch_multihead_attention():
    model = CASES["concatenated heads"].model()
    p = dict(model.weights[0].named_parameters())
    theirs = nn.MultiheadAttention(4, 2, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p["W_Q"], p["W_K"], p["W_v"]], 1).T)
        theirs.in_proj_bias.copy_(torch.cat([p["b_Q"], p["b_K"], p["b_v"]], 1)[0])
        theirs.out_proj.weight.copy_(p["W_c"].T)
        theirs.out_proj.bias.copy_(p["b_c"][0])
    X = CASES["concatenated heads"].inputs(model)
    wanted = theirs(X, X, X)[0][:, -1:] @ model.weights[1].w
    torch.testing.assert_close(model(X), wanted)


def test_and_classifier_is_a_pre_norm_encoder_layer():
    model: AndClassifier = CASES["and classifier"].model()  # pyright: ignore
    p = {n.removeprefix("weights."): W.detach() for n, W in model.named_parameters()}
    theirs = nn.TransformerEncoderLayer(
        4, 2, 16, 0.1, "gelu", batch_first=True, norm_first=True, dtype=torch.float64
    ).eval()
    q, m = below(p, "2.0.1."), below(p, "2.1.")
    attention = theirs.self_attn
    copies = {
        attention.in_proj_weight: torch.cat([q["W_Q"], q["W_K"], q["W_v"]], 1).T,
        attention.in_proj_bias: torch.cat([q["b_Q"], q["b_K"], q["b_v"]], 1)[0],
        attention.out_proj.weight: q["W_c"].T,
        attention.out_proj.bias: q["b_c"][0],
        theirs.norm1.weight: p["2.0.0.gain"][:, 0],
        theirs.norm1.bias: p["2.0.0.bias"][0],
        theirs.norm2.weight: m["0.gain"][:, 0],
        theirs.norm2.bias: m["0.bias"][0],
        theirs.linear1.weight: m["1.W_1"].T,
        theirs.linear1.bias: m["1.b_1"][0],
        theirs.linear2.weight: m["2.W_2"].T,
        theirs.linear2.bias: m["2.b_2"][0],
    }
    with torch.no_grad():
        for theirs_W, W in copies.items():
            theirs_W.copy_(W)
    bits = torch.tensor([[0, 1, 1, 0], [1, 1, 1, 1]])
    codes = torch.cat([bits, torch.full((2, 1), 2)], -1)
    Z = theirs(F.embedding(codes, p["0.W_E"]) + p["1.P"])
    Z = F.layer_norm(Z, (4,), p["3.gain"][:, 0], p["3.bias"][0], 1e-5)
    torch.testing.assert_close(model(model.tokens(bits)), (Z @ p["4.W"])[:, -1:])


def test_head_and_mlp_holds_a_construction():
    """Parity of three of five bits, exactly, with the weights of appendix B."""
    built = build(target("parity", 3), T=5, mapping="positions", heads="s", seed=1)
    params = [*built.params]
    d, k = params[0][0]["W_v"].shape
    widths = (params[1]["W_1"].shape[1], params[2]["W_2"].shape[1])
    model = HeadMLP(d, widths, k, H=len(params[0])).double().eval()
    state = {f"weights.0.{h}.{n}": W for h, own in enumerate(params[0]) for n, W in own.items()}
    state |= {f"weights.{i}.{n}": W for i in (1, 2, 3) for n, W in params[i].items()}
    model.load_state_dict({n: torch.as_tensor(np.array(W)) for n, W in state.items()})
    bits = np.array([[b >> i & 1 for i in range(5)] for b in range(32)])
    X = torch.as_tensor(np.array(built.selector.mapping(bits)))
    output = model(X)[:, 0, 0].detach().numpy()
    assert np.abs(output - built.wanted(bits)).max() < 1e-9
    assert set(np.round(output)) == {0, 1}


def test_majority_tokens_are_as_the_script_makes_them():
    model = CASES["majority classifier"].model()
    gram = model.table @ model.table.T
    assert (gram - gram.diag().diag()).abs().max() < 1e-7
    torch.testing.assert_close(model.table.abs().sum(-1), torch.ones(3, dtype=torch.float64))
    X = model.tokens(torch.tensor([[0, 1, 0, 1]]))
    torch.testing.assert_close(X[0, 4] - model.positions[4], model.table[2])
    even, odd = model.positions[:, ::2], model.positions[:, 1::2]
    assert even[0].abs().max() == 0 and (odd[0] == 1).all()
    torch.testing.assert_close(even[1, 0], torch.tensor(np.sin(1.0)), rtol=1e-6, atol=0)
    allowed = model.inputs
    every = model.tokens(torch.tensor([[b >> i & 1 for i in range(4)] for b in range(16)]))
    for p, bound in ((2, allowed.row2inf), (1, allowed.row1inf)):
        largest = float(every.norm(p, -1).max())
        assert largest <= bound <= largest * (1 + 1e-9)


@pytest.mark.parametrize("name", ["and classifier", "majority classifier"])
@pytest.mark.parametrize("bits", [[[0, 1, 2, 0]], [[0, 1, 1]], [[0.5, 0, 0, 1]]])
def test_other_than_bits_is_refused(name, bits):
    with pytest.raises(du.InputError, match="zeros and ones"):
        CASES[name].model().tokens(torch.tensor(bits))  # pyright: ignore
