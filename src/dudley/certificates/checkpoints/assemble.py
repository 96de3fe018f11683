"""A checkpoint as a model that can be certified: its network, the encoding of its inputs, weights.

The model computes what the checkpoint computes, in float64, at inference: no dropout, every token
of the first segment, padding cut. Its weights are the stored numbers, which float64 holds exactly,
but for three sums that are made once: what a reader dequantises or adds to a gain, an embedding
times a scale, and the position of a trained first row. It is a `Hypothesis`, so every method takes
it, and it is saved as a file that `dudley verify` reads.

>>> import dudley as du
>>> from dudley.weights.measure import EXAMPLES
>>> X, inputs = np.array([[3, 1, 2]]), {"name": "tokens", "V": 64, "T": 3}
>>> open_checkpoint(EXAMPLES / "tiny-bert", X, Unstored(inputs=inputs))
Traceback (most recent call last):
dudley.core.errors.InputError: ...: output: expected logits of classes, got no logits; ...
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dudley.calculus.nest import entries, name_of
from dudley.certificates import tensors
from dudley.certificates.checkpoints.layers import RolePlace, layers_of
from dudley.certificates.checkpoints.plan import CheckpointPlan, plan_of
from dudley.certificates.checkpoints.unstored import Unstored
from dudley.certificates.encodings import Encoding, encoding_of
from dudley.certificates.hypothesis import Hypothesis
from dudley.core.errors import InputError
from dudley.networks.files import SCHEMA, build
from dudley.weights.named_tensors import Weights, finite, open_weights

MOST = 1 << 28  # weights: 2 GiB in float64
FAR = 2.0**20  # rows of pixels or features beyond it are scaled back


def is_checkpoint(path: Path) -> bool:
    """Is it a checkpoint, and no model file of ours?

    >>> is_checkpoint(Path("model.npz")), is_checkpoint(Path("weights.bin"))
    (False, True)
    """
    if path.suffix != ".safetensors":
        return path.is_dir() or path.suffix in (".bin", ".pt", ".pth", ".ckpt", ".json")
    ours = (tensors.MODEL, tensors.POSTERIOR, tensors.TRAINED)
    return path.is_file() and tensors.schema(path) not in ours


def open_checkpoint(path: str | Path, X: np.ndarray, unstored: Unstored) -> Hypothesis:
    """The model of a checkpoint, for examples like X; nothing in the files is executed."""
    with open_weights(Path(path)) as weights:
        plan = plan_of(weights, unstored)
        layers = layers_of(plan)
        encoding = _encoding(plan, X, unstored)
        inputs = encoding.inputs
        _expect_length(plan, inputs.T)
        tables: dict[str, Any] = {
            "schema": SCHEMA,
            "input": _input(encoding),
            "layer": [layer.table for layer in layers],
        }
        assert inputs.d is not None
        network = build(tables, {}).network
        nest = [(name_of(path), p.shape) for path, p in entries(network.parameters(inputs.d)[0])]
        count = sum(math.prod(shape) for _, shape in nest)
        if count > MOST:
            raise InputError(f"{weights.source}: weights", f"at most {MOST:,}", f"{count:,}")
        roles = [role for layer in layers for role in layer.roles]
        arrays = {
            name: _array(plan, weights, role, unstored)
            for (name, _), role in zip(nest, roles, strict=True)
        }
    return Hypothesis(tables, encoding.to_json(), arrays)


def _array(
    plan: CheckpointPlan, weights: Weights, role: RolePlace, unstored: Unstored
) -> np.ndarray:
    """One matrix in float64."""

    def stored(name: str) -> np.ndarray:
        matrix = plan.tensors.matrices[name, role[1]]
        for tensor in matrix.tensors:
            finite(weights.load(tensor), tensor, weights.source)
        loaded: Any = matrix.load(weights.load)
        return np.ascontiguousarray(loaded.double().numpy())

    name, _ = role
    if name == "W_S":
        return stored("W_S")[:1].copy()
    if name == "W_E" and unstored.scale != 1:
        return stored("W_E") * unstored.scale
    if name == "W_out" and not plan.stored("W_out"):
        return np.ascontiguousarray(stored("W_E").T)
    if name != "P":
        return stored(name)
    P = stored("P").copy()
    if plan.stored("cls"):  # the first row is a patch of zeros, which a bias would move
        P[0] += (stored("cls") - (stored("b_patch") if plan.stored("b_patch") else 0.0))[0]
    return P


def _encoding(plan: CheckpointPlan, X: np.ndarray, unstored: Unstored) -> Encoding:
    """The encoding that was given, or the one that the first matrix and the examples tell."""
    if unstored.inputs is not None:
        return encoding_of(unstored.inputs)
    kind, side = plan.architecture.inputs, plan.shape("W_patch")
    if kind == "tokens":
        table = plan.shape("W_E")
        assert table is not None
        if X.dtype.kind not in "biu" or X.ndim != 2:
            got = f"{X.dtype} of shape {X.shape}"
            raise InputError("X", f"token codes below {table[0]:,}, integers (n, T)", got)
        pad = _padding(plan, X, unstored)
        return encoding_of({"name": "tokens", "V": table[0], "T": X.shape[1], "pad": pad})
    if kind == "patches" and side is not None and plan.stored("cls"):
        channels = X.shape[1] if X.ndim == 4 else 1
        p = math.isqrt(side[0] // channels)
        if X.ndim not in (3, 4) or channels * p * p != side[0]:
            expected = f"pictures (n, channels, height, width) of patches with {side[0]} pixels"
            raise InputError("X", expected, f"shape {X.shape}")
        table = {"channels": channels, "height": X.shape[-2], "width": X.shape[-1], "side": p}
        return encoding_of({"name": "patches"} | table | {"R": FAR})
    d = side[0] if side is not None else (plan.shape("W_Q", 0) or (0, 0))[0]
    if X.ndim not in (2, 3) or X.shape[-1] != d:
        raise InputError("X", f"rows of width {d}: (n, T, {d}) or (n, {d})", f"shape {X.shape}")
    T = X.shape[1] if X.ndim == 3 else 1
    return encoding_of({"name": "rows", "T": T, "d": d, "R": FAR})


def _padding(plan: CheckpointPlan, X: np.ndarray, unstored: Unstored) -> int:
    """The padding that was given; refused where the examples end in it and nobody said so."""
    if unstored.pad is not None:
        return unstored.pad
    ends = 0 if plan.pad is None else int((X[:, -1] == plan.pad).sum())
    if ends:
        got = f"{ends:,} of {len(X):,} examples that end in {plan.pad}, the config's padding"
        fix = f"--pad {plan.pad} cuts it, --pad -1 reads it as a token"
        raise InputError("X", "token codes without padding, or --pad", got, fix)
    return -1


def _expect_length(plan: CheckpointPlan, T: int) -> None:
    """Refuse more tokens than there are positions, or than a token looks back at."""
    places = plan.shape("P")
    longest = plan.architecture.T if places is None else places[0]
    limits = {"positions": longest, "tokens in the sliding window": plan.architecture.window}
    for what, most in limits.items():
        if most is not None and most < T:
            raise InputError("X", f"at most {most} tokens, the {what}", T)


def _input(encoding: Encoding) -> dict[str, Any]:
    """The table of the inputs."""
    rows = encoding.inputs
    if encoding.looks_up:
        return {"T": rows.T, "V": rows.d}
    table: dict[str, Any] = {"row2inf": float(rows.row2inf)}
    if rows.row1inf is not None:
        table["row1inf"] = float(rows.row1inf)
    return {"T": rows.T, "d": rows.d, "X": table}
