"""Checkpoints: after a kill, the rule goes on at the same picks.

A folder holds ``picking.json`` (a digest of what was declared and of the data, the seed, the picks
of every round, and the bounds of the stops that were passed), and weights: those of a start that an
initial share gave (round 0) and, for a learner whose rounds go on from each other, those of the
last round and of the stops. Weights are written before the JSON file, which takes its place whole;
so a kill leaves the state of one round or of the next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dudley.certificates.learners.base import Learner
from dudley.certificates.predictor import Predictor
from dudley.core.boundary import documents
from dudley.core.errors import InputError
from dudley.core.files import written

STATE = "picking.json"
SCHEMA = "dudley.picking/2"


def recorded_seed(folder: str | Path | None) -> int | None:
    """The seed of the run that left its state in a folder, so that it goes on with the same one."""
    state = None if folder is None else _state(Path(folder))
    return None if state is None else state["seed"]


def _state(folder: Path) -> dict[str, Any] | None:
    """The table of ``picking.json``, where it is there."""
    path = folder / STATE
    if not path.is_file():
        return None
    state = documents.read(path)
    known = isinstance(state, dict) and state.get("schema") == SCHEMA
    if not known or not isinstance(state.get("seed"), int):
        raise InputError(str(path), f"a state with schema {SCHEMA}", "another file")
    return state


@dataclass
class PickCheckpoint:
    """The state in a folder; ``digest`` tells runs of other declarations or data apart."""

    folder: Path
    digest: str
    learner: Learner
    seed: int = 0
    rounds: list[list[str]] = field(default_factory=list)
    bounds: dict[int, float] = field(default_factory=dict)

    @property
    def there(self) -> bool:
        """Is there the state of some run in the folder?"""
        return (self.folder / STATE).is_file()

    def read(self) -> list[list[str]]:
        """The picks of earlier rounds; none where there is no state."""
        path, state = self.folder / STATE, _state(self.folder)
        if state is None:
            return []
        if state.get("digest") != self.digest:
            fix = "take another folder, or remove it to begin again"
            raise InputError(str(path), "the same declarations and data", "others", fix)
        self.rounds = [[str(name) for name in names] for names in state["picks"]]
        self.bounds |= {int(step): float(bound) for step, bound in state["bounds"].items()}
        return list(self.rounds)

    def save_start(self, model: Predictor) -> None:
        """Keep what the initial share gave, and that no round has begun."""
        if self.learner.saves:
            self._save_weights(0, model)
            self._write()

    def save(self, step: int, names: list[str], model: Predictor) -> None:
        """Add a round."""
        if self.learner.warm and self.learner.saves:
            self._save_weights(step, model)
        self.rounds.append(names)
        self._write()
        if step > 1 and step - 1 not in self.bounds:
            self._weights(step - 1).unlink(missing_ok=True)

    def save_stop(self, step: int, bound: float) -> None:
        """Keep the bound of a declared stop; its weights stay."""
        self.bounds[step] = bound
        self._write()

    def model(self, step: int) -> Predictor | None:
        """The model of a round, where it was saved; round 0 is the start."""
        weights = self._weights(step)
        return self.learner.load(weights) if weights.is_file() else None

    def clear(self) -> None:
        """Remove the state, once the certificate is written."""
        (self.folder / STATE).unlink(missing_ok=True)
        for weights in self.folder.glob("picking-*.safetensors"):
            weights.unlink()

    def _save_weights(self, step: int, model: Predictor) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with written(self._weights(step)) as file:
            self.learner.save(model, file)

    def _write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        bounds = {str(step): bound for step, bound in self.bounds.items()}
        state = {"schema": SCHEMA, "digest": self.digest, "seed": self.seed}
        state |= {"picks": self.rounds, "bounds": bounds}
        with written(self.folder / STATE) as file:
            file.write_text(json.dumps(state), encoding="utf-8")

    def _weights(self, step: int) -> Path:
        return self.folder / f"picking-{step}.safetensors"
