"""Any optimiser, followed by the proximal steps of penalties and the projections onto balls.

    W ← P_K(prox_{rate·λ‖·‖}(W after the optimiser's step))

so that every iterate lies in its set (up to the rounding that :mod:`balls` states), the first one
too: ``start`` projects the weights. A weight has at most one ball, since one projection after
another need not end in both. Centres of balls around the start are kept in the state, as
``centre.NAME``.

>>> from dudley.core.backend import torch
>>> from dudley.train.optimise.base import optimiser_of
>>> projected = optimiser_of({
...     "name": "constrained",
...     "optimiser": {"name": "gd", "lr": 1.0},
...     "balls": [{"norm": "op", "radius": 1.0, "weights": "W_v"}],
... })
>>> weights = {"W_v": torch.eye(2)[None].clone()}
>>> state = projected.start(weights)
>>> grads = {"W_v": torch.tensor([[[-4.0, 0.0], [0.0, 0.5]]])}
>>> projected.update(weights, grads, state, torch.ones(1), torch.tensor([True]), {})
>>> weights["W_v"].tolist()
[[[1.0, 0.0], [0.0, 0.5]]]
>>> projected.capturable  # singular values wait for the device
False
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.train.optimise.balls import WeightBall, ball_of, choose_names
from dudley.train.optimise.base import OPTIMISERS, Optimiser, ReadTensors, per_trial
from dudley.train.optimise.catalogue import read_by
from dudley.train.optimise.magnitudes import structure
from dudley.train.optimise.penalties import Penalty, penalty_of


@OPTIMISERS.register("constrained")
@dataclass(frozen=True)
class Constrained(Optimiser):
    """An optimiser whose weights stay in balls and feel penalties."""

    optimiser: Optimiser = field(metadata=read_by(OPTIMISERS.of))  # what moves the weights
    # norm balls that weights are projected to
    balls: tuple[WeightBall, ...] = field(default=(), metadata=read_by(ball_of))
    # norms that are added to the loss
    penalties: tuple[Penalty, ...] = field(default=(), metadata=read_by(penalty_of))

    @property
    def first_rate(self) -> float:
        return self.optimiser.first_rate

    @property
    def entrywise(self) -> bool:
        return False

    @property
    def capturable(self) -> bool:
        acting = [unit.norm for unit in (*self.balls, *self.penalties)]
        return self.optimiser.capturable and all(
            structure(norm).kind != "singular" for norm in acting
        )

    def start(self, weights: ReadTensors) -> dict[str, torch.Tensor]:
        taken: dict[str, WeightBall] = {}
        centres = {}
        for ball in self.balls:
            for name in choose_names(ball.weights, weights):
                if name in taken:
                    raise InputError(f"balls for {name}", "one", f"{taken[name]} and {ball}")
                taken[name] = ball
                if ball.around == "start":
                    centres[f"centre.{name}"] = weights[name].detach().clone()
        for penalty in self.penalties:
            choose_names(penalty.weights, weights)
        self._project(weights, centres, None)
        return self.optimiser.start(weights) | centres

    def update(self, weights, grads, state, rate, alive, decayed):
        self.optimiser.update(weights, grads, state, rate, alive, decayed)
        for penalty in self.penalties:
            for name in choose_names(penalty.weights, weights):
                _put(weights[name], penalty.proximal(weights[name], rate), alive)
        self._project(weights, state, alive)

    def _project(
        self, weights: ReadTensors, state: ReadTensors, alive: torch.Tensor | None
    ) -> None:
        for ball in self.balls:
            for name in choose_names(ball.weights, weights):
                nearest = ball.project(weights[name], state.get(f"centre.{name}"))
                _put(weights[name], nearest, alive)


@torch.no_grad()
def _put(W: torch.Tensor, new: torch.Tensor, alive: torch.Tensor | None) -> None:
    """Take over what is new where the trial is alive."""
    W.copy_(new if alive is None else torch.where(per_trial(alive, W), new, W))
