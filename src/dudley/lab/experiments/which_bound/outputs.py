"""Measures that look at the training examples: margins, sharpness, flatness, certificates' terms.

Larger always means that a larger gap is expected. Margins are own logit less the largest other.

| measure | formula |
|---|---|
| training loss | what training ended with |
| margin | −γ, γ the tenth percentile of the margins |
| normalised margin | Σ log‖W‖ − log γ |
| sharpness | growth of the training loss by ascent steps to distance ρ‖W‖ |
| flatness, relative flatness | −log σ: noise N(0, σ²), or N(0, σ²w²), grows the ramp by `RISE` |
| PAC-Bayes | √((‖W − W⁰‖²/2σ² + log(2√m/δ))/2m): prior N(W⁰, σ²) |
| Occam | √((bP log 2 + log(1/δ))/2m): b bits a weight, so that rounding grows the ramp by `RISE` |

σ is the largest of a grid 2^{−j/2}. Random numbers are counters of the trial's key.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dudley.core.backend import torch
from dudley.core.philox import Stream, normal, uniform
from dudley.lab.experiments.which_bound.weights import MemberNumbers, matrices
from dudley.lab.shared.beyond_trained import ramp
from dudley.train.ensemble.base import WeightTensors
from dudley.train.losses import loss_of
from dudley.train.problem import Examples, Problem

RISE = 0.1  # of the mean ramp loss
DISTANCE, ASCENTS = 0.05, 3  # of the worst weights, as a share of ‖W‖; steps towards them
SIGMAS = [2.0 ** (-j / 2) for j in range(-2, 17)]
BITS = range(1, 13)
DELTA = 0.05


def single(outputs: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (E, N, C) and labels (E, N): of masked tokens those of the first masked place."""
    if labels.ndim == 2:
        return outputs, labels
    place = (labels >= 0).int().argmax(-1, keepdim=True)  # (E, N, 1)
    there = place[..., None].expand(*place.shape, outputs.shape[-1])
    return outputs.gather(2, there)[:, :, 0], labels.gather(2, place)[..., 0]


def outcomes(problem: Problem, weights: WeightTensors, split: str) -> MemberNumbers:
    """Mean ramp and error of a split, and margins (E, N), NaN where there is no example."""
    data = problem.split(split)
    outputs, labels = single(problem.ensemble.evaluate(weights, data.inputs), data.labels)
    others = outputs.scatter(-1, labels[..., None], -math.inf).amax(-1)
    margins = (outputs.gather(-1, labels[..., None])[..., 0] - others).double()
    there = data.weights
    return {
        "ramp": (ramp(outputs, labels).double() * there).sum(1),
        "error": ((margins <= 0) * there).sum(1).double(),
        "margins": torch.where(there > 0, margins, math.nan),
    }


def of_outputs(
    problem: Problem, weights: WeightTensors, first: WeightTensors, m: torch.Tensor, noises: int
) -> MemberNumbers:
    """All of them, (E,) each."""
    base = outcomes(problem, weights, "train")
    γ = base["margins"].nanquantile(0.1, 1)
    here = matrices({name: W.cpu() for name, W in weights.items()})  # many small matrices
    size = torch.stack([torch.linalg.matrix_norm(W, 2) for W in here.values()]).to(γ.device)
    moved = sum((W - first[n]).double().flatten(1).square().sum(1) for n, W in weights.items())
    count = sum(W[0].numel() for W in weights.values())

    def grown(changed: WeightTensors) -> torch.Tensor:
        return outcomes(problem, changed, "train")["ramp"] - base["ramp"]

    σ, relative = (flat_to(problem, weights, grown, noises, scaled) for scaled in (False, True))
    bits = rounded_to(weights, grown)
    PB = (moved / (2 * σ**2) + (2 * m.sqrt() / DELTA).log()) / (2 * m)
    code = (bits * count * math.log(2) + math.log(1 / DELTA)) / (2 * m)
    return {
        "margin": -γ,
        "normalised margin": size.clamp(min=1e-12).log().sum(0) - γ.clamp(min=1e-12).log(),
        "sharpness": sharpness(problem, weights),
        "flatness": -σ.log(),
        "relative flatness": -relative.log(),
        "PAC-Bayes": PB.sqrt(),
        "Occam": code.sqrt(),
        "random": uniform(problem.keys, Stream.MONTE_CARLO, 0, 1)[:, 0].double(),
    }


@torch.no_grad()
def flat_to(problem: Problem, weights, grown: Callable, noises: int, scaled: bool) -> torch.Tensor:
    """The largest σ of the grid at which, on the mean over ``noises`` draws, the ramp grows little.

    The smallest σ of the grid where none does.
    """
    best = torch.full((len(problem),), SIGMAS[-1], dtype=torch.float64, device=problem.device)
    alive = torch.ones_like(best, dtype=torch.bool)
    draws = [noise_of(problem, weights, draw) for draw in range(noises)]
    for σ in reversed(SIGMAS):
        growth = sum(
            grown({n: W + σ * (W.abs() if scaled else 1) * Z[n] for n, W in weights.items()})
            for Z in draws
        )
        alive &= growth / noises <= RISE
        best = torch.where(alive, σ, best)
        if not bool(alive.any()):
            break
    return best


def noise_of(problem: Problem, weights: WeightTensors, draw: int) -> dict[str, torch.Tensor]:
    """Standard normal numbers of the shapes of the weights, by the trials' keys."""
    numbers = {}
    for index, (name, W) in enumerate(weights.items()):
        step = 1 + draw * len(weights) + index
        Z = normal(problem.keys, Stream.MONTE_CARLO, step, W[0].numel())
        numbers[name] = Z.to(W).reshape(W.shape)
    return numbers


@torch.no_grad()
def rounded_to(weights: WeightTensors, grown: Callable) -> torch.Tensor:
    """The fewest bits a weight, rounded to 2^b steps of its matrix' range, that change little."""
    some = next(iter(weights.values()))
    bits = torch.full((len(some),), float(BITS[-1]), dtype=torch.float64, device=some.device)
    for b in reversed(BITS):
        rounded = {}
        for name, W in weights.items():
            step = W.abs().amax((1, 2), keepdim=True).clamp(min=1e-12) * 2 / (2**b)
            rounded[name] = (W / step).round() * step
        bits = torch.where((grown(rounded) <= RISE) & (bits <= b + 1), float(b), bits)
    return bits


def sharpness(problem: Problem, weights: WeightTensors) -> torch.Tensor:
    """How much the training loss grows at the end of a few ascent steps, (E,)."""
    radius = DISTANCE * norm_of(weights)
    moved = {name: W.detach().clone() for name, W in weights.items()}
    before, _ = losses(problem, moved)
    for _ in range(ASCENTS):
        _, gradients = losses(problem, moved)
        length = norm_of(gradients).clamp(min=1e-12)
        for name, G in gradients.items():
            moved[name] = moved[name] + G * (radius / ASCENTS / length)[:, None, None].to(G)
    return losses(problem, moved)[0] - before


def losses(problem: Problem, weights: WeightTensors) -> tuple[torch.Tensor, dict]:
    """The training loss of every member, and its gradient."""
    data: Examples = problem.sample
    leaves = {name: W.detach().requires_grad_() for name, W in weights.items()}
    outputs = problem.ensemble.forward(leaves, data.inputs)
    mean = (loss_of(problem.training.loss)(outputs, data.labels) * data.weights).sum(1)
    pulls = torch.autograd.grad(mean.sum(), list(leaves.values()), materialize_grads=True)
    return mean.detach().double(), dict(zip(leaves, pulls, strict=True))


def norm_of(tensors: WeightTensors) -> torch.Tensor:
    """The length of all tensors of a member together, (E,)."""
    squares = [W.detach().double().flatten(1).square().sum(1) for W in tensors.values()]
    return torch.stack(squares).sum(0).sqrt()
