"""Derived bounds of trained networks, from norms alone: paid by a union, or at declared radii.

Norms that were read off after training are ``Observed`` and cost nats (`calculus.union`); radii
that training was confined to were fixed beforehand and cost nothing. Either way a relative
`SLACK` is added, far above the rounding of float64 norms and of float32 projections.

>>> from dudley.models.token_network import TokenNetwork
>>> model = TokenNetwork(V=3, T=9, k=4)
>>> radii = {"W_QK": 8.0, "W_v": 1.0, "W_c": 1.0, "W": 1.0}
>>> bound = at_radii(model, {name: ("l11", r) for name, r in radii.items()}, ramp_loss(1.0))
>>> [round(float(bound.gap(0.05, n=n)), 2) for n in (1000, 100_000)]
[1.0, 0.18]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dudley.calculus.nest import name_of
from dudley.calculus.union import Grid
from dudley.core.constraint import Ball, Constraint, Observed
from dudley.core.errors import InputError
from dudley.models.base import Model
from dudley.models.constrain import constrained, norms_for
from dudley.networks.capacity import Capacity, capacity
from dudley.networks.embeddings import Tokens
from dudley.networks.losses import CrossEntropy, Margin

SLACK = 1 + 1e-6
MarginOrEntropy = Margin | CrossEntropy


def ramp_loss(margin: float) -> Margin:
    """The ramp on two or more logits."""
    return Margin(margin, multiclass=True)


def at_norms(
    model: Model,
    row: Mapping[str, Any],
    loss: MarginOrEntropy,
    inputs: Tokens | None = None,
    only: Mapping[str, tuple[str, ...]] | None = None,
) -> Capacity:
    """The class of all networks with the norms that a row of a table states; its gap needs a union.

    ``row`` has ``norms.0.W_QK.op`` and so on, by the names of the model's weights.
    ``only`` names, by the last part of a weight's name, the norms to read off instead of the usual.
    """
    sets = {}
    for path, W in model.named_weights():
        name = name_of(path)
        wanted = (only or {}).get(str(path[-1])) or norms_for(name, W.shape)
        sizes = {norm: Observed(SLACK * row[f"norms.{name}.{norm}"]) for norm in wanted}
        sets[path] = Constraint(tuple(Ball(norm, size) for norm, size in sizes.items()))
    return _bounded(model, sets, loss, inputs)


def at_radii(
    model: Model,
    radii: Mapping[str, tuple[str, float]],
    loss: MarginOrEntropy,
    inputs: Tokens | None = None,
) -> Capacity:
    """The class of all networks in balls fixed beforehand, by the last part of the names."""
    sets = {}
    for path, _ in model.named_weights():
        if path[-1] not in radii:
            raise InputError(f"ball of {name_of(path)}", "a norm and a radius", "none")
        norm, radius = radii[str(path[-1])]
        sets[path] = Constraint((Ball(norm, SLACK * radius),))
    return _bounded(model, sets, loss, inputs)


def _bounded(model: Model, sets, loss: MarginOrEntropy, inputs: Tokens | None) -> Capacity:
    ball = model.inputs if inputs is None else inputs  # pyright: ignore[reportAttributeAccessIssue]
    return capacity(constrained(model.node, sets), ball, loss=loss)  # pyright: ignore


def priced(bound: Capacity, n: int, delta: float, target: float) -> dict[str, float]:
    """The gap at n, and log₁₀ of the n at which it falls to a target; observed norms are paid."""
    return {
        "gap_bound": float(bound.gap(delta, n=n, union=Grid())),
        "log10_needed_n": float(bound.log10_needed_n(target, delta, Grid())),
    }


def asked_for(
    bounds: Mapping[str, Callable[[], Capacity]], delta: float, target: float
) -> dict[str, float]:
    """log₁₀ of the n that other bounds of a network ask for, as ``log10_needed_n, NAME``."""
    return {
        f"log10_needed_n, {name}": float(bound().log10_needed_n(target, delta, Grid()))
        for name, bound in bounds.items()
    }


def reading(norms: Sequence[str]) -> dict[str, tuple[str, ...]] | None:
    """What `at_norms` reads off every weight of a token network: these norms, or the usual ones."""
    if not norms:
        return None
    return dict.fromkeys(("W_QK", "W_Q", "W_K", "W_v", "W_c", "W"), tuple(norms))
