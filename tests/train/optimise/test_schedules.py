"""Schedules give the rates of torch's schedulers, and of Keras' rule with a floor."""

from __future__ import annotations

import pytest

from dudley.core.backend import torch
from dudley.train.optimise.schedules import Constant, Cosine, Exponential, Warmup

STEPS = 40


def theirs(make) -> list[float]:
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    scheduler, rates = make(optimiser), []
    for _ in range(STEPS):
        rates.append(scheduler.get_last_lr()[0])
        optimiser.step()
        scheduler.step()
    return rates


def warm_cosine(optimiser):
    s = torch.optim.lr_scheduler
    parts = [s.LinearLR(optimiser, 1 / 8, 1.0, 7), s.CosineAnnealingLR(optimiser, 32, eta_min=0.05)]
    return s.SequentialLR(optimiser, parts, [8])


CASES = {
    "constant": (Constant(), lambda o: torch.optim.lr_scheduler.ConstantLR(o, 1.0)),
    "exponential": (
        Exponential(0.9),
        lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
    ),
    "stairs": (Exponential(0.9, every=7), lambda o: torch.optim.lr_scheduler.StepLR(o, 7, 0.9)),
    "cosine": (
        Cosine(STEPS, floor=0.05),
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, STEPS, eta_min=0.05),
    ),
    "warm cosine": (Warmup(8, Cosine(32, floor=0.05)), warm_cosine),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:The epoch parameter")
def test_as_torch(case):
    ours, make = CASES[case]
    rates = ours.rate(torch.arange(STEPS), 0.3)
    assert rates.dtype == torch.float64
    torch.testing.assert_close(rates, torch.tensor(theirs(make), dtype=torch.float64))


def test_a_floor_holds_and_never_lifts():
    steps = torch.tensor([0, 2000, 10**6])
    rates = Exponential(0.999, floor=0.001).rate(steps, 0.01)
    torch.testing.assert_close(rates, torch.tensor([0.01, 0.01 * 0.999**2000, 0.001]).double())
    for schedule in (Exponential(0.999, floor=0.001), Cosine(10, floor=0.001)):
        assert schedule.rate(steps, 5e-4).tolist() == [5e-4] * 3
    assert Cosine(10, floor=0.001).rate(steps, 0.01)[-1] == 0.001


@pytest.mark.parametrize("case", CASES)
def test_trials_have_steps_and_rates_of_their_own(case):
    ours = CASES[case][0]
    steps, lr = torch.tensor([3, 30, 9]), torch.tensor([0.3, 0.1, 0.2])
    alone = [ours.rate(steps[e : e + 1], float(lr[e])) for e in range(3)]
    assert torch.equal(ours.rate(steps, lr), torch.cat(alone))
