"""Ensembles by the names that configurations use.

>>> from dudley.core.philox import keys_tensor
>>> ensemble_of({"name": "and-classifier", "d": 8, "H": 2}, [{"T": 20}], keys_tensor([1])).T
20
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.registry import Registry
from dudley.train.ensemble.base import Ensemble

Build = Callable[..., Ensemble]  # (keys, tasks, **sizes)
ENSEMBLES: Registry[Build] = Registry("model", "dudley.train.ensemble.*")


def common_length(tasks: Sequence[Mapping[str, Any]]) -> int:
    """T of all tasks; several are refused."""
    lengths = [task["T"] for task in tasks]
    if len(set(lengths)) > 1:
        raise InputError("T of trials in one batch", "the same", sorted(set(lengths)))
    return lengths[0]


def ensemble_of(
    model: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]], keys: torch.Tensor
) -> Ensemble:
    """The ensemble of a model's configuration, for trials with these tasks and keys."""
    sizes = {name: value for name, value in model.items() if name != "name"}
    try:
        return ENSEMBLES[str(model.get("name"))](keys, tasks, **sizes)
    except TypeError as error:
        raise InputError(f"model {model.get('name')}", "its sizes", error) from None
