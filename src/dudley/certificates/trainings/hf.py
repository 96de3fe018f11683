"""``hf``: a pretrained encoder in a Hugging Face folder, fine-tuned with a new linear head.

X holds token ids (n, T), made by the folder's own tokenizer and padded to a fixed T. The encoder's
last rows are averaged over the tokens that are no padding, and read out by a linear map that is 0
at the start. ``dropout`` replaces every dropout rate of the folder's config; None leaves them.

The table has the base name of the folder, and the sha256 of its ``config.json`` and
``model.safetensors``. Whoever trains again gives the folder, and another one is refused. No pickle
is opened, no code of the folder is run, and nothing is looked up on a network.

The folder's weights must not have seen the sample: no program can check that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.trainings.base import TRAININGS, expect_number, local
from dudley.certificates.trainings.descent import Descent
from dudley.certificates.trainings.encoder import expect_tokens
from dudley.core.backend import torch
from dudley.core.boundary import documents
from dudley.core.errors import InputError
from dudley.core.extras import expect_installed

CONFIG, WEIGHTS = "config.json", "model.safetensors"
FAMILIES = (
    "albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta",
)  # fmt: skip
UNREAD = (  # entries of a config that name code, places or number formats
    "_name_or_path", "architectures", "auto_map", "dtype", "quantization_config", "torch_dtype",
    "transformers_version",
)  # fmt: skip
LAYER = re.compile(r"(?:^|\.)(?:layer|layers|albert_layer_groups)\.(\d+)\.")


@TRAININGS.register("hf")
@dataclass(frozen=True, kw_only=True)
class HuggingFace(Descent):
    """Final: which weights it begins at, and how they are fine-tuned.

    ``layer_decay`` multiplies the rate once for each layer further from the head. With ``freeze`` =
    k > 0 the embeddings and the first k layers stay as they are.
    """

    name: ClassVar[str] = "hf"
    repeats: ClassVar[bool] = False

    start: str
    sha256: str
    pad: int
    classes: int = 2
    steps: tuple[int, ...] = (50,)
    initial_steps: int = 1000
    epochs: float = 0.0
    batch: int = 32
    rate: float = 5e-5
    head_rate: float = 1e-3
    layer_decay: float = 1.0
    decay: float = 0.01
    warmup: int = 10
    dropout: float | None = 0.0
    freeze: int = 0
    clip: float = 1.0
    folder: str | None = local()

    def __post_init__(self):
        super().__post_init__()
        if not re.fullmatch(r"[0-9a-f]{64}", self.sha256):
            raise InputError("sha256", "64 hexadecimal digits", self.sha256)
        expect_number("classes", self.classes, 2, 100_000)
        expect_number("pad", self.pad, 0, 10**7)
        expect_number("head_rate", self.head_rate, 0, 1)
        expect_number("layer_decay", self.layer_decay, 0, 1)
        expect_number("freeze", self.freeze, 0, 256)
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise InputError("dropout", "a number in [0, 1), or nothing", self.dropout)

    @classmethod
    def from_start(cls, folder: str | Path, settings: Mapping[str, Any]) -> HuggingFace:
        """The training that begins at the weights of a folder."""
        folder = _expect_folder(folder)
        pad = documents.read(folder / CONFIG).get("pad_token_id") or 0
        taken = {"start": folder.resolve().name, "sha256": digest(folder), "folder": str(folder)}
        known = {f for f in cls.__dataclass_fields__ if f not in taken}
        for name in settings:
            if name not in known:
                raise InputError("setting of hf", ", ".join(sorted(known)), name)
        return cls(**{"pad": pad, **settings, **taken})

    def with_start(self, folder: str | Path) -> HuggingFace:
        folder = _expect_folder(folder)
        if (got := digest(folder)) != self.sha256:
            expected = f"config and weights of {self.start} with sha256 {self.sha256}"
            raise InputError("start", expected, got, "give the folder that was declared")
        return replace(self, folder=str(folder))

    def outputs(self) -> int:
        return self.classes

    def make_model(self) -> torch.nn.Module:
        expect_installed("transformers", "a start in a Hugging Face folder", "hf")
        from transformers import AutoModel  # pyright: ignore[reportMissingImports]

        if self.folder is None:
            fix = f"give the folder of {self.start}: training_of(table, start=FOLDER)"
            raise InputError("start", "a folder", "none", fix)
        self.with_start(self.folder)  # the folder may have changed since
        config = _config(self.blueprint())
        try:
            with _quiet():
                body, seen = AutoModel.from_pretrained(
                    self.folder, config=config, local_files_only=True, trust_remote_code=False,
                    use_safetensors=True, output_loading_info=True,
                )  # fmt: skip
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(self.folder, "a model of Hugging Face", error) from None
        if missing := [name for name in seen["missing_keys"] if not name.startswith("pooler.")]:
            raise InputError(f"{WEIGHTS}", "all weights of the encoder", f"none for {missing[0]}")
        return PooledEncoder(body.float(), self.classes, self.pad)

    def blueprint(self) -> dict[str, Any]:
        """The config, with the declared dropout."""
        if self.folder is None:
            return {}
        config = documents.read(Path(self.folder) / CONFIG)
        plain = {name: value for name, value in config.items() if name not in UNREAD}
        for name, value in plain.items():
            rate = isinstance(value, float | int) and not isinstance(value, bool)
            if "drop" in name and rate and self.dropout is not None:
                plain[name] = self.dropout
        return plain

    def skeleton(self, blueprint: Mapping[str, Any]) -> torch.nn.Module:
        expect_installed("transformers", "a model of a Hugging Face family", "hf")
        from transformers import AutoModel  # pyright: ignore[reportMissingImports]

        body = AutoModel.from_config(_config(blueprint), trust_remote_code=False)
        return PooledEncoder(body.float(), self.classes, self.pad)

    def fit(self, model: torch.nn.Module, X: np.ndarray, y: np.ndarray, step: int) -> None:
        assert isinstance(model, PooledEncoder)
        expect_tokens(X, int(model.body.config.vocab_size))
        depth = 1 + max(map(_layer, dict(model.body.named_parameters())), default=0)
        groups = []
        for name, W in model.named_parameters():
            layer = _layer(name)
            frozen = not name.startswith("readout.") and layer < self.freeze and self.freeze > 0
            W.requires_grad_(not frozen)
            if not frozen:
                head = name.startswith("readout.")
                rate = self.head_rate if head else self.rate * self.layer_decay ** (depth - layer)
                decay = self.decay if W.ndim > 1 else 0.0
                groups.append({"params": [W], "lr": rate, "weight_decay": decay})
        self.descend(model, X, y, step, groups=_merged(groups))


class PooledEncoder(torch.nn.Module):
    """The encoder, the mean of its rows over tokens that are no padding, a linear readout."""

    def __init__(self, body: Any, classes: int, pad: int):
        super().__init__()
        body.pooler = None  # of the row [CLS], which is not read
        self.body, self.pad = body, pad
        self.readout = torch.nn.Linear(body.config.hidden_size, classes)
        torch.nn.init.zeros_(self.readout.weight)
        torch.nn.init.zeros_(self.readout.bias)

    def extra_repr(self) -> str:
        return f"pad={self.pad}"

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        ids = X.long()
        mask = (ids != self.pad).long()
        rows = self.body(input_ids=ids, attention_mask=mask).last_hidden_state  # n × T × d
        weights = mask[:, :, None].float()
        return self.readout((rows * weights).sum(1) / weights.sum(1).clamp(min=1))


def digest(folder: Path) -> str:
    """sha256 of the sha256 of config and of weights, as the files have them."""
    whole = hashlib.sha256()
    for name in (CONFIG, WEIGHTS):
        with (folder / name).open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _expect_folder(folder: str | Path) -> Path:
    folder = Path(folder)
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            fix = f"a folder with {CONFIG} and {WEIGHTS} in one file; pickled weights are not read"
            raise InputError("start", fix, f"no {name} in {folder}")
    return folder


def _config(blueprint: Mapping[str, Any]) -> Any:
    """The config of a known family; sizes are bounded before anything is built."""
    from transformers import AutoConfig  # pyright: ignore[reportMissingImports]

    settings = {name: value for name, value in blueprint.items() if name not in UNREAD}
    family = settings.pop("model_type", None)
    if family not in FAMILIES:
        raise InputError("model_type", f"an encoder: {', '.join(FAMILIES)}", family)
    for name, value in settings.items():
        largest = 256 if "layer" in name or "groups" in name else 10**7
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > largest:
            raise InputError(f"{name} of the config", f"a number up to {largest:,}", value)
    try:
        return AutoConfig.for_model(family, attn_implementation="sdpa", **settings)
    except Exception as error:  # whatever the library raises at odd values
        raise InputError(CONFIG, f"a config of {family}", error) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's progress bar."""
    from transformers.utils import logging  # pyright: ignore[reportMissingImports]

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _layer(name: str) -> int:
    """The layer of a weight, counted from 0; −1 for embeddings."""
    match = LAYER.search(name)
    return int(match[1]) if match else -1


def _merged(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Weights of one rate and decay as one group: fewer kernels a step."""
    merged: dict[tuple[float, float], dict[str, Any]] = {}
    for group in groups:
        key = group["lr"], group["weight_decay"]
        merged.setdefault(key, {**group, "params": []})["params"] += group["params"]
    return list(merged.values())
