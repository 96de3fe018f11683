"""Tiny checkpoints with names, shapes and configs as Hugging Face and torch write them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

d, H, L, K, V, T = 8, 2, 2, 12, 11, 6  # width, heads, layers, hidden width, vocabulary, positions


class Maker:
    """Random tensors by name; `linear` stores out×in, as torch does."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.tensors: dict[str, np.ndarray] = {}

    def put(self, name: str, *shape: int, scale: float = 0.5, around: float = 0.0) -> None:
        values = around + scale * self.rng.standard_normal(shape)
        self.tensors[name] = values.astype(np.float32)

    def linear(self, name: str, a: int, b: int, bias: bool = True) -> None:
        self.put(f"{name}.weight", b, a)
        if bias:
            self.put(f"{name}.bias", b, scale=0.1)

    def norm(self, name: str, width: int = d, bias: bool = True) -> None:
        self.put(f"{name}.weight", width, scale=0.1, around=1.0)
        if bias:
            self.put(f"{name}.bias", width, scale=0.1)


def bert(seed: int = 0, prefix: str = "", model_type: str = "bert"):
    m, e = Maker(seed), f"{prefix}embeddings"
    segments = 2 if model_type == "bert" else 1
    places = T if model_type == "bert" else T + 2  # RoBERTa's begin behind that of the padding, 1
    m.put(f"{e}.word_embeddings.weight", V, d)
    m.put(f"{e}.position_embeddings.weight", places, d)
    m.put(f"{e}.token_type_embeddings.weight", segments, d)
    m.norm(f"{e}.LayerNorm")
    m.tensors[f"{e}.position_ids"] = np.arange(places)[None]
    for i in range(L):
        at = f"{prefix}encoder.layer.{i}"
        for name in ("query", "key", "value"):
            m.linear(f"{at}.attention.self.{name}", d, d)
        m.linear(f"{at}.attention.output.dense", d, d)
        m.norm(f"{at}.attention.output.LayerNorm")
        m.linear(f"{at}.intermediate.dense", d, K)
        m.linear(f"{at}.output.dense", K, d)
        m.norm(f"{at}.output.LayerNorm")
    m.linear(f"{prefix}pooler.dense", d, d)
    config = {
        "model_type": model_type, "hidden_size": d, "num_hidden_layers": L,
        "num_attention_heads": H, "intermediate_size": K, "vocab_size": V, "hidden_act": "gelu",
        "max_position_embeddings": places, "type_vocab_size": segments, "layer_norm_eps": 1e-12,
        "position_embedding_type": "absolute",
    }  # fmt: skip
    return config, m.tensors


def roberta(seed: int = 1):
    config, tensors = bert(seed, "roberta.", "roberta")
    tensors = {name: value for name, value in tensors.items() if "pooler" not in name}
    m = Maker(seed + 100)
    m.linear("lm_head.dense", d, d)
    m.norm("lm_head.layer_norm")
    m.put("lm_head.bias", V)
    config |= {"layer_norm_eps": 1e-5, "architectures": ["RobertaForMaskedLM"]}
    return config, tensors | m.tensors


def distilbert(seed: int = 2):
    m, e = Maker(seed), "distilbert.embeddings"
    m.put(f"{e}.word_embeddings.weight", V, d)
    m.put(f"{e}.position_embeddings.weight", T, d)
    m.norm(f"{e}.LayerNorm")
    for i in range(L):
        at = f"distilbert.transformer.layer.{i}"
        for name in ("q_lin", "k_lin", "v_lin", "out_lin"):
            m.linear(f"{at}.attention.{name}", d, d)
        m.norm(f"{at}.sa_layer_norm")
        m.linear(f"{at}.ffn.lin1", d, K)
        m.linear(f"{at}.ffn.lin2", K, d)
        m.norm(f"{at}.output_layer_norm")
    m.linear("pre_classifier", d, d)
    m.linear("classifier", d, 2)
    config = {
        "model_type": "distilbert", "dim": d, "n_layers": L, "n_heads": H, "hidden_dim": K,
        "vocab_size": V, "max_position_embeddings": T, "activation": "gelu",
        "architectures": ["DistilBertForSequenceClassification"],
    }  # fmt: skip
    return config, m.tensors


def gpt2(seed: int = 3, prefix: str = "transformer."):
    m = Maker(seed)
    m.put(f"{prefix}wte.weight", V, d)
    m.put(f"{prefix}wpe.weight", T, d)

    def conv1d(name: str, a: int, b: int) -> None:
        m.put(f"{name}.weight", a, b)
        m.put(f"{name}.bias", b, scale=0.1)

    for i in range(L):
        at = f"{prefix}h.{i}"
        m.norm(f"{at}.ln_1")
        conv1d(f"{at}.attn.c_attn", d, 3 * d)
        conv1d(f"{at}.attn.c_proj", d, d)
        m.tensors[f"{at}.attn.bias"] = np.tril(np.ones((1, 1, T, T), dtype=np.uint8))
        m.norm(f"{at}.ln_2")
        conv1d(f"{at}.mlp.c_fc", d, K)
        conv1d(f"{at}.mlp.c_proj", K, d)
    m.norm(f"{prefix}ln_f")
    config = {
        "model_type": "gpt2", "n_embd": d, "n_layer": L, "n_head": H, "n_positions": T,
        "vocab_size": V, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
        "architectures": ["GPT2LMHeadModel"],
    }  # fmt: skip
    return config, m.tensors


def vit(seed: int = 4):
    m, e = Maker(seed), "vit.embeddings"
    m.put(f"{e}.cls_token", 1, 1, d)
    m.put(f"{e}.position_embeddings", 1, 5, d)
    m.put(f"{e}.patch_embeddings.projection.weight", d, 3, 2, 2)
    m.put(f"{e}.patch_embeddings.projection.bias", d, scale=0.1)
    for i in range(L):
        at = f"vit.encoder.layer.{i}"
        m.norm(f"{at}.layernorm_before")
        for name in ("query", "key", "value"):
            m.linear(f"{at}.attention.attention.{name}", d, d)
        m.linear(f"{at}.attention.output.dense", d, d)
        m.norm(f"{at}.layernorm_after")
        m.linear(f"{at}.intermediate.dense", d, K)
        m.linear(f"{at}.output.dense", K, d)
    m.norm("vit.layernorm")
    m.linear("classifier", d, 3)
    config = {
        "model_type": "vit", "hidden_size": d, "num_hidden_layers": L, "num_attention_heads": H,
        "intermediate_size": K, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "image_size": 4,
        "patch_size": 2, "architectures": ["ViTForImageClassification"],
    }  # fmt: skip
    return config, m.tensors


def llama(seed: int = 5, model_type: str = "llama", tied: bool = False):
    m, k, groups = Maker(seed), 4, 1
    m.put("model.embed_tokens.weight", V, d)
    for i in range(L):
        at = f"model.layers.{i}"
        m.norm(f"{at}.input_layernorm", bias=False)
        bias = model_type == "qwen2"
        m.linear(f"{at}.self_attn.q_proj", d, H * k, bias)
        m.linear(f"{at}.self_attn.k_proj", d, groups * k, bias)
        m.linear(f"{at}.self_attn.v_proj", d, groups * k, bias)
        m.linear(f"{at}.self_attn.o_proj", H * k, d, False)
        if model_type == "qwen3":
            m.norm(f"{at}.self_attn.q_norm", k, bias=False)
            m.norm(f"{at}.self_attn.k_norm", k, bias=False)
        m.norm(f"{at}.post_attention_layernorm", bias=False)
        m.linear(f"{at}.mlp.gate_proj", d, K, False)
        m.linear(f"{at}.mlp.up_proj", d, K, False)
        m.linear(f"{at}.mlp.down_proj", K, d, False)
    m.put("model.layers.0.self_attn.rotary_emb.inv_freq", k // 2)
    m.norm("model.norm", bias=False)
    if not tied:
        m.linear("lm_head", d, V, False)
    config = {
        "model_type": model_type, "hidden_size": d, "num_hidden_layers": L,
        "num_attention_heads": H, "num_key_value_heads": groups, "head_dim": k,
        "intermediate_size": K, "vocab_size": V, "hidden_act": "silu", "rms_norm_eps": 1e-6,
        "max_position_embeddings": 16, "tie_word_embeddings": tied,
        "architectures": ["LlamaForCausalLM"],
    }  # fmt: skip
    return config, m.tensors


def with_head(made, name: str, layers: dict, without: tuple[str, ...] = ()):
    """A checkpoint of another class: some tensors gone, layers (in, out, bias) or norms added."""
    config, tensors = made
    tensors = {key: value for key, value in tensors.items() if not key.startswith(without)}
    m = Maker(77)
    for at, how in layers.items():
        m.norm(at) if how == "norm" else m.linear(at, *how)
    return config | {"architectures": [name]}, tensors | m.tensors


def classifiers():
    """A checkpoint for each family that classifies, three classes each."""
    gpt2_made, llama_made = gpt2(), llama()
    return {
        "bert": with_head(
            bert(prefix="bert."), "BertForSequenceClassification", {"classifier": (d, 3)}
        ),
        "roberta": with_head(
            roberta(),
            "RobertaForSequenceClassification",
            {"classifier.dense": (d, d), "classifier.out_proj": (d, 3)},
            ("lm_head",),
        ),
        "distilbert": with_head(
            distilbert(),
            "DistilBertForSequenceClassification",
            {"classifier": (d, 3)},
            ("classifier",),
        ),
        "vit": vit(),
        "gpt2": with_head(gpt2_made, "GPT2ForSequenceClassification", {"score": (d, 3, False)}),
        "llama": with_head(
            llama_made, "LlamaForSequenceClassification", {"score": (d, 3, False)}, ("lm_head",)
        ),
    }


def language_models():
    """A checkpoint for each family that predicts tokens, tied to the vocabulary or not."""
    at = "cls.predictions"
    transform = {f"{at}.transform.dense": (d, d), f"{at}.transform.LayerNorm": "norm"}
    config, tensors = with_head(
        bert(prefix="bert."), "BertForMaskedLM", transform, ("bert.pooler",)
    )
    bias = Maker(5)
    bias.put(f"{at}.bias", V)
    decoder = Maker(6)
    decoder.linear(f"{at}.decoder", d, V)
    apart = config | {"tie_word_embeddings": False}
    vocab = {"vocab_transform": (d, d), "vocab_layer_norm": "norm", "vocab_projector": (d, V)}
    distil = with_head(
        distilbert(), "DistilBertForMaskedLM", vocab, ("pre_classifier", "classifier")
    )
    table = distil[1]["distilbert.embeddings.word_embeddings.weight"]
    return {
        "bert": (config, tensors | bias.tensors),
        "bert-apart": (apart, tensors | decoder.tensors),
        "roberta": roberta(),
        "distilbert": (distil[0], distil[1] | {"vocab_projector.weight": table.copy()}),
        "gpt2": gpt2(),
        "llama": llama(),
        "qwen2": llama(7, "qwen2", tied=True),
        "qwen3": llama(8, "qwen3", tied=True),
    }


FAMILIES = {
    "bert": bert,
    "roberta": roberta,
    "distilbert": distilbert,
    "gpt2": gpt2,
    "vit": vit,
    "llama": llama,
    "mistral": lambda: llama(6, "mistral"),
    "qwen2": lambda: llama(7, "qwen2", tied=True),
    "qwen3": lambda: llama(8, "qwen3", tied=True),
}


def write(folder: Path, config: dict | None, tensors: dict[str, np.ndarray]) -> Path:
    """A folder as `save_pretrained` leaves it."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        text = json.dumps(config, indent=2, sort_keys=True)
        (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    save_file(tensors, folder / "model.safetensors")
    return folder
