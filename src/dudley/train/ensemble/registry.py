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
from dudley.train.ensemble.and_classifier import AndEnsemble
from dudley.train.ensemble.base import Ensemble
from dudley.train.ensemble.encoder import EncoderEnsemble
from dudley.train.ensemble.layers import LayersEnsemble
from dudley.train.ensemble.majority import MajorityEnsemble
from dudley.train.ensemble.tokens import TokensEnsemble

Build = Callable[..., Ensemble]
ENSEMBLES: Registry[Build] = Registry("model")


@ENSEMBLES.register("and-classifier")
def _and(keys, tasks, dropout=(0.1, 0.1, 0.1), **sizes) -> Ensemble:
    return AndEnsemble(_one([task["T"] for task in tasks]), dropout=tuple(dropout), **sizes)


@ENSEMBLES.register("majority-classifier")
def _majority(keys, tasks, **sizes) -> Ensemble:
    lengths = tuple(task["T"] for task in tasks)
    return MajorityEnsemble(keys, max(lengths), lengths=lengths, **sizes)


@ENSEMBLES.register("shallow-encoder")
def _encoder(keys, tasks, **sizes) -> Ensemble:
    return EncoderEnsemble(**sizes)


@ENSEMBLES.register("layers")
def _layers(keys, tasks, **sizes) -> Ensemble:
    return LayersEnsemble(**sizes)


@ENSEMBLES.register("token-network")
def _tokens(keys, tasks, bits=False, **sizes) -> Ensemble:
    T = _one([task["T"] for task in tasks])
    return TokensEnsemble(T=T + bits, bits=bits, **sizes)


def _one(lengths: list[int]) -> int:
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
