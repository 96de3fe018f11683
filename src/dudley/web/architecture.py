"""An architecture from blocks: the tables of a network file in, what each block costs out."""

from __future__ import annotations

import math
import typing
from functools import lru_cache
from typing import Any

from dudley.core.constraint import Constraint
from dudley.core.errors import InputError
from dudley.core.norms import NORMS
from dudley.core.vocabulary import check_value
from dudley.networks import explain, files
from dudley.networks.activations import ACTIVATIONS
from dudley.networks.capacity import Capacity, capacity
from dudley.networks.explain import Branch
from dudley.networks.head import QUERIES
from dudley.networks.normalisers import NORMALISERS
from dudley.networks.registry import NODES

MOST_LAYERS, MOST_REPEATS = 64, 1000
OUTPUTS = ("readout", "logits")
CHOICES = {
    "sigma": tuple(ACTIVATIONS),
    "attention": tuple(NORMALISERS),
    "query": tuple(QUERIES),
    "pool": ("cls", "mean"),
    "how": ("cls", "mean"),
}
NESTED = {"mlp": "mlp", "ln": "layer-norm"}


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Any]:
    """Every block with its keys and their kinds, the norms, and the shipped networks."""
    return {
        "nodes": {name: fields(name) for name in NODES},
        "outputs": list(OUTPUTS),
        "nested": NESTED,
        "norms": list(NORMS),
        "examples": {p.stem: files.read(p) for p in sorted(files.EXAMPLES.glob("*.toml"))},
    }


def fields(node: str) -> list[dict[str, Any]]:
    """The keys of a block: size, norms, flag, number, choice or block."""
    hints = typing.get_type_hints(NODES[node])
    keys = []
    for name, parameter in files.fields_of(NODES[node]).items():
        if name in ("d", "score") or (node == "embedding" and name == "V"):
            continue  # what comes in says it
        default = parameter.default if parameter.default is not parameter.empty else None
        keys.append(
            {
                "name": name,
                "kind": _kind(name, hints.get(name), default),
                "needed": parameter.default is parameter.empty,
                "default": default if isinstance(default, str | int | float | bool) else None,
                "choices": list(CHOICES.get(name, ())),
            }
        )
    return keys


def _kind(name: str, hint: Any, default: Any) -> str:
    if name in NESTED:
        return "block"
    if name in CHOICES:
        return "choice"
    if hint is bool or isinstance(default, bool):
        return "flag"
    if hint is float or isinstance(default, float):
        return "number"
    if hint is Constraint or Constraint in typing.get_args(hint) or name[:2] in ("W_", "b_"):
        return "norms"
    return "size"


def explain_network(body: Any) -> dict[str, Any]:
    """The gap of a network and its tree, from ``{"network": tables, "n": …, "delta": …}``."""
    if not isinstance(body, dict) or not isinstance(body.get("network"), dict):
        raise InputError("architecture", 'an object with "network", "n" and "delta"', _named(body))
    n, delta = check_value("n", body.get("n", 1e5)), check_value("delta", body.get("delta", 0.05))
    made = files.build(_expect_bounded(body["network"]), {})
    cap = capacity(made.network, made.inputs, n, made.loss)
    rows, log_ε, log_n = cap.shares
    half = cap.loss.range / 2
    return {
        "gap": cap.gap(delta).to_json(),
        "rademacher": _finite(cap.rademacher()) if _scalar(cap) else None,
        "weights": files.count_parameters(cap.network, cap.signal.width),
        "needed_n": {"target": half, "log10": _finite(cap.log10_needed_n(half, delta))},
        "culprit": explain.culprit(cap),
        "at": {"epsilon": explain.power(log_ε), "n": explain.power(log_n)},
        "tree": _tree(explain.branches(cap)),
        "shared": [_block(row) for row in explain.shared(cap)],
        "shares": [_block(row) for row in rows],
        "text": cap.explain(),
    }


def _expect_bounded(tables: dict[str, Any]) -> dict[str, Any]:
    """Refuse what only a mistake or an attack would ask for."""
    layers = tables.get("layer")
    if isinstance(layers, list):
        if len(layers) > MOST_LAYERS:
            raise InputError("layer", f"at most {MOST_LAYERS} blocks", len(layers))
        for layer in layers:
            repeat = layer.get("repeat", 1) if isinstance(layer, dict) else 1
            if isinstance(repeat, int | float) and repeat > MOST_REPEATS:
                raise InputError("repeat", f"at most {MOST_REPEATS}", repeat)
    return tables


def _scalar(cap: Capacity) -> bool:
    return (cap.facts.out.rows, cap.facts.out.width) == (1, 1)


def _tree(branch: Branch) -> dict[str, Any]:
    return {
        "label": branch.label,
        "kind": branch.kind,
        "radius": list(branch.radius),
        "lipschitz": branch.lipschitz,
        "blocks": [_block(row) for row in branch.rows],
        "inside": [_tree(inner) for inner in branch.inside],
    }


def _block(row: explain.BlockCost) -> dict[str, Any]:
    about = {"name": row.name, "path": row.block, "shape": row.shape, "constraint": row.constraint}
    low, high = (explain.power(x * math.log(10)) for x in row.log10_weight)
    weight = high if low == high else f"{low} … {high}"
    more = {"count": row.count, "weight": weight, "share": _finite(row.share), "cover": row.cover}
    return about | more


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _named(body: Any) -> str:
    return ", ".join(map(str, body)) if isinstance(body, dict) else type(body).__name__
