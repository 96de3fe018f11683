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

from dudley.calculus.compose import Chain, Node, Parallel, Residual
from dudley.calculus.nest import Path, name_of
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
    found = _upper(W, name)
    balls = [Ball(norm, Observed(found[norm])) for norm in wanted]
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

    def change(path: Path, part: Node) -> Node:
        return part if isinstance(part, Chain | Parallel | Residual) else _filled(part, path, sets)

    return rewritten(node, change)


def _filled(leaf: Node, path: Path, sets: Mapping[Path, Constraint]) -> Node:
    fields = {}
    for name, field in _places(leaf, path).items():
        own = sets[(*path, name)]
        fields[field] = _either(fields[field], own) if field in fields else own
    return dataclasses.replace(leaf, **fields) if fields else leaf  # pyright: ignore[reportArgumentType]


def _places(leaf: Node, path: Path) -> dict[str, str]:
    """Weight ↦ the field of the node that says where it lives, found by marking each field."""
    assert dataclasses.is_dataclass(leaf) and isinstance(leaf, Node)
    fields = [f.name for f in dataclasses.fields(leaf)]
    held = [f for f in fields if isinstance(getattr(leaf, f), Constraint)]
    marks = {f: Spectral(1.0).tied(f) for f in held}
    marked = dataclasses.replace(leaf, **marks)  # pyright: ignore[reportArgumentType]
    own, _ = marked.parameters(1)
    places = {name: parameter.constraint.tie for name, parameter in own.items()}
    lost = [name for name, field in places.items() if field not in held]
    if lost:
        raise InputError(
            f"weight {name_of((*path, lost[0]))}",
            "a set of its own in the node",
            f"one derived from others in {type(leaf).__name__}",
        )
    return places


def _either(one: Constraint, other: Constraint) -> Constraint:
    """A set that holds both: the larger radius of each norm (two gains that share one bound)."""
    pairs = list(zip(one.balls, other.balls, strict=True))
    if any((a.norm, a.center) != (b.norm, b.center) for a, b in pairs):
        raise InputError("weights that share one bound", "the same centres", f"{one} and {other}")
    return Constraint(tuple(a if a.radius >= b.radius else b for a, b in pairs))
