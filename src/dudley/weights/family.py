"""Which family a checkpoint belongs to: the config says it, and wins over everything else.

A model type that is not supported is refused, since tensors of the same names can be computed with
in other ways (Gemma adds 1 to the gains that Llama stores). ``--layout`` may name a family where
the config names none, or one that computes the same; a mapping file says what no family does.
Where no config names the family it is assumed, and whoever reads the numbers is told so.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from dudley.core.boundary.text import line
from dudley.core.errors import InputError
from dudley.weights.architecture import Architecture, Config
from dudley.weights.computation import changing_setting, offset_gains
from dudley.weights.layout import LAYOUTS, Layout
from dudley.weights.mapping import read_mapping
from dudley.weights.named_tensors import Weights
from dudley.weights.readers.adapter import is_adapter
from dudley.weights.readers.gguf_names import ARCHITECTURES

MAPPING = "name the tensors in a mapping file: --layout FILE.toml"
# Sizes by their names in configs of any family.
SIZES = {
    "d": ("hidden_size", "n_embd", "d_model", "dim"),
    "L": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "H": ("num_attention_heads", "n_head", "n_heads"),
    "groups": ("num_key_value_heads",),
    "k": ("head_dim",),
}


def choose(weights: Weights, config: dict, layout) -> tuple[Layout, Architecture, str]:
    """The layout, the architecture that its reader makes of the config, and what was assumed."""
    if layout is not None and str(layout) not in LAYOUTS:
        if Path(layout).suffix == ".toml" or os.path.isfile(layout):
            return _read_mapping(weights, config, Path(layout))
        LAYOUTS[str(layout)]  # refuses, and names the nearest
    stated = _family_stated(weights, config)
    if stated is not None and layout is not None and str(layout) != stated:
        _expect_same(weights, config, stated, str(layout))
    if stated is not None:
        return *_read(stated, config), ""
    if layout is not None:
        why = "as asked for; no config names the model type"
        return *_read(str(layout), config), f"{layout}: {why}"
    name = _by_names(weights, config)
    live = config and name.startswith("torch-")  # a module that was asked itself
    why = "assumed from the names of the tensors; no config names the model type"
    return *_read(name, config), "" if live else f"{name}: {why}"


def _read(name: str, config: dict) -> tuple[Layout, Architecture]:
    layout = LAYOUTS[name]
    architecture = layout.architecture(config)
    odd = layout.refused or changing_setting(config, layout.honours) or architecture.odd
    return layout, replace(architecture, odd=odd)


def _family_stated(weights: Weights, config: dict) -> str | None:
    """The family that the config names, by its type or by its class; another one is refused."""
    name, classes = config.get("model_type"), config.get("architectures")
    if name is None and not classes:
        return None
    if name is None:
        fits = [key for key in LAYOUTS if _is_class_of(key, str(classes))]
        name = fits[0] if fits else classes
    if not isinstance(name, str) or name not in LAYOUTS:
        expected = f"a model type that is supported ({', '.join(LAYOUTS)})"
        raise InputError(f"{weights.source}: config.json", expected, line(name), MAPPING)
    return name


def named_class(config: dict, name: str) -> dict:
    """The config of a live module, which may name the class of the file that it came from."""
    mine = _is_class_of(str(config.get("model_type")), str([name]))
    return config | {"architectures": [name] if mine else None} if config else config


def _is_class_of(family: str, classes: str) -> bool:
    """Does the text ['LlamaForCausalLM'] name a class of this family, and not LlamaMoeFor…?"""
    stem = re.escape(family.replace("-", ""))
    pattern = rf"\['{stem}(for\w+|model|lmheadmodel|doubleheadsmodel)'\]"
    return re.fullmatch(pattern, classes, re.IGNORECASE) is not None


def _expect_same(weights: Weights, config: dict, stated: str, chosen: str) -> None:
    """Refuse another family than the config's, unless both compute the same with this config."""
    first, second = (_read(name, config) for name in (stated, chosen))
    if (first[0].slots, first[1]) != (second[0].slots, second[1]):
        fix = f"leave --layout out, or {MAPPING}"
        raise InputError(
            f"{weights.source}: --layout", f"{stated}, as its config says", chosen, fix
        )


def _by_names(weights: Weights, config: dict) -> str:
    """The first family whose names are there."""
    names = weights.names()
    for name, layout in LAYOUTS.items():
        if layout.assumable and layout.prefix(names, weights.source) is not None:
            return name
    if is_adapter(weights):
        expected = "the checkpoint that this LoRA adapter changes"
        raise InputError(f"{weights.source}: base", expected, "none", "give --base PATH")
    architecture = config.get("general.architecture")  # of a GGUF file
    if architecture is not None:
        expected = f"a GGUF file of an architecture that is known ({', '.join(ARCHITECTURES)})"
        raise InputError(f"{weights.source}: layout", expected, line(architecture), MAPPING)
    raise InputError(
        f"{weights.source}: layout",
        f"a config.json with a model_type, or names of {', '.join(LAYOUTS)}",
        f"{len(names)} tensors such as {line(names[0])}" if names else "no tensor",
        MAPPING,
    )


def _read_mapping(weights: Weights, config: dict, path: Path) -> tuple[Layout, Architecture, str]:
    """A mapping file, completed by the config's sizes and refused where it contradicts them."""
    layout, architecture = read_mapping(path)
    settings = Config(config)
    sizes = {name: settings.size(*names) for name, names in SIZES.items()}
    for name, size in sizes.items():
        mine = getattr(architecture, name)
        if size is not None and mine is not None and mine != size:
            expected = f"{size}, as {SIZES[name][0]} in the config of {weights.source}"
            raise InputError(f"{path.name}: {name}", expected, mine)
    gains = [s for s in layout.slots if s.roles[0].endswith(".gain") or s.roles[0][:2] == "g_"]
    plain = [slot.pattern for slot in gains if not slot.plus]
    if plain and offset_gains(config):
        expected = f"plus = 1, since norms of {config['model_type']} multiply by 1 + weight"
        raise InputError(f"{path.name}: {plain[0]}", expected, "none")
    architecture = architecture.with_given(**sizes)
    odd = architecture.odd or changing_setting(config)
    return layout, replace(architecture, odd=odd), f"{path.name}: roles as the mapping file says"
