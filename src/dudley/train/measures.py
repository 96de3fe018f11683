"""What is measured at an evaluation: functions of a problem and its weights, E numbers each.

Loss and accuracy on the splits that the training names are always there; further measures are
named in ``measures`` and live in a registry, so that an experiment can add its own. An accuracy is
a quotient of two counts, in float64: it is 1 where all is right, and .99 is no more than .99.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dudley.core.backend import torch
from dudley.core.registry import Registry
from dudley.train.losses import BOUNDARIES, correct, loss_of
from dudley.train.problem import Problem

WeightTensors = Mapping[str, torch.Tensor]
Measure = Callable[[Problem, WeightTensors, WeightTensors], dict[str, torch.Tensor]]
MEASURES: Registry[Measure] = Registry("measure")
RECORDED = {"l1", "moved"}  # those that ask for no value, so that a GPU can replay them
ENTRYWISE = {"l1"}  # those that are the same for weights side by side in rows


@torch.no_grad()
def measure_all(
    problem: Problem,
    weights: WeightTensors,
    first: WeightTensors,
    final: bool = False,
    rows: WeightTensors | None = None,
    alive: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:
    """All metrics of an evaluation, (E,) each; ``first`` are the weights at the start.

    ``rows``: the same weights side by side, where they are held so: fewer tensors to look at.
    ``alive`` (E,): the trials that are asked for; of the others, metrics may be any numbers.
    """
    how, metrics = problem.training, {}
    for split in (*how.evaluate, *(how.final if final else ())):
        data = problem.split(split)
        outputs = problem.ensemble.evaluate(weights, data.inputs, alive)
        metrics[f"{split}_loss"] = (loss_of(how.loss)(outputs, data.labels) * data.weights).sum(1)
        if not data.labels.is_floating_point():
            right = correct(outputs, data.labels, BOUNDARIES.get(how.loss, 0.0))
            there = data.weights > 0  # (E, B)
            counted = there if data.labels.ndim == 2 else there[..., None] & (data.labels >= 0)
            counts = [some.flatten(1).sum(1).double() for some in (right & counted, counted)]
            metrics[f"{split}_accuracy"] = counts[0] / counts[1]
    for name in how.measures:
        tensors = rows if rows is not None and name in ENTRYWISE else weights
        metrics |= MEASURES[name](problem, tensors, first)
    return metrics


@MEASURES.register("l1")
def l1(problem: Problem, weights: WeightTensors, first: WeightTensors) -> dict[str, torch.Tensor]:
    """Σ |w| over all weights (trauger2024, figure 1)."""
    total = sum(W.abs().flatten(1).sum(1) for W in weights.values())
    return {"l1": torch.as_tensor(total)}


@MEASURES.register("moved")
def moved(
    problem: Problem, weights: WeightTensors, first: WeightTensors
) -> dict[str, torch.Tensor]:
    """‖W − W⁰‖_F of every weight, by its name."""
    return {
        f"moved.{name.removeprefix('weights.')}": (W - first[name]).flatten(1).norm(dim=1)
        for name, W in weights.items()
    }
