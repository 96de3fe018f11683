"""``hf``: a causal model of Hugging Face, from a folder, over the tokens of its own tokenizer.

The folder has ``config.json`` and ``tokenizer.json``. With ``model.safetensors`` the model begins
at these weights, and they must not have seen the texts: no program can check that. Without it the
model begins at random weights. The tokenizer must not come from the stretch: it belongs to the
folder, and was there before. No pickle is opened, no code of the folder is run, and nothing is
looked up on a network. Every dropout rate of the config is 0 in the pass.

Only what is causal has probabilities of texts that fit into 1. So a config is refused under which a
token sees later ones (``is_causal`` other than true), or the length of the whole text (rotary
frequencies that change with it, ``longrope`` and ``dynamic``). An adapter would bring weights from
elsewhere, which no hash of these files has, so a folder with one is refused, too.

A document is its tokens and an end (`tokens`). Before the first token stands the end, too. The bits
of a document are those of these tokens, per byte of its text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dudley.certificates.texts.base import MODELS, DocumentModel, TextBatch
from dudley.certificates.texts.symbols import nats_of
from dudley.certificates.texts.tokens import token_batch
from dudley.certificates.trainings.base import expect_number
from dudley.core.backend import torch
from dudley.core.boundary import documents
from dudley.core.boundary.paths import regular
from dudley.core.errors import InputError, UnknownName
from dudley.core.extras import expect_installed

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
ADAPTER = "adapter_config.json"
FAMILIES = ("gpt2", "gpt_neox", "llama", "mistral", "opt", "qwen2", "qwen3", "smollm3")
UNREAD = (  # entries of a config that name code, places or number formats
    "_attn_implementation", "_name_or_path", "architectures", "attn_implementation", "auto_map",
    "dtype", "quantization_config", "torch_dtype", "transformers_version",
)  # fmt: skip
BY_LENGTH = ("dynamic", "longrope")  # rotary frequencies that depend on how long the text is
TOKENIZER_BYTES = 1 << 27


@MODELS.register("hf")
@dataclass(frozen=True, kw_only=True)
class CausalFolder(DocumentModel):
    """Final: the files of a folder by hash, the longest document in tokens, and the end token."""

    name = "hf"

    sha256: str
    start: str
    context: int
    end: int
    folder: str = field(default="", compare=False, repr=False)

    @classmethod
    def from_folder(cls, folder: str, settings: Mapping[str, Any]) -> CausalFolder:
        """The model of a folder; ``context`` is the only setting."""
        expect_installed("transformers", "a causal model of Hugging Face", "hf")
        expect_installed("tokenizers", "a tokenizer of Hugging Face", "hf")
        place = Path(folder)
        for name in (CONFIG, TOKENIZER):
            if not (place / name).is_file():
                raise InputError(folder, f"a folder with {CONFIG} and {TOKENIZER}", f"no {name}")
        if (place / ADAPTER).exists():
            fix = "merge the adapter into the weights"
            raise InputError(folder, "a folder with all weights in it", ADAPTER, fix)
        for name in settings:
            if name != "context":
                raise UnknownName("setting of hf", name, ("context",))
        config = documents.read(place / CONFIG)
        most = config.get("max_position_embeddings") or config.get("n_positions") or 1024
        end = config.get("eos_token_id")
        if not isinstance(end, int) or not isinstance(most, int):
            expected = "whole numbers eos_token_id and max_position_embeddings"
            raise InputError(f"{folder}/{CONFIG}", expected, f"{end} and {most}")
        context = settings.get("context", most)
        if not isinstance(context, int):
            raise InputError("context", "a whole number", context)
        expect_number("context", context, 1, most)
        start = "its weights" if (place / WEIGHTS).is_file() else "random weights"
        return cls(sha256=_digest(place), start=start, context=context, end=end, folder=folder)

    def table(self) -> dict[str, Any]:
        """Without the place of the folder."""
        return {name: value for name, value in super().table().items() if name != "folder"}

    @cached_property
    def tokenizer(self) -> Any:
        """The folder's own; it is a table, and no code."""
        from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]

        path = regular(Path(self.folder) / TOKENIZER)
        if path.stat().st_size > TOKENIZER_BYTES:
            raise InputError(str(path), f"at most {TOKENIZER_BYTES:,} bytes", "more")
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # whatever the library raises at a broken file
            raise InputError(str(path), "a tokenizer of Hugging Face", error) from None
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @property
    def symbols(self) -> int:
        size = int(self._settings.get("vocab_size", 0))
        if not self.tokenizer.get_vocab_size() <= size or not 0 <= self.end < size:
            expected = f"a vocabulary of at least {self.tokenizer.get_vocab_size()} tokens"
            raise InputError(f"{self.folder}/{CONFIG}", expected, size)
        return size

    def make(self) -> torch.nn.Module:
        from transformers import AutoModelForCausalLM  # pyright: ignore[reportMissingImports]

        config = _config(self._settings)
        if self.symbols and self.start == "random weights":
            return AutoModelForCausalLM.from_config(config).float()
        try:
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                self.folder, config=config, local_files_only=True, trust_remote_code=False,
                use_safetensors=True, output_loading_info=True,
            )  # fmt: skip
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(self.folder, "a causal model of Hugging Face", error) from None
        model, seen = loaded
        if missing := seen["missing_keys"]:
            raise InputError(WEIGHTS, "all weights of the model", f"none for {sorted(missing)[0]}")
        return model.float()

    def read(self, documents: Sequence[bytes]) -> TextBatch:
        return token_batch(self.tokenizer, documents, self.end)

    def nats(self, module: torch.nn.Module, batch: TextBatch) -> torch.Tensor:
        codes, lengths = batch
        before = torch.nn.functional.pad(codes[:, :-1], (1, 0), value=self.end)
        return nats_of(module(input_ids=before).logits, codes, lengths)

    def expect(self, longest: int) -> None:
        """Refuse documents that may have more tokens than the model reads: one a byte at most."""
        if longest > self.context:
            fix = f"--longest {self.context}"
            raise InputError("documents", f"up to {self.context} bytes", longest, fix)

    @cached_property
    def _settings(self) -> dict[str, Any]:
        """The config without names of code."""
        config = documents.read(Path(self.folder) / CONFIG)
        return {name: value for name, value in config.items() if name not in UNREAD}


def _config(settings: Mapping[str, Any]) -> Any:
    """The config of a known family, without dropout; sizes are bounded before anything is built."""
    from transformers import AutoConfig  # pyright: ignore[reportMissingImports]

    plain = dict(settings)
    family = plain.pop("model_type", None)
    if family not in FAMILIES:
        raise InputError("model_type", f"a causal model: {', '.join(FAMILIES)}", family)
    for name, value in plain.items():
        largest = 256 if "layer" in name else 10**7
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > largest:
            raise InputError(f"{name} of the config", f"a number up to {largest:,}", value)
    if plain.get("is_causal", True) is not True:
        expected = "true: a token that sees later ones has no probability given those before"
        raise InputError("is_causal of the config", expected, plain["is_causal"])
    try:
        config = AutoConfig.for_model(family, **plain)
    except Exception as error:  # whatever the library raises at odd values
        raise InputError(CONFIG, f"a config of {family}", error) from None
    for kind in _rotary_kinds(getattr(config, "rope_parameters", None)):
        if any(name in kind for name in BY_LENGTH):
            expected = "frequencies that do not depend on how long the whole text is"
            raise InputError("rotary embedding of the config", expected, kind)
    for name, value in vars(config).items():  # rates that the file leaves to the library, too
        if "drop" in name and isinstance(value, int | float) and not isinstance(value, bool):
            setattr(config, name, 0.0)
    return config


def _rotary_kinds(parameters: Any) -> list[str]:
    """The kinds of rotary embedding that a config names: one, or one for each kind of layer."""
    if not isinstance(parameters, Mapping):
        return []
    kinds = [str(parameters[name]) for name in ("rope_type", "type") if name in parameters]
    return kinds + [kind for value in parameters.values() for kind in _rotary_kinds(value)]


def _digest(folder: Path) -> str:
    """sha256 of the sha256 of the files that there are."""
    whole = hashlib.sha256()
    for name in (CONFIG, TOKENIZER, WEIGHTS):
        path = folder / name
        if path.is_file():
            with path.open("rb") as file:
                whole.update(name.encode() + hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()
