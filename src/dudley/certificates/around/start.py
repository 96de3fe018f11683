"""The start θ₀: a torch module that has not seen the counted examples, and what of it may move.

Parameters move, buffers do not. A *part* is a text of patterns with spaces between them, such as
``"head.* *norm*"``; the parameters whose names fit one of them move, the others stay at θ₀. θ is
written as arrays by name, and the model of θ is the module with these parameters, each rounded from
float64 to the type of the parameter: one rounding, which IEEE 754 fixes, so that the same θ is the
same model on every machine.

>>> from dudley.core.backend import torch
>>> start = ModuleStart(ModulePredictor(torch.nn.Linear(3, 2).eval()))
>>> start.names("*"), start.names("b*")
(('weight', 'bias'), ('bias',))
>>> moved = start.model({"bias": np.array([0.5, -0.5])})
>>> moved.module.bias.tolist(), moved.sha256 == start.sha256
([0.5, -0.5], False)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.learners.module_predictor import ModulePredictor, array_of
from dudley.core.backend import torch
from dudley.core.errors import InputError

TYPES = (torch.float32, torch.float64)


@dataclass(frozen=True, eq=False)
class ModuleStart:
    """A module in evaluation mode; it is copied, and never written to."""

    predictor: ModulePredictor

    def __post_init__(self):
        before = self.predictor
        module = copy.deepcopy(before.module)
        object.__setattr__(self, "predictor", ModulePredictor(module, before.batch, before.device))

    @cached_property
    def sha256(self) -> str:
        """Of the start, with its batch and architecture."""
        return self.predictor.sha256

    @cached_property
    def parameters(self) -> dict[str, torch.Tensor]:
        """Every parameter by its name, tied ones once."""
        return {name: W.detach() for name, W in self.predictor.module.named_parameters()}

    @property
    def count(self) -> int:
        """The number of weights."""
        return sum(W.numel() for W in self.parameters.values())

    def names(self, part: str) -> tuple[str, ...]:
        """The parameters that move, in the order of the module; a pattern that fits none errs."""
        patterns, known = part.split(), tuple(self.parameters)
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in known):
                expected = f"a pattern of parameters such as {known[-1]}"
                raise InputError("part that moves", expected, pattern)
        names = tuple(n for n in known if any(fnmatchcase(n, pattern) for pattern in patterns))
        if not names:
            raise InputError("part that moves", "patterns with spaces between them", repr(part))
        for name in names:
            if self.parameters[name].dtype not in TYPES:
                got, fix = f"{self.parameters[name].dtype}", "turn it into float32: module.float()"
                raise InputError(f"parameter {name}", "float32 or float64", got, fix)
        return names

    def arrays(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        """θ₀ of some parameters, in float64."""
        return {name: array_of(self.parameters[name]).astype(np.float64) for name in names}

    def model(self, arrays: Mapping[str, Any]) -> ModulePredictor:
        """The model with these parameters, and those of the start for the rest."""
        module = copy.deepcopy(self.predictor.module)
        targets = dict(module.named_parameters())
        for name, W in arrays.items():
            made = torch.from_numpy(np.array(W)).reshape(targets[name].shape)
            targets[name].data.copy_(made)
        return ModulePredictor(module, self.predictor.batch, self.predictor.device)

    def difference(self, other: ModulePredictor, part: str) -> dict[str, np.ndarray]:
        """θ of a model that differs from the start in this part alone; others are refused."""
        names, theirs = self.names(part), other.module.state_dict(keep_vars=True)
        mine = self.predictor.module.state_dict(keep_vars=True)
        aliases = _aliases(self.predictor.module)
        if set(mine) != set(theirs):
            odd = sorted(set(mine) ^ set(theirs))
            raise InputError("model around a start", "the tensors of the start", odd[0])
        for name, W in theirs.items():
            same = W.shape == mine[name].shape and W.dtype == mine[name].dtype
            moves = aliases.get(name, name) in names
            if not same or not (moves or torch.equal(W.cpu(), mine[name].cpu())):
                expected = "the tensor of the start" if same else "the shape and type of the start"
                raise InputError(f"tensor {name}", expected, "another", "let its part move")
        return {name: array_of(theirs[name]).astype(np.float64) for name in names}


def read_start(path: str | Path, by_hand: str) -> ModuleStart:
    """The start of a file that says how it computes, as the file of a named training does."""
    from dudley.certificates.files import load

    model = load(path)
    if not isinstance(model, ModulePredictor):
        expected, got = "the file of a named training", f"{Path(path).name}, another kind of model"
        raise InputError("start", expected, got, f"in Python: {by_hand}")
    return ModuleStart(model)


def scale_of(W: np.ndarray) -> float:
    """The power of two at or below the median size of the entries; 1/√width where that is 0.

    The median of float32 numbers is exact, so the scale is the same on every machine.

    >>> scale_of(np.array([[0.3, -0.3, 0.0]])), scale_of(np.zeros((2, 16)))
    (0.25, 0.25)
    """
    size = float(np.median(np.abs(W))) if W.size else 0.0
    if not np.isfinite(size):
        raise InputError("weights of the start", "finite numbers", size)
    if size < 2.0**-60:
        size = 1 / float(np.sqrt(W.shape[-1] if W.ndim else 1))
    return float(2.0 ** (np.frexp(min(size, 2.0**60))[1] - 1))


def _aliases(module: torch.nn.Module) -> dict[str, str]:
    """Names of tied parameters, with the name under which they move."""
    first = {id(W): name for name, W in module.named_parameters()}
    every = module.named_parameters(remove_duplicate=False)
    return {name: first[id(W)] for name, W in every}
