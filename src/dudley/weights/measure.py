"""measure: open a checkpoint, choose its layout, measure every matrix in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from dudley.core.backend import torch
from dudley.core.boundary.paths import expect_named
from dudley.core.boundary.text import line
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError
from dudley.weights.family import choose, named_class
from dudley.weights.measurement import Measurement
from dudley.weights.module_config import module_config
from dudley.weights.named_tensors import Weights, open_weights
from dudley.weights.plan import TensorPlan, plan
from dudley.weights.readers.merged import Merged
from dudley.weights.readers.scales import PACKING
from dudley.weights.walk import Walk

EXAMPLES = Path(__file__).parent.parent / "examples"
Progress = Callable[[str, int, int], None]
# A path, the name of a shipped example, a live module, its state, or weights that are open already.
Checkpoint = str | Path | torch.nn.Module | Mapping[str, torch.Tensor] | Weights


def measure(
    checkpoint: Checkpoint,
    init: Checkpoint | None = None,
    layout: str | Path | None = None,
    device: str = "cpu",
    rank_tolerance: float | None = None,
    heads: int | None = None,
    base: Checkpoint | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Certified norms of every matrix of a checkpoint, per layer and head.

    ``checkpoint``: a path, a shipped example's name, or a live ``torch.nn.Module``. ``init``: a
    second checkpoint of the same shapes, to measure distances from. ``layout``: a model type or a
    mapping file, if the config does not name one. ``rank_tolerance``: count the singular values
    above this share of the largest. ``heads``: the number of heads, where nothing says it.
    ``base``: the checkpoint that a LoRA adapter changes; the sum is measured (with the same
    checkpoint as ``init``, ``distance`` holds the norms of the update alone).
    """
    if rank_tolerance is not None and not 0 < radius_of("rank tolerance", rank_tolerance) < 1:
        raise InputError("rank tolerance", "a number strictly between 0 and 1", rank_tolerance)
    expect_device(device)
    heads = None if heads is None else size_of("H", heads)
    with open_weights(example(checkpoint), example(base)) as weights:
        made = plan_of(weights, checkpoint, layout, heads)
        if init is None:
            run = Walk(weights, made, device, rank_tolerance, progress)
            return replace(run.measurement(), source=_name_of(checkpoint, weights))
        with open_weights(example(init)) as start:
            before = plan_of(start, init, layout or made.layout, heads)
            run = Walk(weights, made, device, rank_tolerance, progress, start, before)
            measurement = run.measurement()
            return replace(
                measurement, source=_name_of(checkpoint, weights), init=_name_of(init, start)
            )


def expect_device(device: str) -> None:
    """Refuse a device that is not there."""
    if device != "cpu" and not (device.startswith("cuda") and torch.cuda.is_available()):
        absent = "cuda, which is absent here" if device.startswith("cuda") else device
        raise InputError("device", "cpu or cuda", absent)


def _name_of(checkpoint: Checkpoint, weights: Weights) -> str:
    """A checkpoint as the caller named it."""
    return str(checkpoint) if isinstance(checkpoint, str | Path) else weights.source


def example(checkpoint: Checkpoint | None) -> Checkpoint | None:
    """The path of a shipped example, if that is what was named."""
    if isinstance(checkpoint, str):
        expect_named(checkpoint, "checkpoint")
    if isinstance(checkpoint, str) and not os.path.exists(os.path.expanduser(checkpoint)):
        shipped = EXAMPLES / checkpoint
        if "/" not in checkpoint and os.path.isdir(shipped):
            return shipped
    return checkpoint


def expect_unpacked(weights: Weights) -> None:
    """Refuse packed weights by the name of their format, and say what can be measured instead."""
    for name, why in dict(weights.skipped or {}).items():
        if why.startswith(PACKING):
            expected = "weights as numbers, or of eight bits with their scales"
            got = f"{why.removeprefix(PACKING)} ({line(name)})"
            fix = "measure what it was made from, or save it dequantised (model.dequantize())"
            raise InputError(f"{weights.source}: weights", expected, got, fix)


def plan_of(
    weights: Weights, checkpoint: Checkpoint, layout, heads: int | None = None
) -> TensorPlan:
    """The plan of a checkpoint: layout chosen, architecture read, every tensor matched."""
    expect_unpacked(weights)
    config = dict(weights.config or {})
    if isinstance(checkpoint, torch.nn.Module):
        config = module_config(checkpoint) | named_class(config, type(checkpoint).__name__)
    chosen, architecture, assumed = choose(weights, config, layout)
    if heads is not None and architecture.H not in (None, heads):
        expected = f"{architecture.H}, as the config says"
        raise InputError(f"{weights.source}: heads", expected, heads)
    made = replace(plan(weights, chosen, architecture.with_given(H=heads)), assumed=assumed)
    table = made.matrices.get(("W_E", None))
    language = architecture.head in (None, "language")
    spread = architecture.tied and language and ("W_out", None) not in made.matrices
    if table is None or not spread:
        return made
    if isinstance(weights, Merged) and weights.changed.intersection(table.tensors):
        why = "an adapter on a vocabulary that is the output too: which of the two it changes"
        return replace(made, architecture=made.architecture.with_given(odd=f"{why} is not stored"))
    return made
