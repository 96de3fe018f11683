"""Trainings of the sparse majority experiment (trauger2024, section 6, the authors' script).

x uniform in {0,1}^T, a hidden uniform 9-subset, y = 1 where most of its bits are 1; 300 examples.
Tokens are mutually orthogonal vectors of ℓ1 norm 1 plus sinusoidal positions; two heads of width
64, ReLU, two affine maps, logits of the [CLS] row; binary cross-entropy of both logits. SGD .01
with momentum .9 as Keras has it, ×.999 an epoch down to .001; batches of 128; at most 200,000
epochs, ended where the training accuracy is 1. The weights of the least validation loss are kept.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dudley.lab import RunLocation, TrialTable
from dudley.lab.experiment import Bench
from dudley.lab.training import train_batch, train_grid, trainings
from dudley.train.trainer import Trainer

LENGTHS = [*range(20, 201, 20)]
KEPT = "validation_loss"


def majority(
    lengths: list[int],
    epochs: int,
    s: int = 9,
    m: int = 300,
    batch: int = 128,
    holdout: int = 10_000,
    rate: float = 0.01,
    look: int = 1,
    points: int = 1,
    **model: Any,
) -> dict[str, Any]:
    """The protocol; ``look`` epochs between evaluations, ``points`` evaluations between points."""
    batches = -(-m // batch)
    return {
        "task": {"name": "majority", "T": lengths, "s": s, "m": m, "holdout": holdout},
        "model": {"name": "majority-classifier", "d": 64, "H": 2, "k": 64} | model,
        "training": {
            "optimiser": {"name": "sgd", "lr": rate, "momentum": 0.9, "rate_inside": True},
            "schedule": {"name": "exponential", "factor": 0.999, "every": batches,
                         "floor": rate / 10},
            "loss": "binary-cross-entropy", "batch": batch, "steps": epochs * batches,
            "evaluate_every": look * batches, "points_every": points,
            "evaluate": ["train", "validation"], "final": ["holdout"], "measures": ["l1"],
            "stop": {"metric": "train_accuracy", "at_least": 1.0}, "keep": [{"metric": KEPT}],
        },
    }  # fmt: skip


def trained(config: dict[str, Any], store: RunLocation, bench: Bench) -> TrialTable:
    """All runs, with norms of the kept weights, and bounds for the first runs of every T."""
    grid = trainings("majority", config["seed"], config["protocol"], config["runs"])
    work = partial(train_batch, ending=partial(bound_the_kept, settings=config["bounds"]))
    return train_grid(
        grid, store, bench.device, bench.workers,
        work=work, memory=bench.memory, on=bench.on, progress=bench.progress,
    )  # fmt: skip


def bound_the_kept(
    trainer: Trainer, results: list[dict[str, Any]], settings: dict[str, Any]
) -> None:
    """Add to every result the norms of its kept weights, and to some what they are worth."""
    from dudley.lab.experiments.trauger2024_majority.bounds import calculus, norms

    problem, best = trainer.problem, trainer.period.best_weights(trainer.whole, KEPT)
    for e, (config, result) in enumerate(zip(problem.configs, results, strict=True)):
        model = problem.ensemble.member(best, e)
        result["norms"] = norms(model)
        if config["trial"] < settings["runs"]:
            result["calculus"] = calculus(model, config["task"]["m"], settings)
