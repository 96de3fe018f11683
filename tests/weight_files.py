"""Small checkpoints for the tests of the readers, good and damaged."""

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from dudley.core.errors import InputError
from dudley.weights.named_tensors import open_weights

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
FLOATS += [torch.float8_e4m3fn, torch.float8_e5m2]


def matrix(*shape: int, dtype=torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(dtype)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal in dtype, shape and every bit."""
    a, b = a.contiguous(), b.contiguous()
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))
    )


def raw_tensors(path: Path, header: object, data: bytes = b"", length: int | None = None) -> Path:
    """A safetensors file with any header: an object, or the bytes themselves."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw) if length is None else length) + raw + data)
    return path


def entry(shape: list[int], begin: int, end: int, dtype: str = "F32") -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def sharded(folder: Path, shards: dict[str, dict[str, torch.Tensor]]) -> Path:
    """A folder of safetensors shards with its index."""
    folder.mkdir(exist_ok=True)
    weight_map = {}
    for file, tensors in shards.items():
        save_file(tensors, folder / file)
        weight_map |= dict.fromkeys(tensors, file)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return index


def adapter(folder: Path, tensors: dict[str, torch.Tensor], **config: object) -> Path:
    """A LoRA adapter as peft writes it."""
    folder.mkdir(exist_ok=True)
    save_file({f"base_model.model.{n}": t for n, t in tensors.items()}, folder / ADAPTER)
    settings = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, **config}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


def refused(path, reason: str) -> str:
    """The refusal of a path: one printable line that names it."""
    with pytest.raises(InputError, match=reason) as caught:
        open_weights(path)
    line = str(caught.value)
    assert line.isprintable() and len(line) < 1000 and Path(path).name in line
    return line


ADAPTER = "adapter_model.safetensors"
