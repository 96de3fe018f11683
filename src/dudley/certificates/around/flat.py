"""The weights that move as one vector, and a loss of the module at it.

Training around a start touches one leaf, not hundreds: θ is a float32 vector on the module's
device, cut into the parameters by one ``split``, and the module is called with them in place of its
own. Its other parameters and its buffers stay at the start, and it stays in evaluation mode.

Examples are moved to the device once, and drawn there.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.certificates.around.start import ModuleStart
from dudley.certificates.learners.module_predictor import logits
from dudley.core.backend import torch


@dataclass(frozen=True, eq=False)
class FlatAround:
    """A start, the names that move, and examples."""

    start: ModuleStart
    names: tuple[str, ...]
    X: np.ndarray
    y: np.ndarray

    @property
    def device(self) -> str:
        return self.start.predictor.device

    @property
    def n(self) -> int:
        return len(self.y)

    @cached_property
    def module(self) -> torch.nn.Module:
        """A copy of the start of which nothing asks for gradients."""
        return copy.deepcopy(self.start.predictor.module).requires_grad_(False)

    @cached_property
    def shapes(self) -> list[torch.Size]:
        return [self.start.parameters[name].shape for name in self.names]

    @cached_property
    def sizes(self) -> list[int]:
        return [shape.numel() for shape in self.shapes]

    @cached_property
    def inputs(self) -> torch.Tensor:
        return torch.from_numpy(np.array(self.X)).to(self.device)

    @cached_property
    def labels(self) -> torch.Tensor:
        return torch.from_numpy(self.y.astype(np.int64)).to(self.device)

    @cached_property
    def origin(self) -> torch.Tensor:
        """θ₀ of what moves, in float32."""
        parts = [self.start.parameters[name].reshape(-1).float() for name in self.names]
        return torch.cat(parts)

    def vector(self, arrays: Mapping[str, np.ndarray]) -> torch.Tensor:
        """Arrays by name as one vector, in float64."""
        parts = [torch.from_numpy(np.array(arrays[name])).reshape(-1) for name in self.names]
        return torch.cat([part.double() for part in parts]).to(self.device)

    def spread(self, values: Mapping[str, float]) -> torch.Tensor:
        """One number a tensor, for each of its entries, in float64."""
        numbers = torch.tensor([values[name] for name in self.names], dtype=torch.float64)
        sizes = torch.tensor(self.sizes, device=self.device)
        return numbers.to(self.device).repeat_interleave(sizes, output_size=sum(self.sizes))

    def arrays(self, θ: torch.Tensor) -> dict[str, np.ndarray]:
        """The arrays of a vector, rounded to the types of the parameters."""
        return {name: W.detach().cpu().numpy() for name, W in self.tensors(θ).items()}

    def tensors(self, θ: torch.Tensor) -> dict[str, torch.Tensor]:
        """The parameters of a vector."""
        parts = θ.split(self.sizes)
        cut = zip(self.names, parts, self.shapes, strict=True)
        return {
            name: part.view(shape).to(self.start.parameters[name].dtype)
            for name, part, shape in cut
        }

    def outputs(self, θ: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """(rows, outputs) at θ."""
        made = torch.func.functional_call(self.module, self.tensors(θ), (self.inputs[rows],))
        return logits(made, len(rows))

    def loss(self, θ: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy at θ."""
        f, y = self.outputs(θ, rows), self.labels[rows]
        if f.shape[1] == 1:
            return torch.nn.functional.softplus(-f[:, 0] * (2 * y - 1)).mean()
        return torch.nn.functional.cross_entropy(f, y)

    def draw(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Rows for a step; the generator lives on the processor, so that all devices draw alike."""
        rows = torch.randint(self.n, (min(count, self.n),), generator=generator)
        return rows.to(self.device)

    def margins(self, θ: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The margins of some rows at θ, in float64."""
        with torch.no_grad():
            parts = self.tensors(θ)
            made = [
                margin_of(
                    logits(
                        torch.func.functional_call(self.module, parts, (self.inputs[some],)),
                        len(some),
                    ).double(),
                    self.labels[some],
                )
                for some in rows.split(self.start.predictor.batch)
            ]
        return torch.cat(made)

    def failing(self, θ: torch.Tensor, rows: torch.Tensor, tolerance: float) -> int:
        """How many of some rows have a margin of at most the tolerance."""
        return failing(self.margins(θ, rows), tolerance)


def failing(margins: torch.Tensor, tolerance: float) -> int:
    """How many margins are not above the tolerance; a NaN is above none."""
    return len(margins) - int((margins > tolerance).sum())


def margin_of(f: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """As `certificates.predictor.margins`; a NaN stays one, and is above no tolerance."""
    if f.shape[1] == 1:
        return f[:, 0] * (2 * y - 1)
    mine = f.gather(1, y[:, None])
    return (mine - f.scatter(1, y[:, None], -torch.inf).amax(1, keepdim=True))[:, 0]
