"""From weights to the sets they lie in: the network that the calculus bounds.

The node of a model says nothing about the norms of its weights (``FREE``); :func:`constrained` puts
a set in each place. Norms are those of the weights as they are now, certified from above, and
``Observed``: they were read off after training, so a guarantee must pay for them.

>>> import dudley as du
>>> from dudley.core.backend import torch
>>> from dudley.core.constraint import FREE
>>> net = du.Dense(2, FREE) >> du.Readout(FREE)
>>> W, w = torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.tensor([[1.0], [0.0]])
>>> sets = {(0, "W"): around(W, "W", ("fro",)), (1, "w"): around(w, "w", ("l11",))}
>>> print(constrained(net, sets).nodes[0].W)
fro ≤ 5
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from dudley.calculus.nest import Path, name_of
from dudley.calculus.node import Node, own_entries
from dudley.core.backend import torch
from dudley.core.constraint import Ball, Center, Constraint, Observed, Spectral
from dudley.core.errors import InputError
from dudley.core.norms import norm_named
from dudley.models.rewrite import rewritten
from dudley.weights import certified

# Which norms are read off: each costs some nats, so only those that a node or a cover can use.
MATRIX = ("op", "fro", "l11")
VECTOR = ("fro", "l11", "linf")
EXTRA = {"P": ("row2inf",), "W_E": ("row2inf",), "W": ("col2inf",)}


def norms_for(name: str, shape: Sequence[int]) -> tuple[str, ...]:
    """The norms that are read off a weight of this name and shape, unless others are asked for."""
    return (VECTOR if 1 in shape else MATRIX) + EXTRA.get(name.rpartition(".")[2], ())


def around(
    W: torch.Tensor,
    name: str,
    norms: Sequence[str] | None = None,
    start: torch.Tensor | None = None,
) -> Constraint:
    """The balls in which W lies: around 0, and around ``start`` if there is one.

    ``start`` must not depend on the data (the initial weights); its own norms are then no choice
    that saw data, and only the distances from it are observed.
    """
    wanted = norms_for(name, W.shape) if norms is None else norms
    wanted = tuple(norm_named(norm).name for norm in wanted)
    sizes = _upper(W, name)
    balls = [Ball(norm, Observed(sizes[norm])) for norm in wanted]
    if start is not None:
        if start.shape != W.shape:
            raise InputError(f"start of {name}", f"shape {tuple(W.shape)}", tuple(start.shape))
        center = Center(tuple(_upper(start, f"start of {name}").items()), (W.shape[0], W.shape[1]))
        moved = certified.difference(W.detach().cpu(), start.detach().cpu())
        balls += [Ball(norm, Observed(moved[norm]), center) for norm in wanted]
    return Constraint(tuple(balls))


def _upper(W: torch.Tensor, name: str) -> dict[str, float]:
    """Every norm of W, certified from above."""
    if not bool(torch.isfinite(W).all()):
        raise InputError(f"weights {name}", "finite numbers", "NaN or infinities")
    return certified.norms(W.detach().cpu())


def constrained(node: Node, sets: Mapping[Path, Constraint]) -> Node:
    """The network with these sets for its weights, by their paths."""
    return rewritten(node, lambda path, part: _filled(part, path, sets))


def _filled(node: Node, path: Path, sets: Mapping[Path, Constraint]) -> Node:
    """The node with these sets for its own weights; those of its parts stay as they are."""
    fields: dict[str, Constraint] = {}
    for weight, field in _places(node, path).items():
        around_it = sets[(*path, *weight)]
        fields[field] = _either(fields[field], around_it) if field in fields else around_it
    return dataclasses.replace(node, **fields) if fields else node  # pyright: ignore[reportArgumentType]


def _places(node: Node, path: Path) -> dict[Path, str]:
    """Weight ↦ the field of the node that says where it lives, found by marking each field."""
    assert dataclasses.is_dataclass(node) and isinstance(node, Node)
    fields = [f.name for f in dataclasses.fields(node)]
    marks = {f: Spectral(1.0).tied(f) for f in fields if isinstance(getattr(node, f), Constraint)}
    marked = dataclasses.replace(node, **marks)  # pyright: ignore[reportArgumentType]
    weights = own_entries(marked, marked.parameters(1)[0])
    places = {weight: parameter.constraint.tie for weight, parameter in weights}
    lost = [weight for weight, field in places.items() if field not in marks]
    if lost:
        raise InputError(
            f"weight {name_of((*path, *lost[0]))}",
            "a set of its own in the node",
            f"one derived from others in {type(node).__name__}",
        )
    return places


def _either(first: Constraint, other: Constraint) -> Constraint:
    """A set that holds both: the larger radius of each norm (two gains that share one bound)."""
    pairs = list(zip(first.balls, other.balls, strict=True))
    if any((a.norm, a.center) != (b.norm, b.center) for a, b in pairs):
        raise InputError("weights that share one bound", "the same centres", f"{first} and {other}")
    return Constraint(tuple(a if a.radius >= b.radius else b for a, b in pairs))
