"""What is trained: two families of networks, every task, every combination of settings.

``blocks``: the papers' own networks, for which their statements are (`models.token_network`): one
head at depth 1, blocks with Π at depth 2 and 4. They have no dropout. ``pre-norm``: Transformers of
practice (`models.transformer`), with dropout and LayerNorm or RMSNorm. All examples at every step,
Adam, until the training loss without dropout is `TARGET`.

At scale paper there are 1,656 cells. Their examples are few and short, so that two processors can
train all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PartConfig = dict[str, Any]
TARGET = 0.05  # of the training loss; a model that does not reach it is kept apart
PLANTED = (
    {"name": "and", "s": 3},
    {"name": "or", "s": 3},
    {"name": "majority", "s": 5},
    {"name": "parity", "s": 2},
    {"name": "threshold", "s": 4, "k": 2},
)
MORE = ({"name": "majority", "s": 9},)
AXES = ("family", "task", "T", "m", "depth", "width", "dropout", "norm", "rate")


def parts(size: Mapping[str, Any]) -> list[PartConfig]:
    """Every combination of a scale's settings, each with its lists of tasks left open."""
    every = []
    for depth in size["depth"]:
        for width in size["width"]:
            for rate in size["rate"]:
                how = training(rate, size)
                for task in tasks(size):
                    every.append({"task": task, "model": block(task, depth, width), **how})
                for norm, dropout in size["variants"]:
                    for task in (*tasks(size, "pre-norm"), *images(size)):
                        model = pre_norm(task, depth, 2 * width, norm, dropout)
                        every.append({"task": task, "model": model, **how})
    return every


def training(rate: float, size: Mapping[str, Any]) -> PartConfig:
    return {
        "training": {
            "optimiser": {"name": "adam", "lr": rate}, "steps": size["steps"],
            "evaluate_every": 10, "evaluate": ["train"],
            "stop": {"metric": "train_loss", "at_most": TARGET},
        }
    }  # fmt: skip


def tasks(size: Mapping[str, Any], family: str = "blocks") -> list[PartConfig]:
    """Planted functions, and masked tokens. What ``size`` says of a family counts there."""
    holdout, few = size["holdout"], size["pre-norm"] if family == "pre-norm" else {}
    planted = [
        task | {"T": T, "m": size["m"], "holdout": holdout}
        for task in few.get("planted", size["planted"])
        for T in few.get("T", size["T"])
    ]
    masked = [
        {"name": "masked-tokens", "V": V, "T": T, "lag": 2, "m": m, "holdout": holdout}
        for V, T, m in size["masked"]
    ]
    return [*planted, *masked]


def images(size: Mapping[str, Any]) -> list[PartConfig]:
    """The digits 0 and 1."""
    return [{"name": "mnist01", "m": m, "tokens": "patches"} for m in size["images"]]


def block(task: PartConfig, depth: int, width: int) -> PartConfig:
    """One of the papers' networks."""
    model = {"name": "token-network", "L": depth, "k": width}
    model |= {"block": "head" if depth == 1 else "trauger"}
    if task["name"] == "masked-tokens":
        return model | {"V": task["V"] + 1, "classes": task["V"], "every": True}
    return model | {"V": 3, "bits": True}


def pre_norm(task: PartConfig, depth: int, width: int, norm: str, dropout: float) -> PartConfig:
    """A Transformer of practice."""
    model = {"name": "transformer", "L": depth, "d": width, "H": 2}
    model |= {"norm": norm, "dropout": [dropout, dropout]}
    if task["name"] == "masked-tokens":
        return model | {"V": task["V"] + 1, "classes": task["V"], "every": True}
    if task["name"] == "mnist01":
        return model | {"V": 64, "T": 16, "inputs": "rows"}
    return model | {"V": 3, "inputs": "bits"}


def setting(config: PartConfig) -> PartConfig:
    """The settings of a model, by the names of `AXES`."""
    task, model = config["task"], config["model"]
    blocks = model["name"] == "token-network"
    return {
        "family": "blocks" if blocks else "pre-norm",
        "task": task["name"] + (f"-{task['s']}" if "s" in task else ""),
        "T": task.get("T", model.get("T")),
        "m": task["m"],
        "depth": model["L"],
        "width": model["k"] if blocks else model["d"],
        "dropout": 0.0 if blocks else model["dropout"][0],
        "norm": "none" if blocks else model["norm"],
        "rate": config["training"]["optimiser"]["lr"],
    }


SIZES = {
    "smoke": {
        "planted": PLANTED[:1], "T": [6], "m": [12, 24], "masked": [[3, 6, [40]]], "images": [],
        "depth": [1, 2], "width": [8], "variants": [["layer", 0.1]], "rate": [1e-2],
        "pre-norm": {}, "steps": 300, "holdout": 200,
    },
    "laptop": {
        "planted": PLANTED, "T": [8, 12], "m": [24, 48, 96], "masked": [[4, 8, [60, 240]]],
        "images": [10, 40], "depth": [1, 2], "width": [8],
        "variants": [["layer", 0.0], ["layer", 0.1]], "rate": [3e-3, 1e-2],
        "pre-norm": {"planted": PLANTED[:1] + PLANTED[2:4], "T": [8]},
        "steps": 400, "holdout": 1000,
    },
    "paper": {
        "planted": PLANTED + MORE, "T": [10, 16], "m": [24, 48, 96, 192],
        "masked": [[8, 8, [60, 240, 960]]], "images": [10, 40], "depth": [1, 2, 4],
        "width": [8, 16], "variants": [["layer", 0.0], ["layer", 0.1], ["rms", 0.0]],
        "rate": [3e-3, 1e-2],
        "pre-norm": {"T": [10]}, "steps": 1000, "holdout": 5000,
    },
}  # fmt: skip
