"""Does the described network compute what the library's own model computes?

The network that ``derive`` bounds is built from the stored weights, and so is the model of the
library (``transformers``: config and safetensors of the same folder, offline, no code of the
folder's). Both run in float64 on random inputs of a declared seed, each example by itself. Compared
are all the logits, of every token for language models, or the last rows where there is no head.
The library rounds some steps to float32, so that equal networks differ by about 1e-6.

>>> ForwardCheck("x", "transformers", "BertModel", "rows", 3, 8, 0, 2e-7, 1e-7, 1e-4).agrees
True
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dudley.calculus.compose import Chain
from dudley.core.backend import torch
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError, UnknownName
from dudley.core.extras import expect_installed
from dudley.networks.outputs import Logits, Readout
from dudley.networks.pointwise import Dense, Pool
from dudley.weights.measure import example, plan_of
from dudley.weights.measurement import Measurement
from dudley.weights.named_tensors import open_weights
from dudley.weights.network import DescribedCheckpoint, describe
from dudley.weights.output import Output, output_of
from dudley.weights.stored import StoredNest

LIBRARIES = ("transformers",)
TOLERANCE = 1e-4  # of the largest difference, relative to the largest output
EXAMPLES, TOKENS, LONGEST = 3, 8, 4096
AUTO = {"language": "AutoModelForCausalLM", "rows": "AutoModel"}
TEXT, IMAGES = "AutoModelForSequenceClassification", "AutoModelForImageClassification"


@dataclass(frozen=True)
class ForwardCheck:
    """How far two networks are apart that should be one, and on what."""

    source: str
    library: str
    model: str
    outputs: str
    examples: int
    tokens: int
    seed: int
    absolute: float  # the largest difference
    relative: float  # the same, divided by the largest output of the library's model
    tolerance: float

    @property
    def agrees(self) -> bool:
        return self.relative <= self.tolerance

    def to_json(self) -> dict:
        """Plain data; a difference that is not a number is null."""
        numbers = asdict(self) | {"agrees": self.agrees}
        return {
            name: None if isinstance(x, float) and not math.isfinite(x) else x
            for name, x in numbers.items()
        }


def expect_library(library: str) -> None:
    """Refuse a library that is not known or not installed."""
    if library not in LIBRARIES:
        raise UnknownName("library", library, LIBRARIES)
    expect_installed(library, "a check against the library's own forward pass", "hf")


def check_forward(
    measurement: Measurement,
    checkpoint: str | Path,
    library: str = "transformers",
    seed: int = 0,
    tolerance: float = TOLERANCE,
    layout: str | Path | None = None,
) -> ForwardCheck:
    """Compare the described network of a measured folder with the library's model of it.

    ``layout``: as it was measured with.
    """
    expect_library(library)
    radius_of("tolerance", tolerance)
    folder = _folder(checkpoint)
    arch, places = measurement.architecture, measurement.find("P")
    most = arch.T if places is None else places.shape[0]
    T = min(x for x in (TOKENS, most, arch.window) if x is not None)
    if arch.inputs == "patches":
        T = size_of("patches of --check-with", places.shape[0] if places is not None else 0)
    described = describe(
        measurement, {"T": T} | ({} if arch.inputs == "tokens" else {"X.row2inf": 1})
    )
    head = output_of(measurement)
    with _quiet():
        model = _model(folder, measurement, head)
        ours = _Ours(described, measurement, folder, head, T, layout)
        rng = np.random.default_rng(seed)
        pairs = []
        for _ in range(EXAMPLES):
            X, inputs = _inputs(rng, described, model.config, arch.inputs, T)
            pairs.append((ours(X), _theirs(model, inputs, ours.outputs)))
    absolute = max(_difference(*pair) for pair in pairs)
    largest = max(float(np.abs(theirs).max()) for _, theirs in pairs)
    relative = absolute / largest if largest else absolute
    place = (str(checkpoint), f"{library} {_version(library)}", type(model).__name__, ours.outputs)
    return ForwardCheck(*place, EXAMPLES, T, seed, absolute, relative, tolerance)


def _folder(checkpoint: str | Path) -> Path:
    """The folder, with a config and safetensors in it."""
    place = example(checkpoint)
    folder = Path(place).expanduser() if isinstance(place, str | Path) else None
    whole = folder is not None and folder.is_dir() and (folder / "config.json").is_file()
    if folder is None or not whole or not any(folder.glob("*.safetensors")):
        expected = "a folder with config.json and safetensors, as the library reads it"
        raise InputError("--check-with", expected, str(checkpoint))
    return folder


class _Ours:
    """The described network with the stored weights, up to what is compared."""

    def __init__(
        self,
        described: DescribedCheckpoint,
        m: Measurement,
        folder: Path,
        head: Output,
        T: int,
        layout: str | Path | None,
    ):
        stages: list[Any] = [part.node for part in described.network.stages()]
        dense = head.dense is not None and m.find(f"W_{head.dense}") is not None
        pooled = head.kind == "rows" and (dense or head.only)
        self.outputs = {"rows": "the pooled row" if pooled else "every row"}.get(
            head.kind, head.kind
        )
        if isinstance(stages[-1], Readout):
            stages.pop()
            if pooled and not any(isinstance(stage, Pool) for stage in stages):
                stages.append(Pool("cls"))
        elif head.kind == "language":
            stages = [stage for stage in stages if not isinstance(stage, Pool)]
            stages[-1] = replace(stages[-1], rows=T)
        assert head.kind == "rows" or isinstance(stages[-1], Logits)
        d = described.inputs.d
        assert d is not None
        self.body = Chain(tuple(stages))
        self.embeds = isinstance(stages[0], Dense) and stages[0].names[0] == "W_E"
        with open_weights(folder) as weights:
            plan = plan_of(weights, folder, layout, m.architecture.H)
            loaded: dict = {}

            def load(role: str, layer: int | None) -> np.ndarray:
                if (role, layer) not in loaded:
                    matrix: Any = plan.matrices[role, layer].load(weights.load)
                    loaded[role, layer] = matrix.detach().double().numpy()
                return loaded[role, layer]

            depth = m.architecture.depth(plan.layers)
            nest = StoredNest(set(plan.matrices), load, self.embeds, depth)
            self.params = nest.of(self.body, self.body.parameters(d)[0])

    def __call__(self, X: np.ndarray) -> np.ndarray:
        if not self.embeds:
            return self.body.apply(self.params, X)
        rows = self.params[0]["W_E"][X] + self.params[0].get("b_E", 0.0)
        return Chain(self.body.nodes[1:]).apply(self.params[1:], rows)


def _model(folder: Path, m: Measurement, head: Output) -> Any:
    """The library's model, by the class that the config names or else by the kind of its output."""
    import transformers  # pyright: ignore[reportMissingImports]

    offline = {"local_files_only": True, "trust_remote_code": False}
    kind = IMAGES if m.architecture.inputs == "patches" else TEXT
    masked = head.kind == "language" and not m.architecture.causal
    automatic = "AutoModelForMaskedLM" if masked else AUTO.get(head.kind, kind)
    try:
        config = transformers.AutoConfig.from_pretrained(folder, **offline)
        named = str((config.architectures or [""])[0])
        made = getattr(transformers, named, None) or getattr(transformers, automatic)
        model, seen = made.from_pretrained(
            folder, config=config, use_safetensors=True, output_loading_info=True,
            dtype=torch.float64, attn_implementation="eager", **offline,
        )  # fmt: skip
    except Exception as error:  # whatever the library raises at what it does not read
        expected = "a model that the library reads"
        raise InputError(f"{folder}: --check-with", expected, error) from None
    if missing := sorted(seen["missing_keys"]):
        expected = f"every weight of {type(model).__name__}"
        raise InputError(f"{folder}: --check-with", expected, f"none for {missing[0]}")
    return model.eval()


def _inputs(
    rng: np.random.Generator, described: DescribedCheckpoint, config: Any, kind: str, T: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """A random example as both take it: tokens but the padding, or an image."""
    if kind == "tokens":
        V, pad = described.inputs.d, getattr(config, "pad_token_id", None)
        tokens = rng.choice([token for token in range(min(V or 0, LONGEST)) if token != pad], T)
        ids = torch.from_numpy(tokens)[None]
        return tokens, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    sizes: list[Any] = [
        getattr(config, name, None) for name in ("num_channels", "image_size", "patch_size")
    ]
    if not all(type(size) is int and size > 0 for size in sizes):
        expected = "num_channels, image_size and patch_size, whole numbers"
        raise InputError("config of --check-with", expected, sizes)
    channels, side, p = sizes
    pixels = rng.standard_normal((1, channels, side, side))
    image = torch.from_numpy(pixels)
    rows = torch.nn.functional.unfold(image, p, stride=p)[0].T.numpy()
    if len(rows) > T:
        raise InputError("config of --check-with", f"at most {T} patches of an image", len(rows))
    return np.concatenate([np.zeros((T - len(rows), rows.shape[1])), rows]), {"pixel_values": image}


def _theirs(model: Any, inputs: dict[str, Any], outputs: str) -> np.ndarray:
    names = {"every row": "last_hidden_state", "the pooled row": "pooler_output"}
    with torch.no_grad():
        values = getattr(model(**inputs), names.get(outputs, "logits"))
    return values[0].numpy()


def _difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference; infinite where one is not a number."""
    theirs = theirs.reshape(ours.shape)
    gap = np.abs(ours - theirs)
    return float(gap.max()) if np.isfinite(gap).all() else math.inf


def _version(library: str) -> str:
    from importlib.metadata import version

    return version(library)


@contextmanager
def _quiet() -> Iterator[None]:
    """The library without its progress bars and warnings."""
    from transformers.utils import logging  # pyright: ignore[reportMissingImports]

    level, shown = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
