"""Files of models that a named training gave: weights, and the table that says what they are of.

A file is safetensors with the header ``{"schema": "dudley.trained/1", "training": …, "batch": …,
"blueprint": …}``. Reading it builds the module that the table describes, first without memory to
compare all shapes, and fills it. Nothing in a file is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates import tensors
from dudley.certificates.learners.module_predictor import ModulePredictor, state_of
from dudley.certificates.trainings.base import NamedTraining, training_of
from dudley.core.backend import torch
from dudley.core.errors import DudleyError, InputError


def save(path: str | Path, model: ModulePredictor, training: NamedTraining) -> None:
    """Write the file of a model that this training gave."""
    header = {
        "schema": tensors.TRAINED,
        "training": training.table(),
        "batch": int(model.batch),
        "blueprint": training.blueprint(),
    }
    tensors.write(path, header, state_of(model.module))


def load(path: str | Path, device: str = "cpu") -> ModulePredictor:
    """Read the file; a table that is none, and weights of other shapes, are refused."""
    path = Path(path)
    header, arrays = tensors.read(path)
    if header.get("schema") != tensors.TRAINED:
        got = str(header.get("schema", "no header"))
        raise InputError(path.name, f"a model with the header {tensors.TRAINED}", got)
    blueprint = header.get("blueprint", {})
    if not isinstance(blueprint, dict):
        raise InputError(f"blueprint of {path.name}", "a table", blueprint)
    training = training_of(header.get("training", {}))
    try:
        with torch.device("meta"):
            _expect_shapes(training.skeleton(blueprint), arrays, path.name)
        with torch.random.fork_rng(devices=[]):
            module = training.skeleton(blueprint)
    except DudleyError:
        raise
    except Exception as error:  # whatever a module raises at odd sizes
        raise InputError(path.name, "a module that can be built", error) from None
    module.load_state_dict({name: torch.from_numpy(W.copy()) for name, W in arrays.items()})
    return ModulePredictor(module.eval(), header.get("batch", 256), device)


def _expect_shapes(module: torch.nn.Module, arrays: Mapping[str, np.ndarray], file: str) -> None:
    """Refuse weights whose names, shapes or types are not the module's, and infinite ones."""
    state: dict[str, Any] = module.state_dict()
    if odd := sorted(set(state) ^ set(arrays)):
        what = "missing" if odd[0] in state else "not known"
        raise InputError(f"weights of {file}", "those of its training", f"{odd[0]} is {what}")
    for name, W in arrays.items():
        kind = str(state[name].dtype).removeprefix("torch.")
        if W.shape != tuple(state[name].shape) or W.dtype.name != kind:
            expected = f"{kind} of shape {tuple(state[name].shape)}"
            raise InputError(f"{name} of {file}", expected, f"{W.dtype} of shape {W.shape}")
        if W.dtype.kind == "f" and not np.isfinite(W).all():
            raise InputError(f"{name} of {file}", "finite numbers", "NaN or infinity")
