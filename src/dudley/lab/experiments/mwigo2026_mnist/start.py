"""What Lemma 4 of mwigo2026 asks of the start: features, fit and norms at θ⁰, in float64.

F_pre⁰ ∈ R^{N×d_m} holds the features of the N training images, before the output weights. α, its
smallest singular value, is the N-th: the convergence proof needs ‖F_preᵀ v‖ ≥ α‖v‖ for every
v ∈ R^N. So α is 0 wherever N > d_m. As N α² ≤ ‖F_pre⁰‖_F², that norm bounds it from above.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from dudley.core.backend import torch
from dudley.train.problem import Problem
from dudley.train.tasks.mnist import tokens_of

ROOM = 1 << 26  # numbers of the wide layer at a time
BLOCKS = {"Q": "weights.0.W_Q", "K": "weights.0.W_K", "V": "weights.0.W_v", "O": "weights.1.w"}


@torch.no_grad()
def start_of(config: dict[str, Any], device: str = "cpu") -> dict[str, float]:
    """α, ‖F_pre⁰‖_F, Φ(θ⁰) = ½ Σ(f − y)², and the norms of the first weights of a trial."""
    problem = Problem([config], device)
    drawn = problem.ensemble.start(problem.keys)
    W = {block: drawn[name][0].double() for block, name in BLOCKS.items()}
    F = features(problem.sample.inputs.rows[0].double(), W)
    left = (F @ W["O"])[:, 0] - problem.sample.labels[0]
    columns = {
        "alpha": smallest(F),
        "features_fro": float(F.norm()),
        "loss_initial": float(left.square().sum() / 2),
        "O_l2": float(W["O"].norm()),
    }
    for block in "QKV":
        columns[f"{block}_fro"] = float(W[block].norm())
        columns[f"{block}_op"] = float(torch.linalg.matrix_norm(W[block], 2))
    return columns


def features(X: torch.Tensor, W: dict[str, torch.Tensor]) -> torch.Tensor:
    """Images (N, T, d) to (N, d_m): mean_i relu(z_i W_v), Z = softmax(X W_Q W_Kᵀ Xᵀ/√d_m) X."""
    d_m = W["V"].shape[1]
    scores = W["Q"] @ W["K"].mT / math.sqrt(d_m)
    parts = []
    for part in X.split(max(1, ROOM // (X.shape[1] * d_m))):
        Z = torch.softmax(part @ scores @ part.mT, -1) @ part
        parts.append((Z @ W["V"]).clamp(min=0).mean(1))
    return torch.cat(parts)


def smallest(F: torch.Tensor) -> float:
    """The N-th singular value of F (N, d_m).

    >>> round(smallest(torch.tensor([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0]]).double()), 12)
    2.0
    >>> smallest(torch.ones(3, 2).double())
    0.0
    """
    N, width = F.shape
    if width < N:
        return 0.0
    return float(torch.linalg.svdvals(torch.linalg.qr(F.mT, mode="r").R)[-1])


@cache
def inputs_of(tokens: str, pixels: str = "unit") -> dict[str, float]:
    """The largest ‖X‖_F and the largest norm of a token, over all training and test images."""
    X = torch.cat([tokens_of(split, tokens, pixels)[0] for split in ("train", "test")]).double()
    return {
        "X_fro": float(X.flatten(1).norm(dim=1).max()),
        "X_row2inf": float(X.norm(dim=2).max()),
        "T": X.shape[1],
    }
