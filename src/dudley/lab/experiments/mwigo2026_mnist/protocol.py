"""The trainings of the experiment on MNIST: four readings of one protocol, at three scales.

``printed``: full-batch descent on the logistic loss, as the paper says. ``square``: the same on
Φ = ½(f − y)², the loss of its convergence theorem. ``longer``: as printed for many more epochs.
``mini-batches``: batches of 32, which is not what the paper prints; it is here because full batches
give no minimum within the epochs that Table 1 names.

The paper does not say for how many epochs it trained: 600, the latest minimum in Table 1 being at
546. An epoch is one step with full batches. The loss that is recorded as the training loss of an
epoch is that before its step, or, with mini-batches, that on all training images after it.
"""

from __future__ import annotations

from typing import Any

TOKENS = ["flat", "patches"]
BATCH = 32
THEIRS = [
    {"d_m": 64, "N": 400, "lowest": 0.1048, "epoch": 147},
    {"d_m": 64, "N": 1200, "lowest": 0.0668, "epoch": 165},
    {"d_m": 64, "N": 10_000, "lowest": 0.0263, "epoch": 546},
    {"d_m": 1024, "N": 400, "lowest": 0.1839, "epoch": 95},
    {"d_m": 1024, "N": 1200, "lowest": 0.0760, "epoch": 271},
    {"d_m": 1024, "N": 10_000, "lowest": 0.0045, "epoch": 251},
    {"d_m": 4096, "N": 400, "lowest": 0.1269, "epoch": 139},
    {"d_m": 4096, "N": 1200, "lowest": 0.0899, "epoch": 169},
    {"d_m": 4096, "N": 10_000, "lowest": 0.0123, "epoch": 312},
]  # the paper's Table 1
COMMON = {
    "seed": 0,
    "level": 0.95,
    "margin": 0.1,  # log ratio of test losses that counts as no change; the paper's are ≤ −.31
    "cells_inside": 8 / 9,  # share of cells whose printed loss a new run of ours may show
    "delta": 0.05,
    "correlation.c": 1.0,
    "loss.range": 1.0,  # of min(|f − y|, 1), 1-Lipschitz and 0 at f = y
    "points": 60,  # of every curve
    "precision": "fast",
}


def grids(
    reading: str, d_m: list[int], N: list[int], epochs: int, every: int, trials: int
) -> list[dict[str, Any]]:
    """One grid for each width and, with mini-batches, each number of examples.

    >>> [config] = grids("printed", [64], [400, 1200], epochs=600, every=1, trials=10)
    >>> config["task"]["m"], config["training"]["steps"], config["training"]["batch"]
    ([400, 1200], 600, None)
    >>> [c["training"]["steps"] for c in grids("mini-batches", [64], [400, 1200], 3, 1, 1)]
    [39, 114]
    """
    mini = reading == "mini-batches"
    parts = []
    for width in d_m:
        for sizes in [[size] for size in N] if mini else [N]:
            steps = -(-sizes[0] // BATCH) if mini else 1  # of an epoch
            training = {
                "optimiser": {"name": "gd", "lr": 0.1},
                "loss": "square" if reading == "square" else "logistic",
                "steps": epochs * steps,
                "evaluate_every": every * steps,
                "evaluate": ["train", "holdout"] if mini else ["holdout"],
                "measures": ["moved"],
                "batch": BATCH if mini else None,
                "precision": COMMON["precision"],
            }
            parts.append(
                {
                    "reading": reading,
                    "task": {"name": "mnist01", "m": sizes, "tokens": TOKENS},
                    "model": {"name": "shallow-encoder", "d": 64, "d_m": width},
                    "training": training,
                    "steps_of_epoch": steps,
                    "trials": trials,
                }
            )
    return parts


def of_scale(scale: str) -> dict[str, Any]:
    """All that is chosen; ``together``: trials that are trained in one batch at most."""
    wide, many = [64, 1024, 4096], [400, 1200, 10_000]
    trainings = {
        "smoke": grids("printed", [16, 32], [20, 40], 20, 10, 3)
        + grids("square", [32], [20, 40], 20, 10, 3)
        + grids("longer", [16], [20], 40, 20, 3)
        + grids("mini-batches", [16], [20, 40], 4, 2, 3),
        "laptop": grids("printed", [64, 256], [400, 1200], 300, 10, 6)
        + grids("square", [64, 256], [400], 300, 10, 6)
        + grids("mini-batches", [64], [400, 1200], 100, 2, 6),
        "paper": grids("printed", wide, many, 600, 1, 10)
        + grids("square", wide, many, 600, 1, 10)
        + grids("longer", [64, 1024], [400, 1200], 6000, 5, 10)
        + grids("mini-batches", wide, many, 300, 1, 10),
    }[scale]
    together = {"smoke": 6, "laptop": 2, "paper": 10}[scale]
    return {**COMMON, "theirs": THEIRS, "together": together, "grids": trainings}
