"""What is measured at an evaluation: functions of a problem and its weights, E numbers each.

Loss and accuracy on the splits that the training names are always there; further measures are
named in ``measures`` and live in a registry, so that an experiment can add its own. An accuracy is
a quotient of two counts, in float64: it is 1 where all is right, and .99 is no more than .99.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dudley.core.backend import torch
from dudley.core.registry import Registry
from dudley.train.ensemble.base import Ensemble
from dudley.train.losses import BOUNDARIES, correct, loss_of
from dudley.train.problem import Examples, Problem

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
    screened: bool = False,
) -> dict[str, torch.Tensor]:
    """All metrics of an evaluation, (E,) each; ``first`` are the weights at the start.

    ``rows``: the same weights side by side, where they are held so: fewer tensors to look at.
    ``alive`` (E,): the trials that are asked for; of the others, metrics may be any numbers.
    ``screened``: of the split that the training screens, see the first rows only.
    """
    how, metrics = problem.training, {}
    for split in (*how.evaluate, *(how.final if final else ())):
        if screened and how.screen is not None and how.screen.split == split:
            metrics |= _first_rows(problem, weights, alive)
        else:
            data = problem.split(split)
            metrics |= _of_split(split, problem.ensemble, weights, data, how.loss, alive)
    for name in how.measures:
        tensors = rows if rows is not None and name in ENTRYWISE else weights
        metrics |= MEASURES[name](problem, tensors, first)
    return metrics


def measure_whole(
    problem: Problem, weights: WeightTensors, members: torch.Tensor
) -> dict[str, torch.Tensor]:
    """All rows of the split that is screened, for some members alone: (members,) each."""
    screen = problem.training.screen
    assert screen is not None
    data, ensemble = problem.split(screen.split).of(members), problem.ensemble.of(members)
    some = {name: W[members] for name, W in weights.items()}
    return _of_split(screen.split, ensemble, some, data, problem.training.loss)


def _first_rows(
    problem: Problem, weights: WeightTensors, alive: torch.Tensor | None
) -> dict[str, torch.Tensor]:
    """The accuracy on the first rows by its own name; what all rows would say is not known."""
    screen = problem.training.screen
    assert screen is not None
    loss, ensemble = problem.training.loss, problem.ensemble
    seen = _of_split(screen.split, ensemble, weights, problem.screened, loss, alive)
    unknown = {name: torch.full_like(values, torch.nan) for name, values in seen.items()}
    return unknown | {screen.metric: seen[f"{screen.split}_accuracy"]}


def _of_split(
    split: str,
    ensemble: Ensemble,
    weights: WeightTensors,
    data: Examples,
    loss: str,
    alive: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:
    """Loss and, where labels are classes, accuracy."""
    outputs = ensemble.evaluate(weights, data.inputs, alive)
    metrics = {f"{split}_loss": (loss_of(loss)(outputs, data.labels) * data.weights).sum(1)}
    if not data.labels.is_floating_point():
        right = correct(outputs, data.labels, BOUNDARIES.get(loss, 0.0))
        there = data.weights > 0  # (E, B)
        counted = there if data.labels.ndim == 2 else there[..., None] & (data.labels >= 0)
        counts = [some.flatten(1).sum(1).double() for some in (right & counted, counted)]
        metrics[f"{split}_accuracy"] = counts[0] / counts[1]
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
