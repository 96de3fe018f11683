"""Success curves of many shapes, and grids of outcomes drawn from them.

A shape is p as a function of x = log(m / m½), with p > ½ where x > 0.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

LENGTHS = np.array([*range(100, 401, 50), 500, 600, 700, 800])
SIZES = np.arange(50, 201, 10)

SHAPES = {
    "steep": lambda x: expit(10 * x),
    "logistic": lambda x: expit(5 * x),
    "flat": lambda x: expit(2.5 * x),
    # Asymmetric: 1 − 2^(−e^{3x}) rises late, 2^(−e^{−4x}) early.
    "weibull": lambda x: 1 - np.exp2(-np.exp(3 * x)),
    "gompertz": lambda x: np.exp2(-np.exp(-4 * x)),
    "never above .8": lambda x: 0.8 * expit(6 * x + np.log(5 / 3)),
    "step": lambda x: np.where(x > 0, 0.9, 0.1),
    # .44 and .56 far around m½, hardly to be told from ½.
    "shelf": lambda x: np.clip(
        0.5 + 0.06 * np.where(x > 0, 1, -1) + np.sign(x) * np.maximum(1.5 * np.abs(x) - 0.525, 0),
        0.02, 0.98,
    ),
}  # fmt: skip


def simulated(
    shape: str, grids: int, seed: int, lengths: np.ndarray = LENGTHS, trials: int = 50
) -> tuple[np.ndarray, np.ndarray]:
    """Rates (grids, T, m) and outcomes (grids, T, m, trials).

    m½ = 75 (T/100)^.45, in every grid times a factor within e^±.15 of its own: about where sparse
    AND has it, and for the largest T sometimes beyond the grid.
    """
    generator = np.random.default_rng(seed)
    factor = generator.uniform(-0.15, 0.15, (grids, 1, 1))
    half = np.log(75) + 0.45 * np.log(lengths / 100)[:, None] + factor
    p = SHAPES[shape](np.log(SIZES) - half)
    return p, generator.random((*p.shape, trials)) < p[..., None]


def crossings(p: np.ndarray) -> np.ndarray:
    """The first cell with p > ½ along the last axis; past the last where there is none."""
    above = p > 0.5
    return np.where(above.any(-1), above.argmax(-1), p.shape[-1])
