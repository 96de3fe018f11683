"""What every ensemble owes its twin: outputs, gradients, trajectories, and no neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from dudley.core.philox import key, keys_tensor
from dudley.train.ensemble.base import Ensemble
from dudley.train.ensemble.rows import Shared

E = 5


@dataclass(frozen=True)
class Case:
    """How to build an ensemble for some keys, its inputs, and what its twin takes for them."""

    build: Callable[[torch.Tensor], Ensemble]
    inputs: Callable[[int, int, torch.Generator], torch.Tensor]  # (E, N) ↦ (E, N, …)
    alone: Callable[[Any, torch.Tensor], torch.Tensor]  # a twin on one member's inputs ↦ (N, C)
    rate: float = 0.1


def trials(count: int = E) -> torch.Tensor:
    return keys_tensor([key("twins", trial) for trial in range(count)])


def started(case: Case, count: int = E, N: int = 7):
    """An ensemble with weights in float64 (biases too are not zero), inputs and targets."""
    source = torch.Generator().manual_seed(3)
    ensemble = case.build(trials(count))
    first = ensemble.start(trials(count)).items()
    weights = {
        name: W.double() + 0.2 * torch.randn(W.shape, generator=source) / W.shape[1] ** 0.5
        for name, W in first
    }
    X = case.inputs(count, N, source)
    outputs = ensemble.forward(weights, X)
    return ensemble, weights, X, torch.randn(outputs.shape, generator=source, dtype=torch.float64)


def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Half the mean square of a member's errors, (E,) or ()."""
    return 0.5 * (outputs - targets).square().mean((-1, -2))


def gradients(ensemble, weights, X, targets) -> dict[str, torch.Tensor]:
    leaves = {name: W.detach().requires_grad_() for name, W in weights.items()}
    total = loss(ensemble.forward(leaves, X), targets).sum()
    pulls = torch.autograd.grad(total, list(leaves.values()), materialize_grads=True)
    return dict(zip(leaves, pulls, strict=True))


def check_outputs(case: Case, tolerance: float = 1e-10) -> None:
    ensemble, weights, X, _ = started(case)
    for outputs in (ensemble.forward(weights, X), ensemble.evaluate(weights, X)):
        for e in range(E):
            expected = case.alone(ensemble.member(weights, e), X[e])
            assert outputs[e].shape == expected.shape
            torch.testing.assert_close(outputs[e], expected, rtol=tolerance, atol=tolerance)


def check_gradients(case: Case, tolerance: float = 1e-10) -> None:
    ensemble, weights, X, targets = started(case)
    pulls = gradients(ensemble, weights, X, targets)
    for e in range(E):
        model = ensemble.member(weights, e)
        loss(case.alone(model, X[e]), targets[e]).backward()
        assert dict(model.named_parameters()).keys() == pulls.keys()
        for name, W in model.named_parameters():
            torch.testing.assert_close(pulls[name][e], W.grad, rtol=tolerance, atol=tolerance)


def check_trajectory(case: Case, steps: int = 10, momentum: float = 0.9) -> None:
    """Members trained side by side and alone take the same way, which leads somewhere."""
    ensemble, weights, X, targets = started(case)
    first = {name: W.clone() for name, W in weights.items()}
    models = [ensemble.member(weights, e) for e in range(E)]
    speed = {name: torch.zeros_like(W) for name, W in weights.items()}
    for _ in range(steps):
        pulls = gradients(ensemble, weights, X, targets)
        for name, W in weights.items():
            speed[name] = momentum * speed[name] + pulls[name]
            W -= case.rate * speed[name]
    for e, model in enumerate(models):
        torch_sgd = torch.optim.SGD(model.parameters(), lr=case.rate, momentum=momentum)
        for _ in range(steps):
            torch_sgd.zero_grad()
            loss(case.alone(model, X[e]), targets[e]).backward()
            torch_sgd.step()
        way = sum(float((weights[name][e] - W[e]).norm()) for name, W in first.items())
        assert way > 0.1
        for name, W in model.named_parameters():
            torch.testing.assert_close(weights[name][e], W.detach(), rtol=1e-8, atol=1e-8)


def check_alone(case: Case) -> None:
    """A member does not know its neighbours: it is the same in a pack of one."""
    ensemble, weights, X, targets = started(case)
    together = ensemble.forward(weights, X)
    pulls = gradients(ensemble, weights, X, targets)
    first = ensemble.start(trials())
    for e in range(E):
        pack = case.build(trials()[e : e + 1])
        member = {name: W[e : e + 1] for name, W in weights.items()}
        for outputs in (pack.forward(member, X[e : e + 1]), pack.evaluate(member, X[e : e + 1])):
            torch.testing.assert_close(outputs[0], together[e], rtol=1e-10, atol=1e-10)
        for name, G in gradients(pack, member, X[e : e + 1], targets[e : e + 1]).items():
            torch.testing.assert_close(G[0], pulls[name][e], rtol=1e-10, atol=1e-10)
        for name, W in pack.start(trials()[e : e + 1]).items():
            assert W[0].equal(first[name][e])


def check_shared(case: Case) -> None:
    """A batch for all, and batches of cells, are the same as copies for each member."""
    ensemble, weights, X, _ = started(case)
    same = ensemble.evaluate(weights, X[:1].expand_as(X).contiguous())
    torch.testing.assert_close(ensemble.evaluate(weights, X[0]), same, rtol=1e-12, atol=1e-12)
    cell = torch.tensor([1, 0, 2, 1, 1])
    members = tuple((cell == c).nonzero()[:, 0] for c in range(3))
    copies = ensemble.evaluate(weights, X[cell])
    of_cells = ensemble.evaluate(weights, Shared(X[:3], members))
    torch.testing.assert_close(of_cells, copies, rtol=1e-12, atol=1e-12)


CHECKS = {
    check.__name__.removeprefix("check_"): check
    for check in (check_outputs, check_gradients, check_trajectory, check_alone, check_shared)
}
