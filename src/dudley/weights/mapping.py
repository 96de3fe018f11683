"""Mapping files: the layout of a checkpoint that no family describes, in TOML.

    schema = "dudley.layout/1"
    [network]
    H = 4
    order = "pre"
    eps = 1e-5
    sigma = "gelu"
    [tensors]
    "blocks.{layer}.qkv.weight" = { roles = ["W_Q", "W_K", "W_v"], interleaved = "none" }
    "blocks.{layer}.head.{head}.out" = { role = "W_c", stored = "in-out" }
    "blocks.{layer}.norm1.weight" = { role = "ln_1.gain" }
    [skip]
    '^buffer\\.' = "a buffer"

Names are whole names. ``stored``: ``out-in`` (a torch linear layer, transposed on reading; the
default of W_… ), ``in-out`` (as it acts; the default of W_E, W_S and P), ``row`` (biases),
``column`` (gains), ``patches``. A fused tensor must say how its outputs are ordered:
``interleaved = "none"`` (all queries, then all keys, then all values; ``split`` gives unequal
parts), ``"heads"`` (query, key and value of each head in turn) or ``"groups"`` (the queries of
each group, then its key and value). ``plus = 1`` says that the network adds 1 to a stored gain.
``[network]`` holds what ``dudley derive`` must know besides norms. A config.json beside the
weights is read too: a size that it states otherwise is refused, and so is a bound where it names
a computation that no mapping can describe.

>>> _stored("W_E"), _stored("b_1"), _stored("ln_1.gain")
('in-out', 'row', 'column')
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from dudley.core.boundary import documents
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError, UnknownName
from dudley.networks.activations import activation
from dudley.weights.architecture import Architecture
from dudley.weights.layout import Layout, Skip, Slot
from dudley.weights.output import KINDS, Output

SCHEMA = "dudley.layout/1"
_SECTIONS = ("schema", "network", "tensors", "skip")
_KEYS = ("role", "roles", "stored", "split", "interleaved", "plus")
_SIZES = ("d", "L", "H", "groups", "k", "T", "window")
_NUMBERS = ("embed_scale", "residual_scale", "logit_scale", "score_cap", "logit_cap")
_UNWRITTEN = ("outputs", "turns", "first_position")
_FLAGS = ("language", "bias")  # beside those whose default is one
_SKIPS = 256  # regular expressions of a file
_CHOICES = {
    "order": ("pre", "post", "sandwich", "parallel"),
    "inputs": ("tokens", "patches", "rows"),
    "head": KINDS,
    "row": ("first", "last", "mean"),
}


def read_mapping(path: Path) -> tuple[Layout, Architecture]:
    """A layout and an architecture from a mapping file."""
    tables = documents.read_toml(path)
    for name in tables:
        if name not in _SECTIONS:
            raise UnknownName(f"section of {path.name}", name, _SECTIONS)
    if tables.get("schema") != SCHEMA:
        raise InputError(f"{path.name}: schema", repr(SCHEMA), repr(tables.get("schema")))
    tensors, skips = _table(tables, "tensors", path), _table(tables, "skip", path)
    if not tensors:
        raise InputError(f"{path.name}: [tensors]", "names with their roles", "none")
    slots = tuple(_slot(name, entry, path) for name, entry in tensors.items())
    if len(skips) > _SKIPS:
        raise InputError(f"{path.name}: [skip]", f"at most {_SKIPS} of them", len(skips))
    left_out = tuple(Skip(_regex(p, path), str(why)) for p, why in skips.items())
    pooler = any("W_pool" in slot.roles for slot in slots)
    architecture = _architecture(_table(tables, "network", path), path, pooler)
    layout = Layout(path.name, slots, left_out, lambda _: architecture, anchor="")
    return layout, architecture


def _table(tables: dict, name: str, path: Path) -> dict:
    value = tables.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{path.name}: [{name}]", "a table", type(value).__name__)
    return value


def _stored(role: str) -> str:
    if role in ("W_E", "W_S", "P"):
        return "in-out"
    if role.endswith(".gain") or role.startswith("g_"):
        return "column"
    return "row" if role.startswith("b_") or role.endswith(".bias") or role == "cls" else "out-in"


def _slot(name: str, entry, path: Path) -> Slot:
    if isinstance(entry, str):
        entry = {"role": entry}
    if not isinstance(entry, dict):
        raise InputError(f"{path.name}: {name}", "a role, or a table with one", repr(entry))
    for key in entry:
        if key not in _KEYS:
            raise UnknownName(f"key of {name} in {path.name}", key, _KEYS)
    roles = entry.get("roles", [entry["role"]] if "role" in entry else [])
    if not isinstance(roles, list) or not roles or not all(isinstance(r, str) for r in roles):
        raise InputError(f"{path.name}: {name}", 'role = "…" or roles = […]', repr(entry))
    before = [role for role in roles if "_pre" in role]
    if before:  # its activation has no name here
        raise InputError(f"{path.name}: {name}", "W_pool (tanh) before the logits", before[0])
    split = entry.get("split")
    if split is not None and not isinstance(split, list):
        raise InputError(f"{path.name}: split of {name}", "a list of widths", repr(split))
    if name.count("{layer}") > 1 or name.count("{head}") > 1:
        raise InputError(f"{path.name}: {name}", "{layer} and {head} at most once", "twice")
    if split is not None:
        split = tuple(size_of(f"{path.name}: split of {name}", part) for part in split)
    stored, plus = str(entry.get("stored", _stored(roles[0]))), entry.get("plus", 0.0)
    gain = roles[0].endswith(".gain") or roles[0].startswith("g_")
    if isinstance(plus, bool) or not isinstance(plus, int | float) or not (gain or plus == 0):
        raise InputError(f"{path.name}: plus of {name}", "a number, for a gain", repr(plus))
    radius_of(f"{path.name}: plus of {name}", abs(plus))
    return Slot(name, tuple(roles), stored, split, entry.get("interleaved"), float(plus))


def _regex(pattern: str, path: Path) -> str:
    """A regular expression that takes no long time on any name."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(
            f"{path.name}: skip", "regular expressions", f"{pattern!r}: {error}"
        ) from None
    bare = re.sub(r"\\.|\[\^?\]?[^]]*\]", "x", pattern, flags=re.DOTALL).replace("(?:", "(")
    several = max(bare.count("("), len(re.findall(r"[*+?{]", bare))) > 1
    if several or re.search(r"\)[*+?{]", bare):  # backtracking could take years
        expected = "regular expressions with one group and one repeat, not of the group, at most"
        raise InputError(f"{path.name}: skip", expected, repr(pattern))
    return pattern


def _architecture(table: dict, path: Path, pooler: bool) -> Architecture:
    known = {field.name: field for field in fields(Architecture) if field.name not in _UNWRITTEN}
    known |= {"language": None, "row": None}
    values: dict = {}
    for name, value in table.items():
        if name not in known:
            raise UnknownName(f"key of [network] in {path.name}", name, known)
        where = f"{path.name}: {name}"
        if name in _SIZES:
            value = size_of(where, value)
        elif name in _CHOICES:
            if value not in _CHOICES[name]:
                raise InputError(where, " or ".join(_CHOICES[name]), repr(value))
        elif name in ("language", "bias") or isinstance(
            getattr(known[name], "default", None), bool
        ):
            if not isinstance(value, bool):
                raise InputError(where, "true or false", repr(value))
        elif name == "eps" or name in _NUMBERS:
            value = radius_of(where, value)
            if value == 0 and name in _NUMBERS:
                raise InputError(where, "a number > 0", value)
        elif name == "sigma":
            value = activation(value).name
        elif name == "scales":
            if not isinstance(value, list):
                raise InputError(where, "a list of numbers, one per layer", repr(value))
            value = tuple(radius_of(where, part) for part in value)
        values[name] = value
    if values.pop("language", False):
        values.setdefault("head", "language")
    outputs = _outputs(values.pop("row", None), "pool" if pooler else None)
    return Architecture(**values, outputs=outputs)


def _outputs(row: str | None, dense: str | None) -> tuple[Output, ...]:
    """The outputs that a mapping can describe; a classifier only where its row is stated."""
    if row is None:
        return (Output("language"),)
    return Output("language"), *(Output(k, row, dense, "tanh") for k in ("rows", "classes"))
