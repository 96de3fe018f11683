"""The protocol of edelman2021's experiments, as configurations (section 5, appendix C).

A one-layer Transformer in the manner of minGPT with d = 64, 16 heads, dropout .1 of embeddings,
attention weights and residual branches; Adam 1e-3 (.9, .999), weight decay 1e-4 on matrices,
gradients clipped at 1. Sparse AND: the full batch, 1,000 steps, a hold-out of 10⁴ every 10 steps.
Sparse parity: a fresh batch of 2,048 a step, 10,000 steps.
"""

from __future__ import annotations

from typing import Any

LENGTHS = [*range(100, 401, 50), 500, 600, 700, 800]
SIZES = [*range(50, 201, 10)]
LEARNT = 0.99  # a best hold-out accuracy above it is a success


def optimiser(rate: float = 1e-3) -> dict[str, Any]:
    adam = {"name": "adamw", "lr": rate, "betas": [0.9, 0.999], "weight_decay": 1e-4}
    return {"name": "clipped", "limit": 1.0, "optimiser": adam}


def sparse_and(
    T: list[int] | int,
    m: list[int] | int,
    dropout: tuple[float, float, float] = (0.1, 0.1, 0.1),
    steps: int = 1000,
    holdout: int = 10_000,
    sizes: dict[str, int] | None = None,
    every: int = 10,
    rate: float = 1e-3,
    s: int = 3,
) -> dict[str, Any]:
    """Trainings on sparse AND of s bits."""
    return {
        "task": {"name": "and", "T": T, "s": s, "m": m, "holdout": holdout},
        "model": {"name": "and-classifier"} | (sizes or {"d": 64, "H": 16})
        | {"dropout": list(dropout)},
        "training": {"optimiser": optimiser(rate), "steps": steps, "evaluate_every": every},
    }  # fmt: skip


def sparse_parity(
    T: list[int],
    steps: int = 10_000,
    batch: int = 2048,
    every: int = 20,
    holdout: int = 10_000,
    sizes: dict[str, int] | None = None,
    rate: float = 1e-3,
    s: int = 3,
) -> dict[str, Any]:
    """Trainings on the parity of s hidden bits, each step on fresh examples."""
    return {
        "task": {"name": "parity", "T": T, "s": s, "holdout": holdout},
        "model": {"name": "and-classifier"} | (sizes or {"d": 64, "H": 16})
        | {"dropout": [0.1, 0.1, 0.1]},
        "training": {
            "optimiser": optimiser(rate), "steps": steps, "evaluate_every": every, "batch": batch,
            "online": True, "evaluate": ["holdout"],
        },
    }  # fmt: skip
