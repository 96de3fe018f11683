"""The whole state of an ensemble in training, and its file.

Everything that a training depends on is here, or is a function of counters: first and current
weights, the optimiser's memory, the step, who is alive, the latest metrics, their best values, and
weights kept for being best. The file is safetensors: reading it executes nothing. It sorts its
names, and sums over weights follow the order of their names: that order is kept beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import save_file

from dudley.core.backend import torch
from dudley.train.flat import flatten
from dudley.train.problem import Problem

Tensors = dict[str, torch.Tensor]
VALUES = "values"  # metrics side by side, (E, metrics)
GROUPS = {  # the names of the groups in the file, and their fields
    "weights": "weights",
    "first": "first",
    "memory": "memory",
    "metrics": "metrics",
    "extremes": "extremes",
    "kept": "best",
}
BORN_IN_TRAINING = ("metrics", "extremes", "best")


@dataclass(eq=False)
class State:
    """E trials; every tensor but ``step`` has them along its first axis."""

    step: torch.Tensor  # int64 (), on the device
    alive: torch.Tensor  # (E,) booleans
    ended: torch.Tensor  # (E,) int64: the steps that a trial made
    weights: Tensors
    first: Tensors
    memory: Tensors  # the optimiser's
    metrics: Tensors = field(default_factory=dict)  # of the latest evaluation
    extremes: Tensors = field(default_factory=dict)  # largest accuracies, smallest losses
    best: Tensors = field(default_factory=dict)  # by metric: weights when it was best

    @classmethod
    def start(cls, problem: Problem) -> State:
        """Before the first step."""
        weights, optimiser = problem.ensemble.start(problem.keys), problem.training.optimiser
        if optimiser.entrywise:
            memory = optimiser.start(flatten(weights, problem.decayed)[0])
        else:
            memory = optimiser.start(weights)
        E, device = len(problem), problem.device
        return cls(
            step=torch.zeros((), dtype=torch.int64, device=device),
            alive=torch.ones(E, dtype=torch.bool, device=device),
            ended=torch.zeros(E, dtype=torch.int64, device=device),
            weights=weights,
            first={name: W.clone() for name, W in weights.items()},
            memory=memory,
        )

    def __len__(self) -> int:
        return len(self.alive)

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """All but the step, by flat names."""
        yield from (("alive", self.alive), ("ended", self.ended))
        for group, attribute in GROUPS.items():
            yield from ((f"{group}/{name}", W) for name, W in getattr(self, attribute).items())

    @torch.no_grad()
    def of(self, places: torch.Tensor) -> State:
        """Some of the trials, as a state of their own."""
        groups = {
            attribute: {name: W.detach()[places] for name, W in getattr(self, attribute).items()}
            for attribute in GROUPS.values()
        }
        return State(self.step.clone(), self.alive[places], self.ended[places], **groups)

    @torch.no_grad()
    def put(self, part: State, places: torch.Tensor) -> None:
        """Take over what became of some trials."""
        self.step.copy_(part.step)
        for attribute in BORN_IN_TRAINING:
            tensors = getattr(self, attribute)
            for name, W in getattr(part, attribute).items():
                if name not in tensors:
                    tensors[name] = W.new_zeros(len(self), *W.shape[1:])
        mine = dict(self.tensors())
        for name, W in part.tensors():
            mine[name].detach()[places] = W.detach()

    def save(self, path: Path, live: Sequence[int]) -> None:
        """Write a safetensors file; ``live`` are the positions of the trials that go on."""
        tensors = {name: W.detach().cpu().contiguous() for name, W in self.tensors()}
        tensors["step"] = self.step.cpu()
        metadata = {"live": json.dumps(list(live)), "names": json.dumps(list(tensors))}
        save_file(tensors, str(path), metadata=metadata)

    @classmethod
    def load(cls, path: Path, device) -> tuple[State, list[int]]:
        """Read a state, and the positions of the trials that go on, from such a file.

        The tensors are copied. Inside the file a tensor may begin at any address, and a kernel may
        round differently where the alignment differs from that of an unbroken run.
        """
        groups: dict[str, Tensors] = {attribute: {} for attribute in GROUPS.values()}
        ungrouped: Tensors = {}
        with safe_open(str(path), "pt", device="cpu") as file:
            live, names = (json.loads(file.metadata()[key]) for key in ("live", "names"))
            for name in names:
                group, _, short = name.partition("/")
                tensor = file.get_tensor(name).to(device, copy=True)
                (groups[GROUPS[group]] if short else ungrouped)[short or name] = tensor
        return State(ungrouped["step"], ungrouped["alive"], ungrouped["ended"], **groups), live
