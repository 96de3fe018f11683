"""At which sample size would a derived bound say something of a trained AND classifier?

One trial is trained as in the experiment, its weights are measured, and the description with those
norms is bounded: the n at which the gap of the ramp loss at a margin falls to ½, by chaining, with
a grid over norms (they were observed). The bound covers all networks with such norms, so n is far
above what training needs: it is vacuous at every m of the experiments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dudley.calculus.union import Grid
from dudley.networks.capacity import capacity
from dudley.networks.losses import Margin


def needed(config: dict[str, Any], margin: float, delta: float, device: str) -> dict[str, Any]:
    """Train one trial, and say log₁₀ of the n that its norms ask for."""
    from dudley.models.and_classifier import AndClassifier
    from dudley.train.problem import Problem
    from dudley.train.trainer import Memory, Trainer

    problem = Problem([config], device)
    trainer = Trainer(problem, Memory())
    results = trainer.run()
    assert results is not None
    network = problem.ensemble.member(trainer.whole.weights, 0).eval()
    norms = {
        name.removeprefix("weights."): float(np.linalg.norm(W.detach().numpy(), 2))
        for name, W in network.named_parameters()
    }
    row = {"T": config["task"]["T"], "m": config["task"]["m"], "trial": config["trial"]}
    row |= {
        "best": results[0]["extremes"]["holdout_accuracy"],
        "largest_spectral_norm": max(norms.values()),
    }
    assert isinstance(network, AndClassifier)
    inputs = network.inputs
    cap = capacity(network.description(inputs), inputs, loss=Margin(margin, multiclass=True))
    return row | {"log10_n": cap.log10_needed_n(0.5, delta, Grid())}
