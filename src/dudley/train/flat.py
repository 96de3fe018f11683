"""All weights of a member in a row: many small tensors become one or two large ones.

An optimiser that treats all entries alike then makes a few passes instead of a few for each
weight. Weights that decay and weights that do not are kept apart.

>>> weights = {"W": torch.ones(2, 3, 1), "b": torch.zeros(2, 1, 4), "V": torch.ones(2, 1, 2)}
>>> flats, views = flatten(weights, {"W": True, "b": False, "V": True})
>>> {name: tuple(row.shape) for name, row in flats.items()}
{'decayed': (2, 5), 'other': (2, 4)}
>>> flats["decayed"].mul_(3.0)[0]
tensor([3., 3., 3., 3., 3.])
>>> float(views["V"].sum())
12.0
"""

from __future__ import annotations

from collections.abc import Mapping

from dudley.core.backend import torch

Tensors = dict[str, torch.Tensor]
DECAYED, OTHER = "decayed", "other"
DECAYS = {DECAYED: True, OTHER: False}


def flatten(
    weights: Mapping[str, torch.Tensor], decayed: Mapping[str, bool]
) -> tuple[Tensors, Tensors]:
    """Rows (E, N) of the weights that decay and of the others, and the weights as views of them."""
    flats = {
        kind: as_rows({name: weights[name].detach() for name in names})
        for kind, names in groups(weights, decayed).items()
    }
    return flats, views(flats, weights, decayed)


def views(
    flats: Mapping[str, torch.Tensor],
    like: Mapping[str, torch.Tensor],
    decayed: Mapping[str, bool],
) -> Tensors:
    """Weights with the names and shapes of others, as views of such rows."""
    parts = {}
    for kind, names in groups(like, decayed).items():
        sizes = [like[name][0].numel() for name in names]
        for name, part in zip(names, flats[kind].split(sizes, 1), strict=True):
            parts[name] = part.unflatten(1, like[name].shape[1:])
    return {name: parts[name] for name in like}


def as_rows(tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Tensors (E, …) side by side, (E, N)."""
    return torch.cat([tensor.flatten(1) for tensor in tensors.values()], 1)


def groups(weights: Mapping[str, torch.Tensor], decayed: Mapping[str, bool]) -> dict[str, list]:
    """The names of the weights that decay and of the others, in order; no empty group."""
    both = {kind: [n for n in weights if decayed[n] == decays] for kind, decays in DECAYS.items()}
    return {kind: names for kind, names in both.items() if names}
