"""Walks of Adam by kernels and by torch's operations, case by case; `attention_cases` has Triton's
interpreter answer them with the rest."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

import torch

from dudley.train.flat import as_rows, flatten, groups
from dudley.train.optimise import choose
from dudley.train.optimise.adam import Adam, AdamW
from dudley.train.optimise.base import Optimiser
from dudley.train.optimise.clip import Clipped
from dudley.train.period import Period
from dudley.train.problem import Problem
from dudley.train.state import State

E, STEPS, STOPS = 3, 3, 2  # trial 1 is finished after two steps
SHAPES = {"W_Q": (40, 30), "gain": (1, 8), "b_K": (1, 4), "W": (8, 2)}  # W_Q is in two blocks
ODD = {"W_Q": (7, 5), "gain": (1, 3), "b_K": (1, 2), "W": (3, 2)}
DECAYED = {"W_Q": True, "gain": False, "b_K": True, "W": True}


@dataclass(frozen=True)
class Case:
    """An optimiser, the shapes of the weights, which decay; does trial 1 stop?"""

    optimiser: Optimiser
    shapes: dict[str, tuple[int, int]]
    decayed: dict[str, bool]
    stops: bool = True


NONE_DECAY, ALL_DECAY = dict.fromkeys(SHAPES, False), dict.fromkeys(SHAPES, True)
CASES = {
    "clipped adamw": Case(Clipped(AdamW(weight_decay=0.3), 1.0), SHAPES, DECAYED),
    "nothing stops": Case(Clipped(AdamW(weight_decay=0.3), 1.0), SHAPES, DECAYED, stops=False),
    "adamw": Case(AdamW(betas=(0.0, 0.99), weight_decay=0.3), ODD, ALL_DECAY),
    "clipped adam": Case(Clipped(Adam(weight_decay=0.3, eps=0.1), 1.0), ODD, DECAYED),
    "adam": Case(Adam(betas=(0.5, 0.0)), SHAPES, NONE_DECAY),
}
SIZES = (1e-3, 1.0, 1e3)  # of the trials' gradients: some are above the limit, some below


def drawn(shapes: dict[str, tuple[int, int]], seed: int) -> dict[str, torch.Tensor]:
    source = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(E, *shape, generator=source, dtype=torch.float64)
        for name, shape in shapes.items()
    }


def walked(
    case: Case, device: str = "cpu", dtype=torch.float64, kernels: bool = False, steps: int = STEPS
):
    """Weights and the optimiser's state after some steps; b_K never has a gradient."""
    flats, weights = flatten(
        {name: W.to(device, dtype) for name, W in drawn(case.shapes, 0).items()}, case.decayed
    )
    state = case.optimiser.start(flats)
    with taking_kernels(kernels):
        update = choose.kernels_for(case.optimiser, weights, case.decayed)
    for step in range(steps):
        alive = torch.tensor([True, step < STOPS, True], device=device) if case.stops else None
        grads = drawn(case.shapes, 1 + step)
        grads = {n: G * torch.tensor(SIZES)[:, None, None] for n, G in grads.items()}
        grads["b_K"].zero_()
        if case.stops and step >= STOPS:
            grads["W"][1] = torch.nan  # what a finished trial does not see
        grads = {name: G.to(device, dtype) for name, G in grads.items()}
        rate = 0.1 / (1 + torch.arange(E, device=device, dtype=torch.float64))
        if update is None:
            by_kind = groups(grads, case.decayed).items()
            rows = {kind: as_rows({n: grads[n] for n in names}) for kind, names in by_kind}
            decays = {"decayed": True, "other": False}
            case.optimiser.update(flats, rows, state, rate, alive, decays)
        else:
            apart = [None if n == "b_K" else G.mT.contiguous().mT for n, G in grads.items()]
            update.update(flats, apart, state, rate, alive)
    return {name: x.double().cpu() for name, x in (flats | state).items()}


def trained(device: str = "cpu", kernels: bool = False) -> dict[str, torch.Tensor]:
    """The state of three small AND classifiers after two steps; trial 1 stops after the first."""
    clipped = {"name": "clipped", "limit": 0.1, "optimiser": {"name": "adamw", "lr": 0.01}}
    config = {
        "task": {"name": "and", "T": 6, "s": 2, "m": 5, "holdout": 20},
        "model": {"name": "and-classifier", "d": 4, "H": 2, "dropout": [0.0, 0.0, 0.0]},
        "training": {
            "optimiser": clipped, "steps": 2, "evaluate_every": 1, "precision": "ieee",
            "stop": {"metric": "train_loss", "at_most": 0.6464},
        },
        "seed": 0,
    }  # fmt: skip
    problem = Problem([config | {"trial": trial} for trial in range(E)], device)
    state = State.start(problem)
    with taking_kernels(kernels):
        period = Period(problem, state)
    assert (period.kernels is not None) == kernels
    for _ in range(2):
        period(1)
    return {name: x.detach().double().cpu() for name, x in state.tensors()}


@contextmanager
def taking_kernels(taken: bool = True):
    """Kernels move what is in rows, also where they are only interpreted; or nothing."""
    fits, choose.fits = choose.fits, lambda weights: taken
    yield
    choose.fits = fits


def of_kernels(device: str) -> dict:
    """All that the kernels answer."""
    walks = {
        ("adam", name): walked(case, device, torch.float32, kernels=True)
        for name, case in CASES.items()
    }
    case = CASES["clipped adamw"]
    until = walked(case, device, torch.float32, kernels=True, steps=STOPS)
    return walks | {
        ("adam", "until trial 1 stops"): until,
        ("adam", "trained"): trained(device, kernels=True),
        ("adam", "trained by formula"): trained(device),
    }
