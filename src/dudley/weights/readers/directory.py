"""Which reader a path needs: by its ending for a file, by what it holds for a folder.

A folder as Hugging Face writes it holds `config.json` and one of `model.safetensors`,
`model.safetensors.index.json`, `pytorch_model.bin`, `pytorch_model.bin.index.json`, looked for in
this order (as transformers does); that of an adapter holds `adapter_config.json` and
`adapter_model.safetensors` or `adapter_model.bin`. A folder with exactly one safetensors file or
index of another name is read too. A file that is named by itself is read with the config that lies
beside it; a GGUF file, which is always named by itself, has one of its own.
"""

from __future__ import annotations

from pathlib import Path

from dudley.core.boundary import documents
from dudley.core.boundary.paths import inside, regular
from dudley.core.boundary.refusal import refusal
from dudley.weights.named_tensors import Weights

MODELS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")
PICKLED = (".bin", ".pt", ".pth", ".ckpt")


def open_path(path: Path) -> Weights:
    """The weights at a path, a file or a folder."""
    try:
        return (
            _open_folder(path) if path.is_dir() else _with_config(_open_file(regular(path)), path)
        )
    except OSError as error:
        raise refusal(path, "something readable", error.strerror or error) from None


def _open_file(path: Path) -> Weights:
    if path.name.endswith(".index.json"):
        from dudley.weights.readers.shards import Shards

        return Shards(path, _open_shard)
    return _open_shard(path)


def _open_shard(path: Path) -> Weights:
    if path.suffix == ".safetensors":
        from dudley.weights.readers.tensors_file import TensorsFile

        return TensorsFile(path)
    if path.suffix == ".gguf":
        from dudley.weights.readers.gguf import GgufFile

        return GgufFile(path)
    if path.suffix in PICKLED:
        from dudley.weights.readers.pickled import read_pickle

        return read_pickle(path)
    expected = f"a file that ends in .safetensors, .index.json, .gguf, {', '.join(PICKLED)}"
    raise refusal(path, expected, path.suffix or "no ending")


def _open_folder(folder: Path) -> Weights:
    model = next((name for name in MODELS if _present(folder, name)), None)
    adapter = next((name for name in ADAPTERS if _present(folder, name)), None)
    if model and adapter:
        got = f"{model} and {adapter}"
        raise refusal(folder, "a model or an adapter", got, fix="keep them in two folders")
    name = model or adapter or _only(folder)
    if name is None:
        raise refusal(folder, f"a folder with one of {', '.join(MODELS + ADAPTERS)}", "none")
    weights = _with_config(_open_file(inside(folder, name)), folder / name)
    weights.source = str(folder)
    return weights


def _with_config(weights: Weights, path: Path) -> Weights:
    """The weights of a file with the config in its folder, where there is one."""
    config = "adapter_config.json" if path.name in ADAPTERS else "config.json"
    if path.suffix != ".gguf" and _present(path.parent, config):  # which has one of its own
        weights.config = documents.read(inside(path.parent, config))
    return weights


def _present(folder: Path, name: str) -> bool:
    # A dangling link counts, so that it is refused by name and not passed over.
    return (folder / name).exists() or (folder / name).is_symlink()


def _only(folder: Path) -> str | None:
    """The only index of the folder, or else its only safetensors file."""
    for ending in ("*.safetensors.index.json", "*.safetensors"):
        names = sorted(path.name for path in folder.glob(ending))
        if len(names) == 1:
            return names[0]
        if names:
            got = f"{len(names)} of them: {', '.join(names[:3])}"
            raise refusal(folder, f"one {ending[1:]} in the folder", got, fix="name the file")
    return None
