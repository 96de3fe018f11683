"""Hypotheses: the concrete function that is certified, and the file it lives in.

A hypothesis is an encoding of the inputs, a network (`dudley.networks.files`, its weights "free")
and float64 weights. Its reference forward is the network's own ``apply`` in numpy: what is
certified is this function, on one number f (class 1 where f > 0) or on logits. The margin of an
example is y·f with y = ±1, or the logit of its class less the largest other one; a margin ≤ 0 is an
error, so a tie is one.

The file is a safetensors file: weights by their path in the network (``0.W_v``), the rest as JSON
in its header. Nothing in it is executed.

>>> tables = {"schema": "dudley.net/1", "input": {"T": 3, "V": 5},
...     "layer": [{"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1,
...                "sigma": "identity"}]}
>>> weights = {"0.v": np.zeros((5, 1)), "0.W_v": np.array([[-1.0], [-1], [1], [1], [0]])}
>>> majority = Hypothesis(tables, {"name": "bits", "T": 2}, weights)
>>> majority.outputs(np.array([[1, 1], [0, 1], [0, 0]])).ravel().round(3)
array([ 0.667,  0.   , -0.667])
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dudley.calculus.compose import Chain
from dudley.calculus.nest import entries, filled, name_of
from dudley.certificates import tensors
from dudley.certificates.data import freeze, sha256_of
from dudley.certificates.encodings import Encoding, encoding_of, examples_at_once
from dudley.certificates.predictor import Predictor
from dudley.core.errors import DudleyError, InputError
from dudley.networks.files import Description, build
from dudley.networks.pointwise import Dense

TOGETHER = 1 << 18  # numbers in the token rows of a chunk: what fits a cache


@dataclass(frozen=True, eq=False)
class Hypothesis(Predictor):
    """Encoding, network and weights."""

    tables: dict[str, Any]
    encoding_table: dict[str, Any]
    weights: Mapping[str, np.ndarray]

    def __post_init__(self):
        shapes = self.shapes
        declared, rows = self.described.inputs, self.encoding.inputs
        if (declared.d, declared.T) != (rows.d, rows.T):
            expected = f"T = {rows.T} rows of width {rows.d}, as the encoding makes them"
            raise InputError("[input]", expected, f"T = {declared.T}, width {declared.d}")
        if set(shapes) != set(self.weights):
            odd = sorted(set(shapes) ^ set(self.weights))
            raise InputError("weights", ", ".join(shapes), f"{odd[0]} is missing or not known")
        for name, W in self.weights.items():
            if W.shape != shapes[name] or W.dtype != np.float64 or not np.isfinite(W).all():
                expected = f"finite float64 of shape {shapes[name]}"
                raise InputError(f"weights {name}", expected, f"{W.dtype} of shape {W.shape}")
        # Hashes and margins are remembered, so weights must not change under them.
        frozen_weights = {name: freeze(W) for name, W in self.weights.items()}
        object.__setattr__(self, "weights", MappingProxyType(frozen_weights))

    @cached_property
    def encoding(self) -> Encoding:
        return encoding_of(self.encoding_table)

    @cached_property
    def described(self) -> Description:
        """What the tables say."""
        if not isinstance(self.tables, dict):
            raise InputError("network", "tables of a network file", type(self.tables).__name__)
        return build(self.tables, {})

    @cached_property
    def network(self) -> Chain:
        """The architecture; nothing is said of its weights."""
        return Chain(tuple(part.node for part in self.described.network.stages()))

    @cached_property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Of every weight, by its path in the network, in the order of the network."""
        inputs = self.encoding.inputs
        assert inputs.d is not None
        nest = self.network.parameters(inputs.d)[0]
        return {name_of(path): parameter.shape for path, parameter in entries(nest)}

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """The network's last row for each example, (n, 1) or (n, classes), in float64."""
        params, made = self.params(), np.zeros((0, 1))
        step, rows = examples_at_once(self.encoding, TOGETHER), self.encoding.rows
        first = self.network.nodes[0]
        if isinstance(first, Dense) and self.encoding.looks_up:
            step = max(1, TOGETHER // (self.encoding.inputs.T * first.out))
            rows = self.encoding.entering
        for alike in self.encoding.alike(X):
            for i in range(0, len(alike), step):
                chosen = alike[i : i + step]
                part = self.network.apply(params, rows(X[chosen]))[..., -1, :]
                made = np.zeros((len(X), part.shape[1])) if not len(made) else made
                made[chosen] = part
        return made

    def params(self, weights: Mapping[str, Any] | None = None):
        """The nest that ``network.apply`` reads, of these weights or of others (batched, torch)."""
        assert self.encoding.inputs.d is not None
        matrices = self.weights if weights is None else weights
        return filled(self.network.parameters(self.encoding.inputs.d)[0], matrices)

    def content(self, X: np.ndarray) -> np.ndarray:
        """What the encoding reads of each example."""
        return self.encoding.content(X)

    def facts(self) -> dict[str, Any]:
        count = sum(W.size for W in self.weights.values())
        return {"sha256": self.sha256, "weights": count, "encoding": self.encoding.to_json()}

    @cached_property
    def sha256(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Of the network, the encoding and the weights."""
        text = json.dumps([self.tables, self.encoding_table], sort_keys=True)
        return sha256_of({**self.weights, " ": np.frombuffer(text.encode(), np.uint8)})

    def save(self, path: str | Path) -> None:
        """Write the file."""
        header = {"schema": tensors.MODEL, "network": self.tables, "encoding": self.encoding_table}
        tensors.write(path, header, {name: _short(W) for name, W in self.weights.items()})


def _short(W: np.ndarray) -> np.ndarray:
    """In single precision where that holds the same numbers."""
    with np.errstate(over="ignore"):
        single = W.astype(np.float32)
    return single if np.array_equal(single, W) else W


def load(path: str | Path) -> Hypothesis:
    """Read the file."""
    path = Path(path)
    header, arrays = tensors.read(path)
    if header.get("schema") != tensors.MODEL:
        expected = f"a model file with the header {tensors.MODEL}"
        fix = "describe it with --network and --encoding (docs/howto/certify.md)"
        raise InputError(path.name, expected, "a checkpoint without it", fix)
    weights = {name: W.astype(np.float64) for name, W in arrays.items()}
    try:
        return Hypothesis(header.get("network", {}), header.get("encoding", {}), weights)
    except DudleyError:
        raise
    except Exception as error:  # values of a kind that no table has
        raise InputError(path.name, "a network and an encoding", error) from None
