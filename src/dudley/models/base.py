"""A model: a network of the calculus with weights of its own, as a torch module.

``model.node`` is the architecture, the very node that the theory bounds; ``model(X)`` is its
``apply`` on the module's parameters, whose names are the paths in its nest (``weights.0.W_v``).
``model.description(inputs)`` is that node with the norms of the weights as they are now, so that
``du.capacity`` applies to a live model; ``model.observe(X)`` measures activations on data, which
are diagnostics and support no guarantee.

A weight is a matrix acting on token rows from the right, X W; a bias is a row (1, k), a gain a
column (d, 1). Weights are float32 unless ``model.double()`` is called. The description is of the
map in real numbers, for exactly the stored weights; what a forward pass loses to rounding is no
part of it, and neither is dropout, which acts in training mode only, where a paper has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dudley.calculus.nest import Path, entries, name_of
from dudley.calculus.node import Node
from dudley.core.backend import torch
from dudley.core.constraint import Constraint
from dudley.core.errors import InputError
from dudley.models.constrain import around, constrained
from dudley.models.initial import Law, generator
from dudley.models.observe import Observation, observe
from dudley.networks.embeddings import Tokens

nn = torch.nn


class Model(nn.Module, ABC):
    """Abstract: a node, its weights, and the laws of their first values (:meth:`law`)."""

    def __init__(
        self,
        node: Node,
        width: int,
        seed: int | torch.Generator = 0,
        noisy: Node | None = None,
    ):
        super().__init__()
        self.node = node
        self.noisy = node if noisy is None else noisy  # what training runs: with dropout
        self.width = width
        self.weights = _module(self.shapes())
        self.reset_parameters(seed)

    @abstractmethod
    def law(self, name: str, shape: tuple[int, int]) -> Law:
        """How a paper draws a weight at first, by its name and shape."""

    def shapes(self) -> Any:
        """The nest of ``Parameter`` that ``apply`` expects arrays for."""
        return self.node.parameters(self.width)[0]

    def reset_parameters(self, seed: int | torch.Generator = 0) -> None:
        """Draw every weight anew, in the order of the nest."""
        source = generator(seed)
        with torch.no_grad():
            for path, W in self.named_weights():
                shape = (W.shape[0], W.shape[1])
                W.copy_(self.law(str(path[-1]), shape).draw(shape, source))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """The node on token rows X of shape (…, T, d): one row, or all, for each example."""
        node = self.noisy if self.training else self.node
        return node.apply(_arrays(self.weights), X)

    def named_weights(self) -> Iterator[tuple[Path, torch.Tensor]]:
        """Every weight with its path in the nest."""
        yield from entries(_arrays(self.weights))

    def description(
        self,
        inputs: Tokens,
        norms: Sequence[str] | None = None,
        start: Mapping[str, torch.Tensor] | None = None,
    ) -> Node:
        """The network as the calculus sees it now: ``du.capacity(model.description(x), x, n=…)``.

        Each weight lies in balls whose radii are its own norms, certified from above and
        ``Observed``: a gap asks for ``union=Grid()``. ``norms`` names the norms to read off instead
        of the usual ones; with ``start``, the state dict of the initial weights (drawn without the
        data), distances from it are read off as well.
        """
        sets = {}
        for path, W in self.named_weights():
            name = name_of(path)
            first = None if start is None else _first(start, f"weights.{name}")
            sets[path] = around(W, name, norms, first)
        node = self.described(sets, inputs)
        node.facts(inputs.signal(self.width))  # what does not fit is refused here
        return node

    def described(self, sets: Mapping[Path, Constraint], inputs: Tokens) -> Node:
        """The node whose weights lie in these sets."""
        return constrained(self.node, sets)

    def observe(self, X: torch.Tensor) -> Observation:
        """Row norms after every part and attention entropies, measured on data: diagnostics."""
        return observe(self.node, _arrays(self.weights), X)


def _first(start: Mapping[str, torch.Tensor], name: str) -> torch.Tensor:
    if name not in start:
        raise InputError("start", f"a state dict with {name}", "one without it")
    return start[name]


def _module(nest: Any) -> nn.Module:
    """A nest of parameters as modules: lists of modules, and modules with weights."""
    if not isinstance(nest, dict):
        return nn.ModuleList([_module(part) for part in nest])
    module = nn.Module()
    for name, parameter in nest.items():
        W = torch.zeros(parameter.shape)
        if parameter.trained:
            module.register_parameter(name, nn.Parameter(W))
        else:
            module.register_buffer(name, W)
    return module


def _arrays(module: nn.Module) -> Any:
    """The nest of tensors that such modules hold."""
    if isinstance(module, nn.ModuleList):
        return [_arrays(part) for part in module]
    return {**dict(module.named_parameters(recurse=False)), **dict(module.named_buffers())}
