"""The state of a pass that goes on after a kill: weights, moments of the optimisers, a place.

It is saved after the journal has reached the disk. So it never lies ahead of the journal, and a
pass that goes on from it computes the losses between again, which the journal passes over. It is
one file of safetensors: reading it executes nothing.

What the pass is of (model, training, order) is written before the first step and stays. A journal
does not say whose losses it has, so without this file another model could go on with them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates import tensors
from dudley.core.backend import torch
from dudley.core.boundary import documents
from dudley.core.boundary.refusal import refusal
from dudley.core.files import written

SCHEMA = "dudley.text-pass/1"
NAME = "state.safetensors"
PASS = "pass.json"


@dataclass(frozen=True)
class PassPlace:
    """Documents that the model has learnt from, their symbols, and steps."""

    units: int = 0
    symbols: int = 0
    steps: int = 0


def expect_same_pass(folder: Path, table: dict[str, Any], begun: bool) -> None:
    """Write what the pass of a folder is of, before it has begun; another one is refused."""
    path, whole = folder / PASS, {"schema": SCHEMA, "of": table}
    if begun or path.exists():
        if not path.exists() or documents.read(path) != whole:
            fix = "the same command goes on; another one needs a folder of its own"
            raise refusal(path, "this pass", "another one", fix=fix)
        return
    with written(path) as file:
        file.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def save_state(
    folder: Path,
    table: dict[str, Any],
    place: PassPlace,
    module: torch.nn.Module,
    optimisers: Sequence[torch.optim.Optimizer],
) -> None:
    """Write the file, whole or not at all."""
    arrays = {f"w.{name}": _numbers(W) for name, W in module.state_dict().items()}
    for i, optimiser in enumerate(optimisers):
        for j, moments in optimiser.state_dict()["state"].items():
            arrays |= {f"o.{i}.{j}.{name}": _numbers(value) for name, value in moments.items()}
    header = {"schema": SCHEMA, "of": table, "place": vars(place)}
    with written(folder / NAME) as file:
        tensors.write(file, header, arrays)


def save_weights(file: Path, table: dict[str, Any], module: torch.nn.Module) -> None:
    """Write the weights alone."""
    tensors.write(file, table, {name: _numbers(W) for name, W in module.state_dict().items()})


def load_weights(path: Path, table: dict[str, Any], module: torch.nn.Module) -> None:
    """Put the weights of a file in place; those of another pass are refused.

    The hash of a checkpoint stands in the journal, so its file commits to what the pass is of.
    """
    header, arrays = tensors.read(path)
    if header != table:
        raise refusal(path, f"{PASS} as the checkpoint says", "another one")
    try:
        module.load_state_dict({name: torch.from_numpy(W) for name, W in arrays.items()})
    except RuntimeError as error:
        raise refusal(path, "weights of this model", str(error).splitlines()[0]) from None


def load_state(
    folder: Path,
    table: dict[str, Any],
    module: torch.nn.Module,
    optimisers: Sequence[torch.optim.Optimizer],
) -> PassPlace:
    """Put the state of the folder in place, if there is one; that of another pass is refused."""
    path = folder / NAME
    if not path.exists():
        return PassPlace()
    header, arrays = tensors.read(path)
    if header.get("schema") != SCHEMA or header.get("of") != table:
        fix = "the same command goes on; another one needs a folder of its own"
        raise refusal(path, "the state of this pass", "that of another one", fix=fix)
    try:
        weights = {name[2:]: torch.from_numpy(W) for name, W in arrays.items() if name[0] == "w"}
        module.load_state_dict(weights)
        for i, optimiser in enumerate(optimisers):
            moments: dict[int, dict[str, Any]] = {}
            for name, W in arrays.items():
                if name.startswith(f"o.{i}."):
                    j, what = name.split(".", 3)[2:]
                    moments.setdefault(int(j), {})[what] = _read(what, W)
            groups = optimiser.state_dict()["param_groups"]
            optimiser.load_state_dict({"state": moments, "param_groups": groups})
        return PassPlace(**header["place"])
    except (IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise refusal(path, "the state of this pass", error) from None


def _numbers(value: Any) -> np.ndarray:
    return torch.as_tensor(value).detach().cpu().numpy()


def _read(name: str, W: np.ndarray) -> Any:
    """A moment; the file has a count of steps as an array of one number, whole or not."""
    if name != "step":
        return torch.from_numpy(W)
    return int(W[0]) if W.dtype.kind == "i" else torch.tensor(W[0])
