"""Named tensors from anywhere: one contract for files, folders, adapters and live modules.

`open_weights` chooses the reader; what it returns lists every stored tensor, either under
`names()` or in `skipped` with the reason, and loads one tensor at a time, from a memory map where
the format allows. Nothing is executed, and whatever is refused is an InputError that names the
file and the tensor.

>>> import torch
>>> layer = torch.nn.Linear(3, 2)
>>> with open_weights(layer) as weights:
...     weights.names(), weights.info("weight").shape, weights.load("bias").shape
(['weight', 'bias'], (2, 3), torch.Size([2]))
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class TensorInfo:
    """What is known of a tensor before it is loaded: `dtype` and `nbytes` as stored."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    file: str


class Weights(ABC):
    """Named tensors of one checkpoint, read one at a time.

    source   the path or the class it came from
    config   the content of `config.json`, empty where there is none
    skipped  tensor ↦ why it is stored but not handed out
    tied     tensor ↦ the earlier name of the same storage
    """

    source: str
    config: Mapping[str, Any]
    skipped: dict[str, str]
    tied: dict[str, str]

    @abstractmethod
    def names(self) -> list[str]:
        """Every tensor that `load` gives, in the order of the checkpoint."""

    @abstractmethod
    def info(self, name: str) -> TensorInfo:
        """Shape, dtype, size and file of a tensor, without reading it."""

    @abstractmethod
    def load(self, name: str) -> torch.Tensor:
        """The tensor on the CPU in its stored dtype; float64 where it had to be computed.

        It may share memory with the file or the module: read it, do not write to it.
        """

    def error(self, name: str) -> float:
        """An upper bound on ‖loaded − meant‖_F: 0 for a tensor that is loaded as stored.

        Dequantised and merged matrices are computed in float64 and may be off by roundings;
        a certified norm of the matrix that is *meant* adds this.
        """
        return 0.0

    def close(self) -> None:
        """Let go of the files; what was loaded stays valid."""
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def finite(tensor: torch.Tensor, name: str, file: str) -> torch.Tensor:
    """The tensor itself, if every value is a finite real number; whoever measures asks here.

    >>> import torch
    >>> finite(torch.tensor([1.0, float("nan")]), "W", "model.safetensors")
    Traceback (most recent call last):
    dudley.core.errors.InputError: model.safetensors: tensor 'W': expected finite values, got nan
    at position (1,)
    """
    import torch

    if tensor.is_complex():
        raise refusal(file, "real values", f"{tensor.dtype}", name)
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return tensor
    # Extremes instead of a mask: no second tensor; a NaN is the extreme of whatever holds one.
    wide = tensor if tensor.element_size() > 1 else tensor.to(torch.float32)
    if all(bool(torch.isfinite(extreme)) for extreme in torch.aminmax(wide)):
        return tensor
    at = next(iter(torch.nonzero(~torch.isfinite(wide))))
    position = tuple(int(i) for i in at)
    got = f"{float(wide[position])} at position {position}"
    raise refusal(file, "finite values", got, name)


def open_weights(
    what: Any, base: Any = None, *, merged: bool = True, quantised: bool = True
) -> Weights:
    """The reader for a path, a live `nn.Module`, a state dict, or Weights (given back as they are).

    A path is a safetensors file, a `*.index.json` of shards, a GGUF file, a torch file (.bin, .pt,
    .pth, .ckpt; read with weights_only=True alone) or a folder with one of them but GGUF; `~` is
    the home folder. A folder with `adapter_config.json` is a LoRA adapter: with `base` it is merged
    into it, or, with merged=False, listed beside it; without `base` it stands alone. Integer
    weights are dequantised by the conventions of `readers.quantised`, unless quantised=False.
    """
    from dudley.weights.readers import adapter, directory, live
    from dudley.weights.readers.quantised import dequantise

    if isinstance(what, Weights):
        opened = what
    elif isinstance(what, str | os.PathLike):
        opened = directory.open_path(Path(os.path.expanduser(what)))
    else:
        opened = live.hold(what)
    if quantised:
        opened = dequantise(opened)
    if base is None:
        return opened
    if not adapter.is_adapter(opened):
        expected = "a LoRA adapter (a folder with adapter_config.json), because a base is given"
        raise InputError(opened.source, expected, "other weights", "leave the base out")
    below = open_weights(base, quantised=quantised)
    return adapter.merge(opened, below) if merged else adapter.beside(opened, below)
