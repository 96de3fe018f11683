"""A trial is a config and a key; a grid is a named, ordered set of trials.

The grid knows nothing of what a trial does: its config is JSON, and its key is the 64-bit number
from which whoever runs it draws everything random.

>>> trials = [Trial({"task": {"T": 100, "m": m}}, key=m) for m in (50, 60)]
>>> grid = TrialGrid(trials, name="and", seed=0)
>>> len(grid), grid.hash == TrialGrid(trials, name="and", seed=0).hash
(2, True)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dudley.core.canonical import canonical, digest, flat
from dudley.core.errors import InputError

RESERVED = ("grid", "result")  # columns of a table begin with these


@dataclass(frozen=True)
class Trial:
    """One training, or whatever is repeated: its config (JSON) and its key in [0, 2⁶⁴)."""

    config: dict[str, Any]
    key: int

    def __post_init__(self):
        if not isinstance(self.config, dict):
            raise InputError("config of a trial", "a dict", type(self.config).__name__)
        if bad := [name for name in RESERVED if name in self.config]:
            raise InputError("config of a trial", f"no key {bad[0]!r}, kept for tables", bad[0])
        if not isinstance(self.key, int) or isinstance(self.key, bool) or self.key >> 64:
            raise InputError("key of a trial", "an integer in [0, 2^64)", self.key)
        # A copy that nobody else holds, with tuples made lists.
        object.__setattr__(self, "config", json.loads(canonical(self.config, "config")))

    @cached_property
    def hash(self) -> str:
        """sha256 of config and key."""
        return digest([self.config, self.key])

    def __hash__(self) -> int:
        return hash(self.hash)


@dataclass(frozen=True)
class TrialGrid:
    """Distinct trials in order, under a name and a seed."""

    trials: tuple[Trial, ...]
    name: str
    seed: int

    def __init__(self, trials: Sequence[Trial], name: str, seed: int):
        object.__setattr__(self, "trials", tuple(trials))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "seed", seed)
        if not isinstance(name, str) or not name:
            raise InputError("name of a grid", "a word", repr(name))
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise InputError("seed of a grid", "an integer", repr(seed))
        if not self.trials:
            raise InputError(f"trials of grid {name!r}", "at least one", "none")
        first: dict[str, int] = {}
        for number, trial in enumerate(self.trials):
            if (twin := first.setdefault(trial.hash, number)) != number:
                raise InputError(
                    f"trials of grid {name!r}",
                    "distinct configs",
                    f"trial {number} equal to trial {twin}",
                    "number repeats in the config, for example by a key 'trial'",
                )

    def __len__(self) -> int:
        return len(self.trials)

    def __str__(self) -> str:
        return f"grid {self.name}: {len(self):,} trials, seed {self.seed}"

    @cached_property
    def hash(self) -> str:
        """sha256 of name, seed and the trials in order; the packing is not in it."""
        return digest([self.name, self.seed, [trial.hash for trial in self.trials]])


def difference(old: TrialGrid, new: TrialGrid) -> tuple[str, str] | None:
    """The first thing in which two grids differ, as told of each; None where they are equal.

    >>> first, second = (TrialGrid([Trial({"task": {"m": m}}, 1)], "and", 0) for m in (50, 60))
    >>> difference(first, second)
    ('trial 0 with task.m = 50', 'trial 0 with task.m = 60')
    """
    if old.hash == new.hash:
        return None
    for what, a, b in (
        ("name", old.name, new.name),
        ("seed", old.seed, new.seed),
        ("number of trials", len(old), len(new)),
    ):
        if a != b:
            return f"{what} {a}", f"{what} {b}"
    for number, (a, b) in enumerate(zip(old.trials, new.trials, strict=True)):
        if a.hash != b.hash:
            before, after = ({**flat(t.config), "key": t.key} for t in (a, b))
            for name in before | after:
                texts = [_described(number, name, side) for side in (before, after)]
                if texts[0] != texts[1]:
                    return texts[0], texts[1]
            return f"trial {number} of hash {a.hash[:12]}", f"hash {b.hash[:12]}"
    raise AssertionError("two hashes of one grid")


def _described(number: int, name: str, config: dict[str, Any]) -> str:
    value = f"{name} = {config[name]!r}" if name in config else f"no {name}"
    return f"trial {number} with {value}"
