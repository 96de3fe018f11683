"""Tensors already at hand: a live module, a state dict, or what torch.load gave back.

Tied tensors (one storage under several names) are listed under every name, and `tied` says which
came first.

>>> import torch
>>> pair = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.Linear(2, 2)})
>>> pair["b"].weight = pair["a"].weight
>>> hold(pair).tied
{'b.weight': 'a.weight'}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dudley.core.backend import torch
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError, UnknownName
from dudley.weights.named_tensors import TensorInfo, Weights


def hold(what: Any) -> Weights:
    """The weights of a live module or of a state dict."""
    if isinstance(what, torch.nn.Module):
        name = type(what).__name__
        config = getattr(what, "config", None)
        as_dict = getattr(config, "to_dict", None)
        return LiveWeights(what.state_dict(), name, name, as_dict() if as_dict else config)
    if isinstance(what, Mapping):
        return LiveWeights(what, "state dict", "state dict", None)
    expected = "a path, a torch module, a state dict or Weights"
    raise InputError("weights", expected, type(what).__name__)


class LiveWeights(Weights):
    """A mapping from names to tensors; entries that cannot be measured are skipped with a reason.

    `file` is what an error names: the path of a torch file, the class of a live module.
    """

    def __init__(self, tensors: Mapping[Any, Any], source: str, file: str, config: Any):
        self.source = source
        self.config: Mapping[str, Any] = config if isinstance(config, Mapping) else {}
        self.skipped: dict[str, str] = {}
        self.tied: dict[str, str] = {}
        self._file = file
        self._tensors: dict[str, torch.Tensor] = {}
        first: dict[tuple, str] = {}
        for name, value in tensors.items():
            if not isinstance(name, str):
                raise refusal(file, "a state dict, whose keys are names", repr(name))
            if reason := _unreadable(value):
                self.skipped[name] = reason
                continue
            self._tensors[name] = value.detach()
            if value.numel() == 0:
                continue
            where = (value.device, value.data_ptr(), value.dtype, value.shape, value.stride())
            if (earlier := first.setdefault(where, name)) != name:
                self.tied[name] = earlier

    def names(self) -> list[str]:
        return list(self._tensors)

    def info(self, name: str) -> TensorInfo:
        tensor = self._find(name)
        dtype = str(tensor.dtype).removeprefix("torch.")
        nbytes = tensor.numel() * tensor.element_size()
        return TensorInfo(name, tuple(tensor.shape), dtype, nbytes, self._file)

    def load(self, name: str) -> torch.Tensor:
        return self._find(name).cpu()

    def _find(self, name: str) -> torch.Tensor:
        if name not in self._tensors:
            known = [*self._tensors, *self.skipped]
            raise UnknownName(f"tensor in {self.source}", name, known)
        return self._tensors[name]


def _unreadable(value: Any) -> str:
    """Why this is no plain tensor with a value for each entry; empty if it is one."""
    if not isinstance(value, torch.Tensor):
        return f"not a tensor, but {type(value).__name__}"
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return f"a kind of tensor this reader does not know: {type(value).__name__}"
    if value.is_meta:
        return "on the meta device: it has a shape and no values"
    if value.layout is not torch.strided:
        return f"sparse ({value.layout}): only dense tensors are measured"
    if value.is_quantized:
        return f"{value.dtype}: torch's own quantised tensors are not among the known conventions"
    if value.numel() * value.element_size() > value.untyped_storage().nbytes():
        return "its shape asks for more values than are stored (an expanded view)"
    return ""
