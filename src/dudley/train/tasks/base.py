"""A task: a frozen description of data, from which plain tensors are drawn by the trials' keys.

Row i of a draw does not depend on how many rows are drawn: a trial with fewer examples has a
prefix of what it would have with more, so trials of several sizes can share one tensor.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.philox import StepNumber, Stream


@dataclass(frozen=True, eq=False)
class Labelled:
    """Inputs and labels of E trials.

    ``inputs``: (E, N, …), or (C, N, …) shared, trial e reading the rows of ``cell[e]``.
    ``labels``: (E, N), or (E, N, T) where every token has one.
    """

    inputs: torch.Tensor
    labels: torch.Tensor
    cell: torch.Tensor | None = None


class Task(ABC):
    """Abstract: examples for training, and others to evaluate on.

    ``name`` is the one under which the registry builds it.
    """

    name: ClassVar[str]

    @abstractmethod
    def sample(self, keys: torch.Tensor) -> Labelled:
        """The training examples of every trial, drawn by its key: m of them."""

    @abstractmethod
    def held_out(
        self,
        keys: torch.Tensor,
        cell_keys: torch.Tensor | None = None,
        cell: torch.Tensor | None = None,
        stream: Stream = Stream.HOLDOUT,
    ) -> Labelled:
        """Examples to evaluate on; trial e shares its inputs with the others of ``cell[e]``.

        Without cells, every trial has its own. ``stream`` names the split: HOLDOUT, VALIDATION
        or TEST, each independent of the others and of the training examples.
        """

    def config(self) -> dict:
        """The JSON from which ``task_of`` builds this task again."""
        return {"name": self.name, **_fields(self)}


class Endless(Task):
    """Abstract: a task that can also draw fresh examples at every step."""

    @abstractmethod
    def stream(self, keys: torch.Tensor, step: StepNumber, batch: int) -> Labelled:
        """A fresh batch of every trial, independent of other steps and of ``sample``."""


def _fields(task) -> dict:
    """Fields that differ from their default, and those without one."""
    values = {field.name: getattr(task, field.name) for field in dataclasses.fields(task)}
    defaults = {field.name: field.default for field in dataclasses.fields(task)}
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in changed.items()}


def finite(task: Task, m: int | None) -> int:
    """m, refused where the task was described without."""
    if m is None:
        raise InputError(f"m of the task {task.name}", "the number of training examples", None)
    return m


def checked_cells(keys, cell_keys, cell) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The keys by which shared inputs are drawn: the trials' own where no cells are given."""
    if (cell_keys is None) != (cell is None):
        raise InputError(
            "cells", "their keys and the cell of every trial, or neither", "one of them"
        )
    if cell_keys is None or cell is None:
        return keys, None
    if cell.shape != keys.shape[:1]:
        raise InputError("cell", f"one number for each of {len(keys)} trials", tuple(cell.shape))
    return cell_keys, cell
