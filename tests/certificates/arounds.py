"""Tiny starts for tests: linear modules whose numbers can be done by hand."""

from __future__ import annotations

import numpy as np

from dudley.certificates.around.start import ModuleStart
from dudley.certificates.data import Dataset
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.core.backend import torch


def linear_start(W: list[list[float]], bias: list[float] | None = None) -> ModuleStart:
    """The start x ↦ Wx + b."""
    module = torch.nn.Linear(len(W[0]), len(W), bias=bias is not None)
    with torch.no_grad():
        module.weight.copy_(torch.tensor(W))
        if bias is not None:
            module.bias.copy_(torch.tensor(bias))
    return ModuleStart(ModulePredictor(module.eval()))


def halves(n: int, d: int = 2, seed: int = 0) -> Dataset:
    """Normals, labelled by the sign of the first coordinate."""
    X = np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)
    return Dataset(X, (X[:, 0] > 0).astype(np.int64))


def make_linear() -> torch.nn.Module:
    """A linear module with random weights."""
    return torch.nn.Linear(2, 2)


def fit_linear(model: torch.nn.Module, X: np.ndarray, y: np.ndarray) -> None:
    """Forty steps of Adam."""
    optimiser = torch.optim.Adam(model.parameters(), 0.1)
    for _ in range(40):
        loss = torch.nn.functional.cross_entropy(model(torch.tensor(X)), torch.tensor(y))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
