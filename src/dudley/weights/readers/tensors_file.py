"""One safetensors file: the header checked here, the data memory-mapped by safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dudley.core.backend import torch
from dudley.core.boundary.header import read_header
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import UnknownName
from dudley.core.extras import missing
from dudley.weights.named_tensors import TensorInfo, Weights


class TensorsFile(Weights):
    """The tensors of one safetensors file."""

    def __init__(self, path: Path):
        self.source = str(path)
        self.config = {}
        self.tied: dict[str, str] = {}
        self._path = path
        self._entries = read_header(path).entries
        self._handle: Any = None
        self.skipped = {
            name: f"{entry.dtype}: torch has no such elements"
            for name, entry in self._entries.items()
            if not entry.readable
        }

    def names(self) -> list[str]:
        return [name for name in self._entries if name not in self.skipped]

    def info(self, name: str) -> TensorInfo:
        if name not in self._entries:
            raise UnknownName(f"tensor in {self.source}", name, self._entries)
        entry = self._entries[name]
        nbytes = entry.end - entry.begin
        return TensorInfo(name, entry.shape, entry.dtype, nbytes, str(self._path))

    def load(self, name: str) -> torch.Tensor:
        info = self.info(name)
        if name in self.skipped:
            raise refusal(self._path, "elements that torch can read", info.dtype, name)
        safe_open = _safe_open(self._path)
        try:
            if self._handle is None:
                self._handle = safe_open(str(self._path), framework="pt", device="cpu").__enter__()
            tensor = self._handle.get_tensor(name)
        except Exception as error:  # safetensors and torch raise a dozen kinds
            raise refusal(self._path, "a readable tensor", error, name) from None
        if tuple(tensor.shape) != info.shape or str(tensor.dtype) != f"torch.{info.dtype}":
            got = f"{tensor.dtype} {tuple(tensor.shape)}"
            raise refusal(self._path, f"{info.dtype} {info.shape}, as in the header", got, name)
        return tensor

    def close(self) -> None:
        if self._handle is not None:
            self._handle.__exit__(None, None, None)
            self._handle = None


def _safe_open(path: Path) -> Any:
    try:
        from safetensors import safe_open
    except ImportError:
        raise missing("safetensors", f"reading {path}") from None
    return safe_open
