"""What bounds say of a trained majority classifier: Corollary 4.1.1, and the calculus.

The corollary is about one head w · σ(A X W_v) W_c. The network is relu(Σ_h A_h X V_h + b) W_1 W + c
with V_h = W_v^h W_c^h, so the nearest reading is W_v ← V_h, W_c ← W_1, w ← the difference of W's
columns, W_QK ← W_Q^h W_K^hᵀ/√k, biases left out, the largest norm of both heads, and H times the
value (section 4.2; strictly it wants σ inside each head, not around their sum). The calculus bounds
the network as it is, biases and all, and pays for norms that were observed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

FORMS = ("printed", "derived", "best")


def norms(model: Any) -> dict[str, float]:
    """The norms that the corollary asks for, and spectral and ℓ1 norms of every weight."""
    weights = {name.rsplit(".", 1)[-1]: W.detach().double().numpy()
            for name, W in model.named_parameters()}  # fmt: skip
    H, k, inputs = model.H, model.k, model.inputs
    Q, K, V = (np.split(weights[name], H, 1) for name in ("W_Q", "W_K", "W_v"))
    C = np.split(weights["W_c"], H, 0)
    scores = [q @ key.T / math.sqrt(k) for q, key in zip(Q, K, strict=True)]
    values = [v @ c for v, c in zip(V, C, strict=True)]
    measured = {
        "X_row2inf": inputs.row2inf,
        "W_QK_l11": max(np.abs(W).sum() for W in scores),
        "W_v_row1inf": max(np.abs(W).sum(1).max() for W in values),
        "W_v_col1inf": max(np.abs(W).sum(0).max() for W in values),
        "W_c_row1inf": np.abs(weights["W_1"]).sum(1).max(),
        "W_c_col1inf": np.abs(weights["W_1"]).sum(0).max(),
        "w_l1": np.abs(weights["W"][:, 1] - weights["W"][:, 0]).sum(),
        "heads": H,
    }
    for name, W in weights.items():
        measured[f"{name}_l11"] = np.abs(W).sum()
        if not name.startswith("b"):
            measured[f"{name}_op"] = np.linalg.norm(W, 2)
    return {name: float(value) for name, value in measured.items()}


def calculus(model: Any, n: int, settings: dict[str, Any]) -> dict[str, float]:
    """The gap bound at n, and log₁₀ of the n at which it falls to half the loss's range."""
    from dudley.calculus.union import Grid
    from dudley.networks.capacity import capacity
    from dudley.networks.losses import CrossEntropy

    inputs, loss = model.inputs, CrossEntropy(clip=settings["clip"])
    derived = capacity(model.description(inputs), inputs, n=n, loss=loss)
    half = settings["clip"] / 2
    return {
        "gap": float(derived.gap(settings["delta"], union=Grid()).value),
        "log10_n": float(derived.log10_needed_n(half, settings["delta"], Grid())),
    }


def corollary(row: dict[str, Any], n: int, d: int, k: int) -> dict[str, float]:
    """Corollary 4.1.1 at a run's norms, H times, in every form; and the largest possible output."""
    from dudley.theorems.registry import evaluate

    names = ("W_c_row1inf", "W_c_col1inf", "W_v_row1inf", "W_v_col1inf", "W_QK_l11", "X_row2inf")
    known = {name[::-1].replace("_", ".", 1)[::-1]: float(row[name]) for name in names}
    known |= {"n": n, "d": d, "k": k, "T": int(row["T"]) + 1, "sigma.lipschitz": 1.0}
    known["w.l1"] = float(row["w_l1"])
    H = row["heads"]
    values = {
        form: H * float(evaluate("trauger2024/corollary-4.1.1", known, form).value)
        for form in FORMS
    }
    product = known["w.l1"] * known["W_c.col1inf"] * known["W_v.col1inf"]
    return values | {"trivial": H * product * known["X.row2inf"]}
