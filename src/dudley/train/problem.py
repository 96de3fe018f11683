"""A problem: E trials to be trained together, as the trainer sees them.

Built from the trials' configs, which agree in what `settings_of_batch` says. Examples of trials
with fewer are padded and weigh nothing: a trial's loss is the mean over its own. Held-out inputs
are drawn by the key of the cell (the config without trial and seed is the cell's, the seed is in
its key), so that trials of one cell share them wherever they are packed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.philox import Stream, key, keys_tensor, permutations
from dudley.theorems.constructions.targets import TASKS as FUNCTIONS
from dudley.train.alike import Alike, alike
from dudley.train.ensemble.base import Ensemble
from dudley.train.ensemble.registry import ensemble_of
from dudley.train.ensemble.rows import Padded, Shared
from dudley.train.tasks.base import Endless, Task
from dudley.train.tasks.registry import task_of
from dudley.train.training import Training

AHEAD, ROOM = 64, 1 << 22  # epochs whose orders are drawn at once, while they fit so many numbers
STREAMS = {
    "holdout": Stream.HOLDOUT, "validation": Stream.VALIDATION, "test": Stream.TEST
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Examples:
    """A batch of every trial: labels (E, B) and weights (E, B), which add up to 1 a trial."""

    inputs: Any
    labels: torch.Tensor
    weights: torch.Tensor

    def of(self, members: torch.Tensor) -> Examples:
        """Those of some members."""
        return Examples(self.inputs.of(members), self.labels[members], self.weights[members])


class Orders:
    """The orders of the examples in some epochs from ``first`` on: rows (E, epochs, M)."""

    def __init__(self, keys: torch.Tensor, M: int, epochs: int):
        self.keys, self.epochs, self._known = keys, epochs, range(0)
        self.rows = torch.zeros(len(keys), epochs, M, dtype=torch.int64, device=keys.device)
        self.first = torch.zeros((), dtype=torch.int64, device=keys.device)
        self.cover(0, 0)

    def cover(self, first: int, last: int) -> None:
        """Draw the orders of these epochs, and of the epochs after them, unless they are known."""
        if first in self._known and last in self._known:
            return
        E, _, M = self.rows.shape
        numbers = torch.arange(first, first + self.epochs, device=self.keys.device).repeat(E)
        keys = self.keys.repeat_interleave(self.epochs, 0)
        drawn = permutations(keys, Stream.ORDER, numbers, M)
        self.rows.copy_(drawn.unflatten(0, (E, self.epochs)))
        self.first.fill_(first)
        self._known = range(first, first + self.epochs)


class Problem:
    """E trials: their ensemble, their data, how they are trained."""

    def __init__(self, configs: Sequence[dict], device: str | torch.device = "cpu"):
        self.configs, self.device = list(configs), torch.device(device)
        if not self.configs:
            raise InputError("trials of a problem", "at least one", "none")
        settings = [settings_of_batch(config) for config in configs]
        for part, first in settings[0].items():
            if any(one[part] != first for one in settings):
                raise InputError(f"{part} of trials in one batch", "the same", "several")
        self.training = Training.of(configs[0]["training"])
        self.keys = keys_tensor([trial_key(config) for config in configs], self.device)
        self.ensemble: Ensemble = ensemble_of(
            configs[0]["model"], [config["task"] for config in configs], self.keys
        )

    def __len__(self) -> int:
        return len(self.configs)

    def subset(self, members: Sequence[int]) -> Problem:
        """Some of the trials, as a problem of its own."""
        return Problem([self.configs[e] for e in members], self.device)

    @cached_property
    def cells(self) -> tuple[list[dict], torch.Tensor]:
        """The configs of the cells, and the cell of every trial (E,)."""
        cells = [cell_of(config) for config in self.configs]
        hashes = {text: key(cell) for text, cell in {repr(cell): cell for cell in cells}.items()}
        names = [hashes[repr(cell)] for cell in cells]
        number = {name: c for c, name in enumerate(dict.fromkeys(names))}
        first = [cells[names.index(name)] for name in number]
        return first, torch.tensor([number[name] for name in names], device=self.device)

    @cached_property
    def tasks(self) -> list[Task]:
        """The task of every cell."""
        return [task_of(cell["task"]) for cell in self.cells[0]]

    @cached_property
    def _groups(self) -> list[Alike]:
        """The cells that are drawn at once."""
        return alike(self.cells[0], self.cells[1].tolist(), self.device)

    @cached_property
    def sample(self) -> Examples:
        """The training examples, padded to the largest number of them."""
        drawn = [group.sample(self.keys) for group in self._groups]
        members = [group.members for group in self._groups]
        inputs = _stack([one.inputs for one in drawn], members)
        labels = _stack([one.labels for one in drawn], members)
        sizes = [
            torch.tensor([min(m, one.labels.shape[1]) for m in group.m], device=self.device)
            for group, one in zip(self._groups, drawn, strict=True)
        ]
        sizes = _stack(sizes, members)
        there = torch.arange(labels.shape[1], device=self.device) < sizes[:, None]
        for rows in (inputs, labels):
            rows.masked_fill_(~there.reshape(*there.shape, *[1] * (rows.ndim - 2)), 0)
        return Examples(Padded(inputs, sizes.int()), labels, there / sizes[:, None])

    def batch(self, step: torch.Tensor) -> Examples:
        """What a step, an int64 tensor (), trains on."""
        if self.training.online:
            return self._fresh(step)
        whole = self.sample
        if self.training.batch is None:
            return whole
        return self._part(whole, step)

    def _fresh(self, step: torch.Tensor) -> Examples:
        task, B = self.tasks[0], self.training.batch
        if len(set(self.tasks)) > 1 or not isinstance(task, Endless):
            raise InputError("online training", "one task that can draw for ever", self.tasks)
        drawn = task.stream(self.keys, step, B or 0)
        weights = torch.full(drawn.labels.shape[:2], 1 / (B or 1), device=self.device)
        return Examples(Padded.full(drawn.inputs), drawn.labels, weights)

    def _part(self, whole: Examples, step: torch.Tensor) -> Examples:
        """One of the batches of an epoch, in an order of the epoch's own; the last is smaller."""
        B, m = self.training.batch or 0, {config["task"].get("m") for config in self.configs}
        if len(m) > 1:
            raise InputError("trials trained by batches", "one number of examples", sorted(m))
        count = self.steps_of_epoch
        epoch = torch.div(step, count, rounding_mode="floor") - self._orders.first
        order = self._orders.rows.index_select(1, epoch.reshape(1))[:, 0]  # (E, M)
        order = torch.nn.functional.pad(order, (0, count * B - order.shape[1]), value=-1)
        positions = (step % count) * B + torch.arange(B, device=self.device)
        rows = order.index_select(1, positions)  # (E, B)
        there = rows >= 0
        rows = rows.clamp(min=0)
        trials = torch.arange(len(self), device=self.device)[:, None]
        inputs = whole.inputs.rows[trials, rows]
        counts = there.sum(1, dtype=torch.int32)
        return Examples(Padded(inputs, counts), whole.labels[trials, rows], there / counts[:, None])

    def refresh(self, step: int, steps: int) -> None:
        """Draw ahead what these steps need, so that `batch` makes few operations a step."""
        if self.training.batch is not None and not self.training.online:
            count = self.steps_of_epoch
            self._orders.cover(step // count, (step + steps - 1) // count)

    @cached_property
    def _orders(self) -> Orders:
        M = self.sample.labels.shape[1]
        needed = self.training.evaluate_every // self.steps_of_epoch + 2
        return Orders(self.keys, M, max(needed, min(AHEAD, ROOM // (len(self) * M))))

    @property
    def steps_of_epoch(self) -> int:
        """How many batches there are in an epoch."""
        B = self.training.batch
        return 1 if B is None or self.training.online else -(-self.sample.labels.shape[1] // B)

    def split(self, name: str) -> Examples:
        """What is evaluated on: the training examples, or a split drawn apart from them."""
        if name == "train":
            return self.sample
        if name not in self._splits:
            self._splits[name] = self._drawn(STREAMS[name])
        return self._splits[name]

    @cached_property
    def screened(self) -> Examples:
        """The first rows of the split that is screened."""
        screen = self.training.screen
        if screen is None:
            raise InputError("screen of the training", "one", None)
        whole = self.split(screen.split)
        if whole.labels.is_floating_point() or whole.labels.ndim != 2:
            expected = "one class for each row, so that there is an accuracy"
            raise InputError(f"labels of {screen.split}, screened", expected, self.tasks[0].name)
        screen.expect_fewer_than(whole.labels.shape[1])
        rows, labels = whole.inputs.rows[:, : screen.rows].contiguous(), whole.labels
        shared = isinstance(whole.inputs, Shared)
        inputs = Shared(rows, whole.inputs.members) if shared else Padded.full(rows)
        labels = labels[:, : screen.rows].contiguous()
        return Examples(inputs, labels, torch.full_like(labels, 1 / screen.rows, dtype=torch.float))

    @cached_property
    def _splits(self) -> dict[str, Examples]:
        return {}

    def _drawn(self, stream: Stream) -> Examples:
        drawn = [group.held_out(self.keys, stream) for group in self._groups]
        members = [group.members for group in self._groups]
        labels = _stack([one.labels for one in drawn], members)
        weights = torch.full(labels.shape[:2], 1 / labels.shape[1], device=self.device)
        parts = [one.inputs for one in drawn]
        if drawn[0].cell is None:  # every trial has its own
            return Examples(Padded.full(_stack(parts, members)), labels, weights)
        rows = torch.cat([_pad(part, _largest(parts)) for part in parts])
        shared = [group.sharing(one) for group, one in zip(self._groups, drawn, strict=True)]
        return Examples(Shared(rows, tuple(itertools.chain(*shared))), labels, weights)

    @cached_property
    def decayed(self) -> dict[str, bool]:
        """Which weights decay."""
        twin = self.ensemble.twin()
        names = self.ensemble.shapes
        if self.training.decay_all or not hasattr(twin, "decayed"):
            return dict.fromkeys(names, True)
        decaying = {id(W) for W in twin.decayed()[0]}  # pyright: ignore[reportCallIssue]
        return {name: id(W) in decaying for name, W in twin.named_parameters()}


def trial_key(config: dict) -> int:
    """The key of a trial. Training does not enter it: two ways to train see the same data."""
    return key("trial", config["seed"], config["trial"], config["task"], config["model"])


def cell_of(config: dict) -> dict:
    """What trials of a cell share."""
    return {"task": config["task"], "seed": config["seed"]}


def settings_of_batch(config: dict) -> dict:
    """The settings in which the trials of one batch must agree.

    The number of examples may differ, the function of planted bits, and T where every member may
    have its own: in the majority classifier, whose positions are no weights.
    """
    task, free = config["task"], {"m"}
    if config["model"].get("name") == "majority-classifier":
        free.add("T")
    if task.get("name") in FUNCTIONS and not config["training"].get("online"):
        free |= {"name", "s", "k", "table"}
    task = {name: value for name, value in task.items() if name not in free}
    return {"task": task, "model": config["model"], "training": config["training"]}


def _stack(parts: Sequence[torch.Tensor], members: Sequence[torch.Tensor]) -> torch.Tensor:
    """Rows (E, M, …) of all trials in their order, padded with zeros."""
    whole = parts[0].new_zeros(sum(map(len, members)), *_largest(parts))
    for part, members_of_part in zip(parts, members, strict=True):
        whole[members_of_part] = _pad(part, whole.shape[1:])
    return whole


def _largest(parts: Sequence[torch.Tensor]) -> list[int]:
    """The largest sizes of all axes but the first."""
    return [max(sizes) for sizes in zip(*(part.shape[1:] for part in parts), strict=True)]


def _pad(part: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """With zeros after its entries, so that all axes but the first have these sizes."""
    whole = part.new_zeros(len(part), *sizes)
    whole[tuple(slice(size) for size in part.shape)] = part
    return whole
