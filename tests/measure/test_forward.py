"""Each family's description, run on the stored weights, is the family's network.

The references are written here with torch's functions and the checkpoints' own names, as the
families' modelling code does, and know nothing of layouts.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import checkpoints
import dudley as du
from checkpoints import FAMILIES, H, L, V, d
from dudley.measure.network import describe
from dudley.measure.run import planned
from dudley.measure.weights import open_weights


def heads(x, k):
    return x.unflatten(-1, (-1, k)).transpose(-2, -3)  # (…, heads, T, k)


def bert(t, tokens, p=""):
    def linear(name, x):
        return F.linear(x, t[f"{name}.weight"], t[f"{name}.bias"])

    def norm(name, x, eps):
        return F.layer_norm(x, (d,), t[f"{name}.weight"], t[f"{name}.bias"], eps)

    e = f"{p}embeddings"
    eps = 1e-5 if p else 1e-12
    x = t[f"{e}.word_embeddings.weight"][tokens]
    x = x + t[f"{e}.position_embeddings.weight"][: len(tokens)]
    x = norm(f"{e}.LayerNorm", x + t[f"{e}.token_type_embeddings.weight"][0], eps)
    for i in range(L):
        at = f"{p}encoder.layer.{i}"
        q, k, v = (
            heads(linear(f"{at}.attention.self.{n}", x), d // H) for n in ("query", "key", "value")
        )
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(-2, -3).flatten(-2)
        y = linear(f"{at}.attention.output.dense", mixed)
        x = norm(f"{at}.attention.output.LayerNorm", x + y, eps)
        y = linear(f"{at}.output.dense", F.gelu(linear(f"{at}.intermediate.dense", x)))
        x = norm(f"{at}.output.LayerNorm", x + y, eps)
    return x


def gpt2(t, tokens):
    def conv1d(name, x):
        return x @ t[f"transformer.{name}.weight"] + t[f"transformer.{name}.bias"]

    def norm(name, x):
        weight, bias = t[f"transformer.{name}.weight"], t[f"transformer.{name}.bias"]
        return F.layer_norm(x, (d,), weight, bias, 1e-5)

    x = t["transformer.wte.weight"][tokens] + t["transformer.wpe.weight"][: len(tokens)]
    for i in range(L):
        q, k, v = conv1d(f"h.{i}.attn.c_attn", norm(f"h.{i}.ln_1", x)).split(d, dim=-1)
        q, k, v = (heads(part, d // H) for part in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + conv1d(f"h.{i}.attn.c_proj", mixed.transpose(-2, -3).flatten(-2))
        y = F.gelu(conv1d(f"h.{i}.mlp.c_fc", norm(f"h.{i}.ln_2", x)), approximate="tanh")
        x = x + conv1d(f"h.{i}.mlp.c_proj", y)
    return norm("ln_f", x)


def llama(t, tokens, qk_norm=False):
    k, T = 4, len(tokens)

    def norm(name, x):
        return F.rms_norm(x, (x.shape[-1],), t[name], 1e-6)

    def linear(name, x):
        return F.linear(x, t[f"{name}.weight"], t.get(f"{name}.bias"))

    frequencies = 10000.0 ** (-torch.arange(0, k, 2, dtype=torch.float64) / k)
    angles = torch.arange(T, dtype=torch.float64)[:, None] * frequencies
    cos, sin = (torch.cat([f(angles)] * 2, dim=-1) for f in (torch.cos, torch.sin))

    def rotate(x):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-b, a], dim=-1) * sin

    x = t["model.embed_tokens.weight"][tokens]
    for i in range(L):
        at = f"model.layers.{i}"
        y = norm(f"{at}.input_layernorm.weight", x)
        q, key, v = (heads(linear(f"{at}.self_attn.{n}_proj", y), k) for n in "qkv")
        if qk_norm:
            q = norm(f"{at}.self_attn.q_norm.weight", q)
            key = norm(f"{at}.self_attn.k_norm.weight", key)
        share = H // key.shape[-3]
        key, v = (part.repeat_interleave(share, dim=-3) for part in (rotate(key), v))
        mixed = F.scaled_dot_product_attention(rotate(q), key, v, is_causal=True)
        x = x + linear(f"{at}.self_attn.o_proj", mixed.transpose(-2, -3).flatten(-2))
        y = norm(f"{at}.post_attention_layernorm.weight", x)
        gate = F.silu(linear(f"{at}.mlp.gate_proj", y)) * linear(f"{at}.mlp.up_proj", y)
        x = x + linear(f"{at}.mlp.down_proj", gate)
    return norm("model.norm.weight", x)


REFERENCES = {
    "bert": bert,
    "roberta": lambda t, tokens: bert(t, tokens, "roberta."),
    "gpt2": gpt2,
    "llama": llama,
    "qwen2": llama,
    "qwen3": lambda t, tokens: llama(t, tokens, qk_norm=True),
}


def filled(network, load: dict):
    """The network's parameters with the stored matrices, by the order of use."""
    norms = [("ln_E", None)] if ("ln_E.gain", None) in load else []
    norms += [(f"ln_{j}", i) for i in range(L) for j in (1, 2)] + [("ln_f", None)]
    layer = -1

    def fill(part):
        nonlocal layer
        if isinstance(part, list):
            return [fill(one) for one in part]
        if "gain" in part:
            name, i = norms.pop(0)
            return {key: load[f"{name}.{key}", i] for key in part}
        layer += "W_Q" in part
        return {key: load[key, layer if (key, layer) in load else None] for key in part}

    return fill(network.parameters(V)[0])


@pytest.mark.parametrize("name", REFERENCES)
def test_the_description_computes_what_the_family_computes(tmp_path, name: str):
    config, tensors = FAMILIES[name]()
    folder = checkpoints.write(tmp_path, config, tensors)
    found = describe(du.measure(folder), {"T": 5, "w.l2": 1.0})
    with open_weights(folder) as weights:
        made = planned(weights, folder, None)
        load = {
            key: m.load(weights.load).double().numpy().copy() for key, m in made.matrices.items()
        }
    if ("W_S", None) in load:
        load["b_E", None] = load["W_S", None][:1]
    body = du.Chain(found.network.nodes[:-1])  # without the readout
    params = filled(body, load)
    tokens = np.array([3, 0, V - 1, 3, 7])
    ours = body.apply(params, np.eye(V)[tokens])
    stored = {
        key: torch.from_numpy(value).double() if value.dtype == np.float32 else None
        for key, value in tensors.items()
    }
    theirs = REFERENCES[name](stored, torch.from_numpy(tokens)).numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)
    swapped = dict(load)
    swapped["W_Q", 0], swapped["W_K", 0] = load["W_K", 0], load["W_Q", 0]
    if load["W_Q", 0].shape == load["W_K", 0].shape:  # the check sees a wrong role
        assert not np.allclose(body.apply(filled(body, swapped), np.eye(V)[tokens]), theirs)
