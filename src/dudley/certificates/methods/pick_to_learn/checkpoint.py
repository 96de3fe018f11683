"""Checkpoints: after a kill, the rule goes on at the same picks.

A folder holds ``picking.json`` (a digest of what was declared and of the data, and the picks of
every round) and the weights of the last model. The weights are written first, under the name of
their round, and the JSON file, which takes its place whole, names them; so a kill leaves the state
of one round or of the next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from dudley.certificates.learners.base import Learner
from dudley.certificates.predictor import Predictor
from dudley.core.boundary import documents
from dudley.core.errors import InputError
from dudley.core.files import written

STATE = "picking.json"
SCHEMA = "dudley.picking/1"


@dataclass
class PickCheckpoint:
    """The state in a folder; ``digest`` tells runs of other declarations or data apart."""

    folder: Path
    digest: str
    learner: Learner
    rounds: list[list[str]] = field(default_factory=list)
    bounds: dict[int, float] = field(default_factory=dict)

    def read(self, learner: Learner) -> tuple[list[list[str]], Predictor | None]:
        """The picks of earlier rounds and the last model; none where there is no state."""
        path = self.folder / STATE
        if not path.is_file():
            return [], None
        state = documents.read(path)
        if not isinstance(state, dict) or state.get("schema") != SCHEMA:
            raise InputError(str(path), f"a state with schema {SCHEMA}", "another file")
        if state.get("digest") != self.digest:
            fix = "take another folder, or remove it to begin again"
            raise InputError(str(path), "the same declarations and data", "others", fix)
        self.rounds = [[str(name) for name in names] for names in state["picks"]]
        self.bounds |= {int(step): float(bound) for step, bound in state["bounds"].items()}
        weights = self._weights(len(self.rounds))
        return list(self.rounds), learner.load(weights) if weights.is_file() else None

    def save(self, step: int, names: list[str], model: Predictor) -> None:
        """Add a round."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.learner.warm:
            with written(self._weights(step)) as file:
                self.learner.save(model, file)
        self.rounds.append(names)
        self._write()
        if step - 1 not in self.bounds:
            self._weights(step - 1).unlink(missing_ok=True)

    def save_stop(self) -> None:
        """Keep the bound of a declared stop, which is in ``bounds`` by now; its weights stay."""
        self._write()

    def read_stop(self, step: int) -> Predictor | None:
        """The model of a stop, where it was saved."""
        weights = self._weights(step)
        return self.learner.load(weights) if weights.is_file() else None

    def clear(self) -> None:
        """Remove the state, once the certificate is written."""
        (self.folder / STATE).unlink(missing_ok=True)
        for weights in self.folder.glob("picking-*.safetensors"):
            weights.unlink()

    def _write(self) -> None:
        bounds = {str(step): bound for step, bound in self.bounds.items()}
        state = {"schema": SCHEMA, "digest": self.digest, "picks": self.rounds, "bounds": bounds}
        with written(self.folder / STATE) as file:
            file.write_text(json.dumps(state), encoding="utf-8")

    def _weights(self, step: int) -> Path:
        return self.folder / f"picking-{step}.safetensors"
