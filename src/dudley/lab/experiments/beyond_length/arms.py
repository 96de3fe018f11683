"""The arms of beyond-length: free training, and training confined to balls declared beforehand.

Every weight has a ball (`RADII`): ℓ2 of the entries for matrices and biases, the largest entry for
gains, the largest row for positions. After every step of Adam each weight is projected onto its
ball, so that what is certified at every T has the same radii. In the arm ``positions fixed`` the
positions stay where they were drawn, before the data: they cost the bound radius, and no cover.
The arm is read off the optimiser, which says it all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dudley.calculus.compose import Node
from dudley.networks.capacity import Capacity
from dudley.networks.embeddings import Positions

RADII: dict[str, tuple[str, float]] = {
    "W_E": ("fro", 0.5), "W": ("fro", 0.7), "gain": ("linf", 1.5),
    **dict.fromkeys(("W_Q", "W_K", "W_v", "W_c"), ("fro", 2.0)),
    **dict.fromkeys(("W_1", "W_2"), ("fro", 2.5)),
    **dict.fromkeys(("bias", "b_Q", "b_K", "b_v", "b_c", "b_1", "b_2"), ("fro", 0.5)),
    "P": ("row2inf", 0.5),
}  # fmt: skip
STILL = 1e-9  # radius of a ball around the first positions: in float32 they do not move
FREE, BALLS, FIXED = "free", "balls", "balls, positions fixed"


def optimiser(arm: str) -> dict[str, Any]:
    """Adam, followed by projections where the arm has balls."""
    adam = {"name": "adam", "lr": 3e-3}
    if arm == FREE:
        return adam
    balls = [{"norm": norm, "radius": R, "weights": W} for W, (norm, R) in RADII.items()]
    if arm == FIXED:
        balls[-1] |= {"radius": STILL, "around": "start"}
    return {"name": "constrained", "optimiser": adam, "balls": balls}


def arm_of(training: Mapping[str, Any]) -> str:
    """The arm of a training.

    >>> [arm_of({"optimiser": optimiser(arm)}) for arm in (FREE, BALLS, FIXED)]
    ['free', 'balls', 'balls, positions fixed']
    """
    balls = training["optimiser"].get("balls", [])
    if not balls:
        return FREE
    return FIXED if any(ball.get("around") == "start" for ball in balls) else BALLS


def fill(row: Mapping[str, Any]) -> float:
    """The largest norm of a trial over its declared radius, over all weights: at most 1."""
    shares = [0.0]
    for column, value in row.items():
        name, _, norm = column.rpartition(".")
        wanted, radius = RADII.get(name.rpartition(".")[2], ("", 1.0))
        if column.startswith("norms.") and norm == wanted and value is not None:
            shares.append(value / radius)
    return max(shares)


def of_arm(bound: Capacity, arm: str) -> Capacity:
    """The bound of an arm."""
    if arm != FIXED:
        return bound
    return replace(bound, network=with_fixed_positions(bound.network))


def with_fixed_positions(network: Node) -> Node:
    """The network whose positions were fixed before the data: they cost radius, and no cover."""
    from dudley.models.rewrite import rewritten

    def change(path, part: Node) -> Node:
        return replace(part, trained=False) if isinstance(part, Positions) else part

    return rewritten(network, change)
