"""GGUF files: the tensors of llama.cpp's format, and for Llama the names and the config of its own.

Elements are float16, bfloat16, float32 and float64, as stored, and the blocks of `readers.blocks`,
which come out as float64 without rounding. Other types (K-quants, integers) are skipped and named.

Where ``general.architecture`` is llama, tensors have the names that its family has elsewhere, and
the sizes are read from the settings. The rows of queries and keys, which the format keeps in the
order of its rotations (pairs side by side), are put back in halves, so that these are the matrices
of the model as it was trained. Tensors of other architectures keep their names, and have no config.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.backend import torch
from dudley.core.boundary.gguf import GgufHeader, read_gguf_header
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import UnknownName
from dudley.weights.named_tensors import TensorInfo, Weights
from dudley.weights.readers.blocks import BLOCKS, PLAIN, numbers

TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
PARTS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}  # fmt: skip
SIZES = {
    "hidden_size": "embedding_length", "num_hidden_layers": "block_count",
    "intermediate_size": "feed_forward_length", "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv", "max_position_embeddings": "context_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon", "rope_theta": "rope.freq_base",
    "head_dim": "attention.key_length",
}  # fmt: skip


class GgufFile(Weights):
    """Final: the tensors of one file."""

    def __init__(self, path: Path):
        self.source, self.tied, self._path = str(path), {}, path
        header = read_gguf_header(path)
        self._llama = header.settings.get("general.architecture") == "llama"
        self.config = llama_config(header, path) if self._llama else {}
        self._stored = {self._name(name): entry for name, entry in header.entries.items()}
        readable = {*PLAIN, *BLOCKS, "bfloat16"}
        self.skipped = {
            name: f"{entry.dtype}: only {', '.join(sorted(readable))} are read"
            for name, entry in self._stored.items()
            if entry.dtype not in readable
        }
        if self._llama and "rope_freqs.weight" in self._stored:
            self.skipped["rope_freqs.weight"] = "rotary frequencies, no weights"

    def names(self) -> list[str]:
        return [name for name in self._stored if name not in self.skipped]

    def info(self, name: str) -> TensorInfo:
        if name not in self._stored:
            raise UnknownName(f"tensor in {self.source}", name, self._stored)
        entry = self._stored[name]
        return TensorInfo(name, entry.shape, entry.dtype, entry.nbytes, self.source)

    def load(self, name: str) -> torch.Tensor:
        info = self.info(name)
        if name in self.skipped:
            raise refusal(self._path, "elements that are read", self.skipped[name], name)
        raw = np.fromfile(self._path, np.uint8, info.nbytes, offset=self._stored[name].begin)
        if len(raw) < info.nbytes:
            raise refusal(self._path, "as many bytes as before", "fewer: it was changed", name)
        return self._in_halves(name, _tensor(info.dtype, raw).reshape(info.shape))

    def _in_halves(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Rows of queries and keys, from pairs side by side to two halves for each head."""
        part = re.fullmatch(r"model\.layers\.\d+\.self_attn\.([qk])_proj\.(weight|bias)", name)
        if not self._llama or part is None:
            return tensor
        heads = self.config["num_attention_heads" if part[1] == "q" else "num_key_value_heads"]
        if tensor.shape[0] % (2 * heads):
            raise refusal(self._path, f"rows in pairs for {heads} heads", tensor.shape[0], name)
        pairs = tensor.reshape(heads, tensor.shape[0] // heads // 2, 2, *tensor.shape[1:])
        return pairs.transpose(1, 2).reshape(tensor.shape)

    def _name(self, stored: str) -> str:
        if not self._llama:
            return stored
        if stored in TOP:
            return TOP[stored]
        part = re.fullmatch(r"blk\.(\d+)\.(\w+)\.(weight|bias)", stored)
        if part is None or part[2] not in PARTS:
            return stored
        return f"model.layers.{part[1]}.{PARTS[part[2]]}.{part[3]}"


def _tensor(dtype: str, raw: np.ndarray) -> torch.Tensor:
    if dtype == "bfloat16":
        return torch.from_numpy(raw.view("<i2").astype(np.int16)).view(torch.bfloat16)
    if dtype in PLAIN:
        plain = np.dtype(PLAIN[dtype])
        return torch.from_numpy(raw.view(plain).astype(plain.newbyteorder("="), copy=False))
    return torch.from_numpy(numbers(dtype, raw))


def llama_config(header: GgufHeader, path: Path) -> dict[str, Any]:
    """The config of a Llama, from the settings of the file and the shapes of its tensors."""
    settings = header.settings
    config: dict[str, Any] = {"model_type": "llama", "hidden_act": "silu"}
    for name, stored in SIZES.items():
        value = settings.get(f"llama.{stored}")
        if value is not None:
            config[name] = value
    heads = config.get("num_attention_heads")
    config.setdefault("num_key_value_heads", heads)
    for name in ("hidden_size", "num_attention_heads", "num_key_value_heads"):
        if type(config.get(name)) is not int or not 1 <= config[name] < 1 << 32:
            raise refusal(path, f"a whole number llama.{SIZES[name]}", config.get(name))
    scaling = settings.get("llama.rope.scaling.type", "none")
    if scaling != "none":
        config["rope_scaling"] = {"rope_type": str(scaling)}
    config["tie_word_embeddings"] = "output.weight" not in header.entries
    if (table := header.entries.get("token_embd.weight")) is not None and table.shape:
        config["vocab_size"] = table.shape[0]
    return config
