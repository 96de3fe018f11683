"""GGUF files: the tensors of llama.cpp's format, by the names and the config of their family.

Elements are float16, bfloat16, float32 and float64, as stored, and the blocks of `readers.blocks`,
which come out as float64 without rounding. Other types (other K-quants, integers) are skipped, and
named.

Where ``general.architecture`` is one of `readers.gguf_names`, tensors have the names that the
family has elsewhere, and the sizes are read from the settings. What the format changed is put back,
so that these are the matrices of the model as it was trained: rows of queries and keys in pairs are
put in halves, and what was added to gains is taken off. Tensors of other architectures keep their
names, and the config has the name of the architecture alone.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dudley.core.backend import torch
from dudley.core.boundary.gguf import read_gguf_header
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import UnknownName
from dudley.weights.named_tensors import TensorInfo, Weights
from dudley.weights.readers.blocks import BLOCKS, PLAIN, numbers
from dudley.weights.readers.gguf_names import ARCHITECTURES, config_of


class GgufFile(Weights):
    """Final: the tensors of one file."""

    def __init__(self, path: Path):
        self.source, self.tied, self._path = str(path), {}, path
        header = read_gguf_header(path)
        stated = header.settings.get("general.architecture")
        self._known = ARCHITECTURES.get(stated) if isinstance(stated, str) else None
        self.config = config_of(header, path) if self._known else {"general.architecture": stated}
        self._stored = {self._name(name): entry for name, entry in header.entries.items()}
        if len(self._stored) < len(header.entries):
            raise refusal(path, "a name of its own for each tensor", "two names of the same one")
        readable = {*PLAIN, *BLOCKS, "bfloat16"}
        self.skipped = {
            name: f"{entry.dtype}: only {', '.join(sorted(readable))} are read"
            for name, entry in self._stored.items()
            if entry.dtype not in readable
        }
        if self._known and "rope_freqs.weight" in self._stored:
            self.skipped["rope_freqs.weight"] = "rotary frequencies, no weights"

    def names(self) -> list[str]:
        return [name for name in self._stored if name not in self.skipped]

    def info(self, name: str) -> TensorInfo:
        if name not in self._stored:
            raise UnknownName(f"tensor in {self.source}", name, self._stored)
        entry = self._stored[name]
        return TensorInfo(name, entry.shape, entry.dtype, entry.nbytes, self.source)

    def load(self, name: str) -> torch.Tensor:
        tensor = self._as_stored(name)
        if self._added(name):
            return tensor.double() - self._added(name)
        return self._in_halves(name, tensor) if self._known and self._known.pairs else tensor

    def error(self, name: str) -> float:
        """What the subtraction g − a loses, entry by entry, without a rounding (Knuth's sum).

        0 for a float32 gain of absolute value 2^−29 to 2^52.
        """
        added = self._added(name)
        if not added:
            return 0.0
        g = self._as_stored(name).double()
        w = g - added
        back = w - g
        lost = (g - (w - back)) + (-added - back)
        return 1.001 * float(torch.linalg.vector_norm(lost))

    def _added(self, name: str) -> int:
        """What the format adds to the entries of this tensor."""
        return self._known.added if self._known and name.endswith("norm.weight") else 0

    def _as_stored(self, name: str) -> torch.Tensor:
        info = self.info(name)
        if name in self.skipped:
            raise refusal(self._path, "elements that are read", self.skipped[name], name)
        raw = np.fromfile(self._path, np.uint8, info.nbytes, offset=self._stored[name].begin)
        if len(raw) < info.nbytes:
            raise refusal(self._path, "as many bytes as before", "fewer: it was changed", name)
        return _tensor(info.dtype, raw).reshape(info.shape)

    def _in_halves(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Rows of queries and keys, from pairs side by side to two halves for each head."""
        part = re.fullmatch(r"model\.layers\.\d+\.self_attn\.([qk])_proj\.(weight|bias)", name)
        if part is None:
            return tensor
        heads = self.config["num_attention_heads" if part[1] == "q" else "num_key_value_heads"]
        if tensor.shape[0] % (2 * heads):
            raise refusal(self._path, f"rows in pairs for {heads} heads", tensor.shape[0], name)
        pairs = tensor.reshape(heads, tensor.shape[0] // heads // 2, 2, *tensor.shape[1:])
        return pairs.transpose(1, 2).reshape(tensor.shape)

    def _name(self, stored: str) -> str:
        return self._known.name(stored) if self._known else stored


def _tensor(dtype: str, raw: np.ndarray) -> torch.Tensor:
    if dtype == "bfloat16":
        return torch.from_numpy(raw.view("<i2").astype(np.int16)).view(torch.bfloat16)
    if dtype in PLAIN:
        plain = np.dtype(PLAIN[dtype])
        return torch.from_numpy(raw.view(plain).astype(plain.newbyteorder("="), copy=False))
    return torch.from_numpy(numbers(dtype, raw))
