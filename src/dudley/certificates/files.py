"""Model files: one model, a posterior around one, what a named training gave, or plain weights.

A user's own weights need no header: a safetensors file whose tensors are named by their paths in
the network (``0.W_v``; ``weights.0.W_v`` as `dudley.models` saves them), the network as a file of
`dudley.networks.files` with its weights "free", and the encoding of the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dudley.certificates import hypothesis, tensors
from dudley.certificates.hypothesis import Hypothesis
from dudley.networks import files as networks

if TYPE_CHECKING:
    from dudley.certificates.learners.module_predictor import ModulePredictor
    from dudley.certificates.methods.pac_bayes.posterior import Posterior

PREFIX = "weights."


def load(path: str | Path) -> Hypothesis | Posterior | ModulePredictor:
    """Read a model file; what it holds is known by its schema."""
    schema = tensors.read(path)[0].get("schema")
    if schema == tensors.POSTERIOR:
        from dudley.certificates.methods.pac_bayes import posterior

        return posterior.load(path)
    if schema == tensors.TRAINED:
        from dudley.certificates.trainings import files as trained

        return trained.load(path)
    return hypothesis.load(path)


def described(
    path: str | Path, network: str | Path | Mapping[str, Any], encoding: Mapping[str, Any]
) -> Hypothesis:
    """Plain weights with their network and encoding; float16 and float32 become float64 exactly."""
    _, arrays = tensors.read(path)
    weights = {name.removeprefix(PREFIX): W.astype(np.float64) for name, W in arrays.items()}
    tables = dict(network) if isinstance(network, Mapping) else networks.read(network)
    return Hypothesis(tables, dict(encoding), weights)
