"""Activations: the levels of a checkpoint's norm layers, read off the rows that they see on data.

The described network is run on the stored weights, up to its last norm layer. The least standard
deviation (RMSNorm: root mean square) that a layer reads becomes its level, *observed*: a union
bound rounds it down and pays for it. The bound is then one for the loss with alarms
(``dudley.calculus.augment``), in which an example with a row below a level counts in full; on the
data that was run there is none.

>>> import dudley as du
>>> from dudley.weights.network import describe
>>> described = describe(du.measure("tiny-bert"), {"T": 4})
>>> steep = du.capacity(described.network, described.inputs, n=1e6)
>>> X = np.random.default_rng(0).integers(0, 11, (200, 4))
>>> read = with_levels(described, "tiny-bert", X)
>>> flat = du.capacity(read.network, read.inputs, n=1e6)
>>> round(float(steep.facts.lipschitz.log10)), round(float(flat.facts.lipschitz.log10))
(38, 10)
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dudley.calculus.compose import Chain
from dudley.core.assumption import Assumption, Status
from dudley.core.constraint import Observed
from dudley.core.errors import InputError
from dudley.networks.alarms import least_stds, norm_layers, with_norm_layers
from dudley.networks.pointwise import Dense, LayerNorm
from dudley.weights.measure import Checkpoint, Progress, example, plan_of
from dudley.weights.named_tensors import open_weights
from dudley.weights.network import DescribedCheckpoint
from dudley.weights.stored import StoredNest

TOGETHER = 1 << 11  # rows that are run at once
OPTION = "X of --activations"


def with_levels(
    described: DescribedCheckpoint,
    checkpoint: Checkpoint,
    X: np.ndarray,
    layout: str | Path | None = None,
    heads: int | None = None,
    base: Checkpoint | None = None,
    progress: Progress | None = None,
) -> DescribedCheckpoint:
    """The description with the levels that its norm layers have on X, and what that rests on.

    X: token ids (n, T) where the description embeds tokens, and else rows (n, T, d) as they enter.
    ``checkpoint``, ``layout``, ``heads`` and ``base`` as it was measured with.
    """
    stages = [part.node for part in described.network.stages()]
    last = max((i for i, node in enumerate(stages) if any(norm_layers(node))), default=-1)
    if last < 0:
        raise InputError(OPTION, "a network with norm layers", "none")
    body, d = Chain(tuple(stages[: last + 1])), described.inputs.d
    assert d is not None
    with open_weights(example(checkpoint), example(base)) as weights:
        plan = plan_of(weights, checkpoint, layout, heads)

        def load(role: str, layer: int | None) -> np.ndarray:
            matrix: Any = plan.matrices[role, layer].load(weights.load)
            return matrix.detach().double().numpy()

        depth = plan.architecture.depth(plan.layers)
        stored = StoredNest(set(plan.matrices), load, _embeds(body), depth)
        params = stored.of(body, body.parameters(d)[0])
    least = _least(described, body, params, np.asarray(X), progress)
    levels = [Observed(level) for level in least]
    network = with_norm_layers(
        Chain(tuple(stages)), lambda ln: replace(ln, least_std=levels.pop(0))
    )
    notes = [note for note in described.assumptions if note.name != "norm layers"]
    notes += _notes(next(norm_layers(body)), least, len(X))
    return replace(described, network=network, assumptions=tuple(notes))


def _least(
    described: DescribedCheckpoint,
    body: Chain,
    params: list,
    X: np.ndarray,
    progress: Progress | None,
) -> np.ndarray:
    """The least standard deviation that each norm layer reads, some examples at a time."""
    table, b = None, 0.0
    if _embeds(body):
        _expect_tokens(described, X)
        table, b = params[0]["W_E"], params[0].get("b_E", 0.0)
        body, params = Chain(body.nodes[1:]), params[1:]
    else:
        _expect_rows(described, X)
    step, least = max(1, TOGETHER // X.shape[1]), []
    for start in range(0, len(X), step):
        if progress is not None:
            progress("examples run", start, len(X))
        part = X[start : start + step]
        rows = part if table is None else table[part] + b
        least.append(least_stds(body, params, rows).min(axis=0))
    smallest = np.min(least, axis=0)
    if not smallest.all():
        where = f"norm layer {int(np.argmin(smallest)) + 1} of {len(smallest)}"
        raise InputError(OPTION, "rows that vary", f"a constant row at {where}")
    return smallest


def _embeds(body: Chain) -> bool:
    """Does the network begin with the embedding of tokens?"""
    return isinstance(body.nodes[0], Dense) and body.nodes[0].names[0] == "W_E"


def _expect_tokens(described: DescribedCheckpoint, X: np.ndarray) -> None:
    V, T = described.inputs.d, described.inputs.T
    expected = f"token ids below {V}, integers (n, T) with T ≤ {T}"
    if X.ndim != 2 or X.dtype.kind not in "iu" or X.size == 0 or X.shape[1] > T:
        raise InputError(OPTION, expected, f"{X.dtype} of shape {X.shape}")
    if X.min() < 0 or X.max() >= V:
        raise InputError(OPTION, expected, f"ids {X.min()} to {X.max()}")


def _expect_rows(described: DescribedCheckpoint, X: np.ndarray) -> None:
    d, T, R = described.inputs.d, described.inputs.T, float(described.inputs.row2inf)
    expected = f"rows of norm at most {R:g}, floats (n, T, {d}) with T ≤ {T}"
    if X.ndim != 3 or X.dtype.kind != "f" or X.size == 0 or X.shape[1] > T or X.shape[2] != d:
        raise InputError(OPTION, expected, f"{X.dtype} of shape {X.shape}")
    longest = float(np.linalg.norm(X.astype(float), axis=2).max())
    if not longest <= R:  # NaN included
        raise InputError(OPTION, expected, f"one of norm {longest:g}")


def _notes(layer: LayerNorm, least: np.ndarray, n: int) -> tuple[Assumption, Assumption]:
    """What the slopes rest on, before levels are rounded."""
    kind = "LayerNorm" if layer.centered else "RMSNorm"
    slope = f"{kind}, ε = {layer.eps:g}: slope at most ‖g‖_∞/√(s²+ε), s = ¾·least_std"
    rows = f"on {n:,} examples no norm layer reads a row below its least_std"
    levels = f"{rows}, {least.min():.3g} … {least.max():.3g} before rounding"
    return (
        Assumption("norm layers", slope, Status.DECLARED),
        Assumption("activations", levels, Status.OBSERVED),
    )
