"""A dry run of every experiment at every scale; the speed of a batch is a stand-in."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dudley.lab import probe
from dudley.lab.experiment import EXPERIMENTS, SCALES, Bench
from dudley.lab.forecast import forecast
from dudley.lab.pages.forecast import row
from dudley.lab.planned import planned_in
from dudley.lab.shared.sequential import designed

NUMBERS_ONLY: tuple[str, ...] = ()
MANY = (
    "edelman2021-and",
    "edelman2021-and-far",
    "edelman2021-laws",
    "li2026-excess",
    "which-bound",
)  # long to pack at paper scale
CASES = [
    pytest.param(
        name, design, scale, marks=[pytest.mark.slow] * (scale == "paper" and name in MANY)
    )
    for name, one in EXPERIMENTS.items()
    for design in one.designs
    for scale in SCALES
]


@pytest.mark.parametrize(("name", "design", "scale"), CASES)
def test_every_experiment_can_be_foreseen(
    name: str, design: str, scale: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(probe, "speed", lambda *_, **__: 1.0)
    experiment = EXPERIMENTS[name]
    bench = Bench(memory=8 << 30)  # the largest trial of the laws takes more than 2 GiB
    parts = forecast(experiment.planned(designed(experiment, scale, design)), bench)
    assert parts or name in NUMBERS_ONLY
    for part in parts:
        assert part.trials > 0 and part.batches > 0 and part.work >= part.longest > 0


PARTS = {
    "task": {"name": "and", "T": 6, "s": 2, "m": 10},
    "model": {"name": "and-classifier", "d": 16, "H": 2},
    "training": {"optimiser": {"name": "adam"}, "steps": 4},
}


def test_measuring_ends_with_its_budget_and_the_heaviest_parts_come_first(monkeypatch):
    """Each measurement takes a second; the third part is not reached."""
    now, heard, measured = [0.0], [], []

    def speed(batch, *_):
        now[0] += 1.0
        measured.append(len(batch))
        return float(len(batch))

    monkeypatch.setattr(probe, "speed", speed)
    config = {"parts": [PARTS | {"trials": trials} for trials in (2, 8, 4)]}
    parts = forecast(planned_in(config), tell=heard.append, budget=1.5, clock=lambda: now[0])
    assert measured == [8, 4]
    assert [part.measured for part in parts] == [False, True, True]
    assert [part.speeds for part in parts] == [(4.0, 8.0), (8.0, 8.0), (4.0, 4.0)]
    assert [row(part)[-1].text.endswith(", as the other parts") for part in parts] == [
        True,
        False,
        False,
    ]
    assert heard == [
        *(f"packing part {i} of 3" for i in (1, 2, 3)),
        *(f"measuring part {i} of 3" for i in (1, 2)),
    ]


@pytest.mark.slow
def test_one_that_trains_on_a_task_of_its_own_can_be_foreseen_in_a_fresh_process():
    """Its task is registered by a module that another test may have imported already."""
    code = """
from dudley.lab.experiment import EXPERIMENTS
from dudley.train.tasks.registry import task_of
task = EXPERIMENTS["li2026-excess"].config("smoke")["heads"]["arms"][0]["task"]
print(task_of(task | {"m": 32}).name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "taught\n", done.stderr
