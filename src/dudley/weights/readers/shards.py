"""A checkpoint in several files: `*.index.json` says which tensor lies in which.

{"metadata": …, "weight_map": {tensor: file}}, with every file a plain name in the folder of the
index. Index and files must agree: each tensor in the one file that the index names, and no tensor
in a file that the index leaves out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dudley.core.boundary import documents
from dudley.core.boundary.paths import inside
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import UnknownName
from dudley.weights.named_tensors import TensorInfo, Weights

if TYPE_CHECKING:
    import torch


class Shards(Weights):
    """The tensors of all files that an index lists."""

    def __init__(self, index: Path, open_file: Callable[[Path], Weights]):
        self.source = str(index)
        self.config = {}
        self.skipped: dict[str, str] = {}
        self.tied: dict[str, str] = {}
        self._map = _weight_map(index)
        self._files: dict[str, Weights] = {}
        first = {file: name for name, file in reversed(self._map.items())}
        for file, tensor in reversed(first.items()):
            shard = open_file(inside(index.parent, file, tensor))
            self._check(index, file, shard)
            self._files[file] = shard
            self.skipped.update(shard.skipped)
            self.tied.update(shard.tied)

    def _check(self, index: Path, file: str, shard: Weights) -> None:
        tensors = set(shard.names()) | set(shard.skipped)
        for name in tensors:
            if name not in self._map:
                got = f"{file}, which holds it and is not listed for it"
                raise refusal(index, "every tensor in the index", got, name)
            if self._map[name] != file:
                got = f"{file} beside {self._map[name]}"
                raise refusal(index, "every tensor in one file", got, name)
        for name, listed in self._map.items():
            if listed == file and name not in tensors:
                raise refusal(index, f"the tensor in {file}", "a file without it", name)

    def names(self) -> list[str]:
        return [name for name in self._map if name not in self.skipped]

    def info(self, name: str) -> TensorInfo:
        return self._holder(name).info(name)

    def load(self, name: str) -> torch.Tensor:
        return self._holder(name).load(name)

    def close(self) -> None:
        for shard in self._files.values():
            shard.close()

    def _holder(self, name: str) -> Weights:
        if name not in self._map:
            raise UnknownName(f"tensor in {self.source}", name, self._map)
        return self._files[self._map[name]]


def _weight_map(index: Path) -> dict[str, str]:
    weight_map = documents.read(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise refusal(index, "a weight_map from tensors to files", type(weight_map).__name__)
    for name, file in weight_map.items():
        if not isinstance(file, str):
            raise refusal(index, "the name of a file", file, name)
    return weight_map
