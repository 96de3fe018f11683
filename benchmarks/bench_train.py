"""Trials a second of an ensemble against one module in a loop, on two cores, in one run.

The AND classifier with dropout at T = 100, m = 100, E = 64: training steps and hold-outs of 10,000
as in the protocol (1,000 steps, 100 hold-outs), timed on a few of each. Both sides have two cores:
the loop as two threads or as two processes, whichever is faster, the ensemble as two processes of
32 trials, as `train_grid(workers=2)` runs it.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import protocols
from ordinary import seconds

T, M, E, CORES = 100, 100, 64, 2
HOW = protocols.AND["training"]
CHECKS = HOW["steps"] // HOW["evaluate_every"]


def twin_trial(threads: int) -> float:
    """Seconds of one trial as `dudley.models.AndClassifier` in a loop."""
    import torch

    from dudley.models import AndClassifier

    torch.set_num_threads(threads)
    twin = AndClassifier(T)
    twin.tokens_of = twin.tokens
    step, check = seconds(T, M, "cpu", 3, 500, twin)
    return HOW["steps"] * step + CHECKS * check


def plain_trial(threads: int) -> float:
    """Seconds of one trial as a module written for this network alone (`ordinary`)."""
    import torch

    torch.set_num_threads(threads)
    step, check = seconds(T, M, "cpu", 3, 500)
    return HOW["steps"] * step + CHECKS * check


def ensemble_trials(trials: int) -> float:
    """Seconds of so many trials in one ensemble, on one thread."""
    import time

    import torch

    from dudley.train.period import Period
    from dudley.train.problem import Problem
    from dudley.train.state import State

    torch.set_num_threads(1)
    config = copy.deepcopy(protocols.AND)
    config["task"] |= {"T": T, "m": M}
    problem = Problem([config | {"trial": t, "seed": os.getpid()} for t in range(trials)])
    period = Period(problem, State.start(problem))
    period(1)
    start = time.perf_counter()
    period(HOW["evaluate_every"])
    return (time.perf_counter() - start) * CHECKS


def together(function, argument: int) -> float:
    """The slowest of as many processes as there are cores."""
    with multiprocessing.get_context("spawn").Pool(CORES) as pool:
        return max(pool.map(function, [argument] * CORES))


def test_an_ensemble_trains_twenty_times_as_many_trials_a_second():
    whole = together(ensemble_trials, E // CORES)
    ours = E / whole
    loops = {
        "twin, two processes": CORES / together(twin_trial, 1),
        "module of torch, two processes": CORES / together(plain_trial, 1),
        "twin, two threads": 1 / twin_trial(2),
        "module of torch, two threads": 1 / plain_trial(2),
    }
    print(f"\nensemble: {1 / ours:.2f} s a trial")
    for name, speed in loops.items():
        print(f"{name}: {1 / speed:.1f} s a trial, {ours / speed:.0f} times the ensemble's")
    assert ours >= 20 * max(loops.values())
