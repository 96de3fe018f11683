"""Cells of trials whose tasks differ in nothing but the number of examples, drawn at once.

Drawing is many small operations, some hundreds for each call, which a GPU takes longer to start
than to do. So all trials of such cells draw as many examples as the largest cell has; those of a
smaller one are the first of these, as every `Task` promises, and the others become zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dudley.core.backend import torch
from dudley.core.canonical import canonical
from dudley.core.philox import Stream, key, keys_tensor
from dudley.train.tasks.base import Labelled
from dudley.train.tasks.registry import task_of


@dataclass(frozen=True, eq=False)
class Alike:
    """Some cells, as their configs, and their trials; trial e has ``m[e]`` examples at most."""

    cells: list[dict]
    members: torch.Tensor  # the trials, in order
    cell: torch.Tensor  # of each trial: its place in ``cells``
    m: list[float]

    def sample(self, keys: torch.Tensor) -> Labelled:
        """The training examples of these trials; ``keys`` are those of all trials."""
        largest = max(self.cells, key=_size)
        return task_of(largest["task"]).sample(keys[self.members])

    def held_out(self, keys: torch.Tensor, stream: Stream) -> Labelled:
        """Examples of a split, their inputs shared by the trials of a cell."""
        of_cells = keys_tensor([key("cell", cell) for cell in self.cells], keys.device)
        task = task_of(self.cells[0]["task"])
        return task.held_out(keys[self.members], of_cells, self.cell, stream)

    def sharing(self, drawn: Labelled) -> list[torch.Tensor]:
        """The trials that read each of the inputs that were drawn."""
        assert drawn.cell is not None
        counts = drawn.cell.bincount(minlength=len(drawn.inputs)).tolist()
        return list(self.members[drawn.cell.argsort(stable=True)].split(counts))


def alike(cells: Sequence[dict], cell: Sequence[int], device: torch.device) -> list[Alike]:
    """The groups, by their first cells; ``cell``: that of each trial."""
    groups: dict[str, list[int]] = {}
    for c, config in enumerate(cells):
        groups.setdefault(canonical({**config["task"], "m": None}), []).append(c)
    made = []
    for group in groups.values():
        place = {c: number for number, c in enumerate(group)}
        trials = [e for e, c in enumerate(cell) if c in place]
        places = torch.tensor([place[cell[e]] for e in trials], device=device)
        m = [_size(cells[cell[e]]) for e in trials]
        members = torch.tensor(trials, device=device)
        made.append(Alike([cells[c] for c in group], members, places, m))
    return made


def _size(cell: dict) -> float:
    """m; where a task has none, as many as it draws."""
    m = cell["task"].get("m")
    return math.inf if m is None else m
