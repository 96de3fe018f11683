"""The model of a code word around a start, as a predictor.

The word is the model: whoever has the start and the declared lists decodes the same float32
weights. The hash is that of the decoded module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dudley.certificates.around.words import WordSpace
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.predictor import Predictor


@dataclass(frozen=True, eq=False)
class CodedAround(Predictor):
    """Final: the start with what was declared, and the word."""

    space: WordSpace
    word: CodeWord

    @cached_property
    def decoded(self) -> ModulePredictor:
        """The module."""
        return self.space.start.model(self.space.decode(self.word))

    @property
    def sha256(self) -> str:
        """Of the decoded module."""
        return self._sha256

    @cached_property
    def _sha256(self) -> str:
        return self.decoded.sha256

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """Of the decoded module."""
        return self.decoded.outputs(X)

    def facts(self) -> dict[str, Any]:
        """The facts of the decoded module, and the hash of the start."""
        facts = {"sha256": self.sha256, "weights": self.space.start.count}
        return facts | {"batch": self.decoded.batch, "start": self.space.start.sha256}
