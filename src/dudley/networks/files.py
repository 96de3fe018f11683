"""Network files: TOML in, a network, its inputs and its loss out.

Keys are the vocabulary; norms stand under their matrix (``W_QK.l11 = 20``; ``W_QK = "free"`` says
nothing of it), a list gives one value per repeat, and an unknown key is refused with the nearest
one named. ``[loss]`` holds
``lipschitz`` and ``range``, or ``margin``, or ``clip``; ``psi`` makes the loss robust:

>>> read_loss({"range": 100.0, "psi": {"power": 1.5, "scale": 0.1}}).name
'log-truncation of power 1.5 at scale 0.1 of a 1-Lipschitz loss in [0, 100]'
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
import operator
import typing
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.calculus.compose import Chain
from dudley.calculus.nest import entries
from dudley.calculus.node import Node
from dudley.calculus.repeat import Repeat
from dudley.core.boundary import documents
from dudley.core.boundary.paths import is_plain
from dudley.core.constraint import FREE, Constraint, Rank, ball, radius_of, size_of
from dudley.core.errors import InputError, UnknownName
from dudley.core.norms import NORMS, aliases, canonical
from dudley.networks import activations, normalisers
from dudley.networks.embeddings import OneHot, Positions, Tokens
from dudley.networks.extent import expect_extent, has_lists
from dudley.networks.head import Head
from dudley.networks.losses import CrossEntropy, Loss, Margin
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.registry import NODES

if TYPE_CHECKING:
    from dudley.networks.robust import Robust

SCHEMA = "dudley.net/1"
EXAMPLES = Path(__file__).parent.parent / "examples"
_SECTIONS = ("schema", "title", "input", "layer", "output", "loss")
_KINDS = {"mlp": "mlp", "ln": "layer-norm"}  # of the nodes under these keys, if none is named
LOSS = {
    "lipschitz": "Lipschitz constant of the loss in the prediction; 1 if not given",
    "range": "the loss lies in [0, range]; 1 if not given",
    "margin": "the ramp of this margin, instead of both",
    "multiclass": "true: the margin is that of logits",
    "clip": "cross-entropy clipped at this value, instead of both",
    "psi": "robust: ψ(αℓ)/α for the loss ℓ, with psi.power (2 if not given: Catoni's) and "
    "psi.scale = α (1 if not given); not with a margin",
}  # the keys of [loss]
_PSI = ("power", "scale")


@dataclass(frozen=True)
class Description:
    """A network as a file describes it."""

    title: str
    network: Node
    inputs: Tokens
    loss: Loss | Margin | CrossEntropy | Robust


def load(path: str | Path, overrides: dict[str, float] | None = None) -> Description:
    """Read a network file, or a shipped example by its name.

    >>> load("trauger2024-head").inputs.T
    200
    """
    return build(read(path), overrides or {})


def read(path: str | Path) -> dict:
    """The tables of a network file."""
    file = Path(path)
    try:
        if is_plain(str(path)) and not file.exists():
            file = EXAMPLES / f"{path}.toml"
        there = file.is_file()
    except (OSError, ValueError):  # a name that no file can have
        there = False
    if not there:
        examples = ", ".join(sorted(p.stem for p in EXAMPLES.glob("*.toml")))
        raise InputError(
            "network", "a TOML file or an example's name", path, f"examples: {examples}"
        )
    return documents.read_toml(file)


def build(tables: dict, overrides: dict[str, float]) -> Description:
    """A network from its tables, after overriding single values by name."""
    tables = copy.deepcopy(tables)
    _refuse_unknown("section", tables, _SECTIONS)
    if tables.get("schema") != SCHEMA:
        raise InputError("schema", repr(SCHEMA), repr(tables.get("schema")))
    for name, value in overrides.items():
        _override(tables, name, value)
    expect_extent(tables)
    for section in ("input", "layer"):
        if section not in tables:
            raise InputError("network file", f"a section [{section}]", "none")
    inputs, nodes, width = _inputs(_table(tables["input"], "[input]"))
    layers = tables["layer"]
    if not isinstance(layers, list):
        raise InputError("layer", "[[layer]] tables", type(layers).__name__)
    for i, layer in enumerate(layers, 1):
        node, width = _layer(_table(layer, f"layer {i}"), width, f"layer {i}")
        nodes.append(node)
    if "output" in tables:
        output = _table(tables["output"], "[output]")
        node, width = _layer({"node": "readout"} | output, width, "[output]")
        nodes.append(node)
    network = functools.reduce(operator.rshift, nodes)
    loss = read_loss(tables.get("loss", {}))
    return Description(str(tables.get("title", "")), network, inputs, loss)


# -- sections ---------------------------------------------------------------------------------


def _inputs(table: dict) -> tuple[Tokens, list[Node], int]:
    _refuse_unknown("key of [input]", table, ("T", "d", "V", "X", "P", "clipped"))
    X = _table(table.get("X", {}), "X")
    _refuse_unknown("key of X", X, ("row2inf", "row1inf"))
    T = size_of("T", table.get("T"))
    if "V" in table:
        if X or "P" in table:
            raise InputError("[input]", "either V (one-hot tokens) or X and P norms", "both")
        V = size_of("V", table["V"])
        return OneHot(V, T), [], V
    d = size_of("d", table.get("d"))
    if "row2inf" not in X:
        raise InputError("[input]", "X.row2inf, the largest ℓ2 norm of a token", "none")
    tokens = Tokens(X["row2inf"], T, d, X.get("row1inf"), _flag(table, "clipped"))
    positions: list[Node] = []
    if "P" in table:
        positions = [Positions(d, T, _constraint("P", table["P"]))]
    return tokens, positions, d


def read_loss(table: dict) -> Loss | Margin | CrossEntropy | Robust:
    """The loss of a table with the keys of ``LOSS``."""
    table = _table(table, "[loss]")
    _refuse_unknown("key of [loss]", table, LOSS)
    kinds = [name for name in ("margin", "clip") if name in table]
    if len(kinds) > 1 or (kinds and {"lipschitz", "range"} & set(table)):
        raise InputError("[loss]", "margin, or clip, or lipschitz and range", " and ".join(table))
    if "margin" in table:
        if "psi" in table:
            raise InputError("[loss]", "psi with clip, or with lipschitz and range", "a margin")
        return Margin(table["margin"], _flag(table, "multiclass"))
    if "multiclass" in table:
        raise InputError("[loss]", "multiclass only with margin", "no margin")
    if "clip" in table:
        return _robust(CrossEntropy(table["clip"]), table)
    values = {k: radius_of(f"loss.{k}", table.get(k, 1.0)) for k in ("lipschitz", "range")}
    name = f"a {values['lipschitz']:g}-Lipschitz loss in [0, {values['range']:g}]"
    return _robust(Loss(**values, name=name), table)


def _robust(base: Loss | CrossEntropy, table: dict) -> Loss | CrossEntropy | Robust:
    """The loss, or ψ(αℓ)/α where the table has a ψ."""
    if "psi" not in table:
        return base
    from dudley.networks.robust import Robust

    psi = _table(table["psi"], "psi")
    _refuse_unknown("key of psi", psi, _PSI)
    return Robust(base, **{name: radius_of(f"psi.{name}", value) for name, value in psi.items()})


def _flag(table: dict, name: str) -> bool:
    value = table.get(name, False)
    if not isinstance(value, bool):
        raise InputError(name, "true or false", repr(value))
    return value


def _layer(table: dict, width: int, where: str) -> tuple[Node, int]:
    """A node of a file, repeated as asked, and the width of its output."""
    table = dict(table)
    repeat = size_of(f"repeat of {where}", table.pop("repeat", 1))
    if has_lists(table):
        copies = [_build(_pick(table, i, repeat, where), width, where) for i in range(repeat)]
        node: Node = copies[0] if repeat == 1 else Chain(tuple(copies))
    else:
        layer = _build(table, width, where)
        node = layer if repeat == 1 else Repeat(layer, repeat)
    return node, node.parameters(width)[1]


# -- nodes from tables ------------------------------------------------------------------------


UNWRITTEN = ("name", "names", "query_norm", "turns")  # no key of a file sets these fields


def fields_of(unit: Callable) -> dict[str, inspect.Parameter]:
    """The keys a node takes in a file: its parameters, those of its attention included."""
    keys = dict(inspect.signature(unit).parameters)
    extra = next((p for p in keys.values() if p.kind is p.VAR_KEYWORD), None)
    if extra is not None:
        keys.pop(extra.name)
        inner = Head if extra.name == "head_fields" else MultiHeadAttention
        keys |= inspect.signature(inner).parameters
    if "scale" in keys:  # written score = { scale = … }
        keys["score"] = keys.pop("scale").replace(name="score")
    return {name: p for name, p in keys.items() if name not in UNWRITTEN}


def _build(table: dict, width: int, where: str) -> Node:
    table = dict(table)
    kind = table.pop("node", None)
    if not isinstance(kind, str):
        raise InputError(where, 'a key node = "…"', repr(kind))
    unit = NODES[kind]
    fields = fields_of(unit)
    _refuse_unknown(f"key of {kind} in {where}", table, fields)
    entrance = "V" if kind == "embedding" else "d"  # the field that must fit what comes in
    values: dict = {entrance: width} if entrance in fields and entrance not in table else {}
    for name, value in table.items():
        values |= _field(unit, name, value, width, where)
    missing = [n for n, p in fields.items() if p.default is p.empty and n not in values]
    if missing:
        raise InputError(f"{kind} in {where}", f"keys {', '.join(missing)}", "none of them")
    return unit(**values)


def _field(unit: Callable, name: str, value: Any, width: int, where: str) -> dict:
    """One key of a table as keyword arguments."""
    if name == "query" and isinstance(value, dict):
        _refuse_unknown("key of query", value, ("norm2",))
        return {"query": "fixed", "query_norm": radius_of("query.norm2", value.get("norm2"))}
    if name == "score":
        _refuse_unknown("key of score", _table(value, "score"), ("scale",))
        return {"scale": radius_of("score.scale", value.get("scale"))}
    if name == "sigma" and isinstance(value, dict):
        _refuse_unknown("key of sigma", value, ("lipschitz", "at0"))
        if "lipschitz" not in value:
            raise InputError("sigma", "sigma.lipschitz", "none")
        return {name: activations.declared(**value)}
    if name == "attention" and isinstance(value, dict):
        _refuse_unknown("key of attention", value, ("lipschitz", "mass"))
        if "lipschitz" not in value:
            raise InputError("attention", "attention.lipschitz", "none")
        return {name: normalisers.Declared(value["lipschitz"], value.get("mass", 1.0))}
    hint = _hints(unit).get(name)
    if isinstance(hint, type) and issubclass(hint, Node):
        default = {"node": _KINDS[name]} if name in _KINDS else {}
        inner = default | _table(value, f"{name} in {where}")
        return {name: _build(inner, width, f"{name} in {where}")}
    if Constraint in typing.get_args(hint) or hint is Constraint:
        return {name: _constraint(name, value)}
    if hint is int or int in typing.get_args(hint):
        return {name: size_of(name, value)}
    if (hint is bool) != isinstance(value, bool):
        raise InputError(
            f"{name} in {where}", "true or false" if hint is bool else "a value", value
        )
    return {name: value}


@functools.cache
def _hints(unit: Callable) -> dict:
    hints = typing.get_type_hints(MultiHeadAttention) | typing.get_type_hints(Head)
    return hints | typing.get_type_hints(unit)


def _constraint(name: str, value: Any) -> Constraint:
    if value == "free":
        return FREE
    table: dict = _table(value, name)
    _refuse_unknown(f"norm of {name}", table, [*NORMS, *aliases(), "rank", "center", "tie"])
    norms = {k: v for k, v in table.items() if k not in ("rank", "center", "tie")}
    if not norms:
        raise InputError(name, "at least one norm, such as op or l11", "none")
    center = table.get("center")
    parts = [ball(norm, radius_of(f"{name}.{norm}", v), center) for norm, v in norms.items()]
    if "rank" in table:
        parts.append(Rank(table["rank"]))
    total = parts[0]
    for part in parts[1:]:
        total = total & part
    return total.tied(str(table["tie"])) if "tie" in table else total


# -- lists, overrides, refusals ---------------------------------------------------------------


def _pick(table: dict, i: int, repeat: int, where: str) -> dict:
    """The table of repeat i: each list replaced by its i-th entry."""
    picked = {}
    for name, value in table.items():
        if isinstance(value, dict):
            picked[name] = _pick(value, i, repeat, where)
        elif isinstance(value, list):
            if len(value) != repeat:
                raise InputError(f"{name} in {where}", f"{repeat} values", f"{len(value)}")
            picked[name] = value[i]
        else:
            picked[name] = value
    return picked


def _override(tables: dict, name: str, value: float) -> None:
    """Set a value by its vocabulary name wherever the file has its matrix or key."""
    path = [canonical(part) if i else part for i, part in enumerate(name.split("."))]
    number = int(value) if value == int(value) and abs(value) < 2**53 else value
    if name == "margin" or path[0] == "loss":
        _set(tables, ["loss", path[-1]], value)
    elif path[0] == "psi":
        _set(tables, ["loss", *path], value)
    elif name == "L":
        repeated = [layer for layer in tables.get("layer", []) if "repeat" in layer]
        if not repeated:
            raise InputError("L", "a network with a repeated layer", "none")
        for layer in repeated:
            layer["repeat"] = number
    elif name == "ln.least_std":
        from dudley.networks.alarms import set_level  # few files have levels

        set_level(tables, value)
    elif path[0] in ("T", "d", "X"):
        _set(tables, ["input", *path], number)
    elif _set_everywhere(tables, path, value if len(path) > 1 else number):
        return
    elif path[0] == "P":  # fixed positions, where the file has none
        _set(tables, ["input", *path], value)
    else:
        raise UnknownName("name in this network", name, sorted(_names(tables)))


def _set(table: dict, path: list[str], value: Any) -> None:
    for key in path[:-1]:
        table = _table(table.setdefault(key, {}), key)
    for key in [key for key in table if canonical(key) == path[-1]]:
        del table[key]  # the same norm by another name
    table[path[-1]] = value


def _set_everywhere(table: Any, path: list[str], value: Any) -> bool:
    if isinstance(table, list):
        return any([_set_everywhere(part, path, value) for part in table])
    if not isinstance(table, dict):
        return False
    below = any([_set_everywhere(part, path, value) for part in table.values()])
    if path[0] in table and (len(path) == 1 or isinstance(table[path[0]], dict)):
        _set(table, path, value)
        return True
    return below


def _names(table: Any, prefix: str = "") -> set[str]:
    if isinstance(table, list):
        return set().union(*(_names(part, prefix) for part in table))
    if isinstance(table, dict):
        return set().union(
            *(_names(part, key if not prefix else f"{prefix}.{key}") for key, part in table.items())
        )
    return {".".join(prefix.split(".")[-2:])} if prefix else set()


def _table(value: Any, where: str) -> dict:
    if not isinstance(value, dict):
        raise InputError(where, "a table", repr(value))
    return value


def _refuse_unknown(kind: str, table: dict, allowed: Collection[str]) -> None:
    for name in table:
        if name not in allowed:
            raise UnknownName(kind, name, allowed)


def count_parameters(network: Node, width: int) -> int:
    """How many trained numbers the network has (a tied block counts once)."""
    seen: dict[str, int] = {}
    total = 0
    for _, parameter in entries(network.parameters(width)[0]):
        size = math.prod(parameter.shape) if parameter.trained else 0
        if parameter.constraint.tie is not None:
            seen[parameter.constraint.tie] = size
        else:
            total += size
    return total + sum(seen.values())
