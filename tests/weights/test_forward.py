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
from checkpoints import H, L, V, d
from dudley.networks.alarms import norm_layers
from dudley.weights.activations import with_levels
from dudley.weights.measure import plan_of
from dudley.weights.named_tensors import open_weights
from dudley.weights.network import describe


def heads(x, k):
    return x.unflatten(-1, (-1, k)).transpose(-2, -3)  # (…, heads, T, k)


def bert(t, tokens, p="", eps=1e-12, first=0):
    def linear(name, x):
        return F.linear(x, t[f"{name}.weight"], t[f"{name}.bias"])

    def norm(name, x, eps):
        return F.layer_norm(x, (d,), t[f"{name}.weight"], t[f"{name}.bias"], eps)

    e = f"{p}embeddings"
    x = t[f"{e}.word_embeddings.weight"][tokens]
    x = x + t[f"{e}.position_embeddings.weight"][first:][: len(tokens)]
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


def distilbert(t, tokens):
    """BERT's blocks under other names, without segments."""
    names = {
        "transformer.layer": "encoder.layer", "attention.q_lin": "attention.self.query",
        "attention.k_lin": "attention.self.key", "attention.v_lin": "attention.self.value",
        "attention.out_lin": "attention.output.dense", "ffn.lin1": "intermediate.dense",
        "sa_layer_norm": "attention.output.LayerNorm", "ffn.lin2": "output.dense",
        "output_layer_norm": "output.LayerNorm",
    }  # fmt: skip
    renamed = {"embeddings.token_type_embeddings.weight": torch.zeros(1, d, dtype=torch.float64)}
    for key, value in t.items():
        key = key.removeprefix("distilbert.")
        for there, here in names.items():
            key = key.replace(there, here)
        renamed[key] = value
    return bert(renamed, tokens)


def vit(t, patches):
    def linear(name, x):
        return F.linear(x, t[f"{name}.weight"], t[f"{name}.bias"])

    def norm(name, x):
        return F.layer_norm(x, (d,), t[f"{name}.weight"], t[f"{name}.bias"], 1e-12)

    e = "vit.embeddings"
    W, b = (t[f"{e}.patch_embeddings.projection.{part}"] for part in ("weight", "bias"))
    x = patches @ W.reshape(d, -1).T + b
    x = torch.cat([t[f"{e}.cls_token"][0], x]) + t[f"{e}.position_embeddings"][0]
    for i in range(L):
        at = f"vit.encoder.layer.{i}"
        y = norm(f"{at}.layernorm_before", x)
        q, k, v = (
            heads(linear(f"{at}.attention.attention.{n}", y), d // H)
            for n in ("query", "key", "value")
        )
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(-2, -3).flatten(-2)
        x = x + linear(f"{at}.attention.output.dense", mixed)
        y = F.gelu(linear(f"{at}.intermediate.dense", norm(f"{at}.layernorm_after", x)))
        x = x + linear(f"{at}.output.dense", y)
    return norm("vit.layernorm", x)


BODIES = {
    "bert": lambda t, tokens: bert(t, tokens, "bert.", 1e-12),
    "roberta": lambda t, tokens: bert(t, tokens, "roberta.", 1e-5, 2),
    "distilbert": distilbert,
    "vit": vit,
    "gpt2": gpt2,
    "llama": llama,
    "qwen2": llama,
    "qwen3": lambda t, tokens: llama(t, tokens, qk_norm=True),
}


def classes_of(name: str, t, x):
    """Logits of the classes from the rows of the body."""

    def linear(at, x):
        return F.linear(x, t[f"{at}.weight"], t.get(f"{at}.bias"))

    if name == "bert":
        return linear("classifier", torch.tanh(linear("bert.pooler.dense", x[0])))
    if name == "roberta":
        return linear("classifier.out_proj", torch.tanh(linear("classifier.dense", x[0])))
    if name == "distilbert":
        return linear("classifier", torch.relu(linear("pre_classifier", x[0])))
    return linear("classifier", x[0]) if name == "vit" else linear("score", x[-1])


def tokens_of(name: str, t, x):
    """Logits of the vocabulary at the last row, from the rows of the body."""

    def changed(dense, norm, x, eps):
        y = F.gelu(F.linear(x, t[f"{dense}.weight"], t[f"{dense}.bias"]))
        return F.layer_norm(y, (d,), t[f"{norm}.weight"], t[f"{norm}.bias"], eps)

    if name.startswith("bert"):
        at = "cls.predictions"
        y = changed(f"{at}.transform.dense", f"{at}.transform.LayerNorm", x[-1], 1e-12)
        if name == "bert-apart":
            return F.linear(y, t[f"{at}.decoder.weight"], t[f"{at}.decoder.bias"])
        return F.linear(y, t["bert.embeddings.word_embeddings.weight"], t[f"{at}.bias"])
    if name == "roberta":
        y = changed("lm_head.dense", "lm_head.layer_norm", x[-1], 1e-5)
        return F.linear(y, t["roberta.embeddings.word_embeddings.weight"], t["lm_head.bias"])
    if name == "distilbert":
        y = changed("vocab_transform", "vocab_layer_norm", x[-1], 1e-12)
        return F.linear(y, t["vocab_projector.weight"], t["vocab_projector.bias"])
    tables = ("lm_head.weight", "transformer.wte.weight", "model.embed_tokens.weight")
    return F.linear(x[-1], next(t[table] for table in tables if table in t))


def filled(network, load: dict, width: int):
    """The network's parameters with the stored matrices, by the order of use."""
    norms = [("ln_E", None)] if ("ln_E.gain", None) in load else []
    norms += [(f"ln_{j}", i) for i in range(L) for j in (1, 2)]
    norms += [(name, None) for name in ("ln_f", "ln_pre") if (f"{name}.gain", None) in load]
    layer = -1

    def fill(part):
        nonlocal layer
        if isinstance(part, list):
            return [fill(one) for one in part]
        if "gain" in part:
            name, i = norms.pop(0)
            return {key: load[f"{name}.{key}", i] for key in part}
        if set(part) <= {"W", "b"} and layer >= 0:  # logits
            return {key: load[f"{key}_logits", None] for key in part}
        layer += "W_Q" in part
        return {key: load[key, layer if (key, layer) in load else None] for key in part}

    return fill(network.parameters(width)[0])


def matrices(folder) -> dict:
    """The stored matrices by role and layer, and what the network makes of them at its ends."""
    with open_weights(folder) as weights:
        made = plan_of(weights, folder, None)
        load = {
            key: m.load(weights.load).double().numpy().copy() for key, m in made.matrices.items()
        }
    if ("W_S", None) in load:
        load["b_E", None] = load["W_S", None][:1]
    if ("W_patch", None) in load:
        load["W", None], load["b", None] = load["W_patch", None], load["b_patch", None]
        load["P", None][0] += (load["cls", None] - load["b_patch", None])[0]
    kind = "cls" if ("W_cls", None) in load else "out"
    tied = load["W_E", None].T if ("W_E", None) in load else None
    load["W_logits", None] = load.get((f"W_{kind}", None), tied)
    load["b_logits", None] = load.get((f"b_{kind}", None))
    return load


def swapped(load: dict, first: tuple, other: tuple) -> dict:
    """The same with two matrices in the place of one another."""
    return load | {first: load[other], other: load[first]}


def check_forward(folder, tensors, reference, name: str, more: dict | None = None) -> None:
    """The description, run on the stored weights, gives what the reference gives."""
    overrides = {"X.row2inf": 9.0, "T": 5} if name == "vit" else {"T": 5}
    network = describe(du.measure(folder), overrides).network
    load = matrices(folder) | (more or {})
    stored = {
        key: torch.from_numpy(value).double() if value.dtype == np.float32 else None
        for key, value in tensors.items()
    }
    tokens = np.array([3, 0, V - 1, 3, 7])
    X, ours = np.eye(V)[tokens], torch.from_numpy(tokens)
    if name == "vit":
        patches = np.random.default_rng(0).standard_normal((4, 12))
        X, ours = np.concatenate([np.zeros((1, 12)), patches]), torch.from_numpy(patches)
    theirs = reference(stored, BODIES[name.removesuffix("-apart")](stored, ours)).numpy()

    def run(load: dict):
        return network.apply(filled(network, load, X.shape[1]), X)[0]

    np.testing.assert_allclose(run(load), theirs, rtol=1e-8, atol=1e-9)
    if load["W_Q", 0].shape == load["W_K", 0].shape:  # the check sees a wrong role
        assert not np.allclose(run(swapped(load, ("W_Q", 0), ("W_K", 0))), theirs)
    for role in ("W_pool", "W_pre"):
        if (role, None) in load:
            assert not np.allclose(run(load | {(role, None): 2 * load[role, None]}), theirs)


@pytest.mark.parametrize("name", checkpoints.classifiers())
def test_a_classifier_is_described_with_its_head(tmp_path, name: str):
    config, tensors = checkpoints.classifiers()[name]
    folder = checkpoints.write(tmp_path, config, tensors)
    check_forward(folder, tensors, lambda t, x: classes_of(name, t, x), name)


@pytest.mark.parametrize("name", checkpoints.language_models())
def test_a_language_model_is_described_with_its_head(tmp_path, name: str):
    config, tensors = checkpoints.language_models()[name]
    folder = checkpoints.write(tmp_path, config, tensors)
    check_forward(folder, tensors, lambda t, x: tokens_of(name, t, x), name)


@pytest.mark.parametrize("name", ["bert", "vit"])
def test_without_logits_a_readout_reads_the_pooler(tmp_path, name: str):
    made = checkpoints.bert(prefix="bert.") if name == "bert" else checkpoints.vit()
    pooler = f"{name}.pooler.dense"
    config, tensors = checkpoints.with_head(made, "XModel", {pooler: (d, d)}, ("classifier",))
    folder = checkpoints.write(tmp_path, config, tensors)
    w = np.random.default_rng(1).standard_normal((d, 1))

    def read(t, x):
        y = torch.tanh(F.linear(x[0], t[f"{pooler}.weight"], t[f"{pooler}.bias"]))
        return y @ torch.from_numpy(w)

    check_forward(folder, tensors, read, name, {("w", None): w})


# -- the levels of norm layers -------------------------------------------------------------------


def stds_of_the_reference(monkeypatch, run) -> list[float]:
    """The least standard deviation (or root mean square) of the rows of every norm that torch runs.

    Head-wise norms of queries and keys have no level, and are narrower than the network.
    """
    seen: list[float] = []

    def recording(norm, centered: bool):
        def recorded(x, shape, *others):
            if shape == (d,):
                c = x - x.mean(-1, keepdim=True) if centered else x
                seen.append(float((c * c).mean(-1).sqrt().min()))
            return norm(x, shape, *others)

        return recorded

    for name, centered in (("layer_norm", True), ("rms_norm", False)):
        monkeypatch.setattr(F, name, recording(getattr(F, name), centered))
    run()
    return seen


NETWORKS = {
    **{(name, "classes"): checkpoints.classifiers()[name] for name in checkpoints.classifiers()},
    **{(name, "tokens"): made for name, made in checkpoints.language_models().items()},
}


@pytest.mark.parametrize("name, kind", NETWORKS)
def test_levels_are_what_the_norm_layers_of_the_reference_read(
    tmp_path, monkeypatch, name: str, kind: str
):
    config, tensors = NETWORKS[name, kind]
    folder = checkpoints.write(tmp_path, config, tensors)
    described = describe(du.measure(folder), {"X.row2inf": 9.0, "T": 5} if name == "vit" else {})
    t = {n: torch.from_numpy(v).double() for n, v in tensors.items() if v.dtype == np.float32}
    rng = np.random.default_rng(4)
    if name == "vit":
        patches = rng.standard_normal((3, 4, 12))
        X, theirs = np.concatenate([np.zeros((3, 1, 12)), patches], axis=1), patches
    else:
        X = theirs = rng.integers(0, V, (3, 5))
    whole = classes_of if kind == "classes" else tokens_of

    def run():
        for example in torch.from_numpy(theirs):
            whole(name, t, BODIES[name.removesuffix("-apart")](t, example))

    every = np.reshape(stds_of_the_reference(monkeypatch, run), (3, -1))
    read = with_levels(described, folder, X)
    levels = [layer.least_std for layer in norm_layers(read.network)]
    assert all(isinstance(level, du.Observed) for level in levels)
    np.testing.assert_allclose(levels, every.min(axis=0), rtol=1e-9)


def test_rows_that_enter_the_first_block_have_passed_the_norm_of_the_embedding(tmp_path):
    config, tensors = checkpoints.classifiers()["bert"]
    folder = checkpoints.write(tmp_path, config, tensors)
    X = np.random.default_rng(5).integers(0, V, (3, 5))
    m = du.measure(folder)
    whole = with_levels(describe(m, {"T": 5}), folder, X)
    t = {n: torch.from_numpy(v).double() for n, v in tensors.items() if v.dtype == np.float32}
    e = "bert.embeddings"
    x = t[f"{e}.word_embeddings.weight"][X] + t[f"{e}.position_embeddings.weight"][:5]
    x = x + t[f"{e}.token_type_embeddings.weight"][0]
    at = f"{e}.LayerNorm"
    rows = F.layer_norm(x, (d,), t[f"{at}.weight"], t[f"{at}.bias"], 1e-12).numpy()
    inside = with_levels(describe(m, {"T": 5, "X.row2inf": 99.0}), folder, rows)
    levels = [[ln.least_std for ln in norm_layers(part.network)] for part in (whole, inside)]
    np.testing.assert_allclose(levels[1], levels[0][1:], rtol=1e-9)


def test_levels_of_a_live_module_are_read_from_rows():
    torch.manual_seed(2)
    layer = torch.nn.TransformerEncoderLayer(d, H, 12, 0.0, batch_first=True, norm_first=True)
    module = torch.nn.TransformerEncoder(
        layer, L, torch.nn.LayerNorm(d), enable_nested_tensor=False
    )
    module = module.double().eval()
    X = np.random.default_rng(0).standard_normal((3, 5, d))
    R = float(np.linalg.norm(X, axis=-1).max())
    described = describe(du.measure(module), {"T": 5, "X.row2inf": R})
    levels = [ln.least_std for ln in norm_layers(with_levels(described, module, X).network)]
    assert len(levels) == 2 * L + 1
    assert levels[0] == pytest.approx(X.std(-1).min(), rel=1e-12)
    with torch.no_grad():
        last = module.layers[1](module.layers[0](torch.from_numpy(X)))  # pyright: ignore
    assert levels[-1] == pytest.approx(float(last.numpy().std(-1).min()), rel=1e-9)
    for wrong, message in ((2 * X, "norm at most"), (X[:, :, :3], "floats"), (X > 0, "floats")):
        with pytest.raises(du.InputError, match=message):
            with_levels(described, module, wrong)
    with pytest.raises(du.InputError, match="rows that vary, got a constant row at norm layer 1"):
        with_levels(described, module, np.ones((1, 1, d)) * R / d)
