"""Readings of the hypotheses beyond the papers, on planted tables."""

from __future__ import annotations

import numpy as np

from dudley.lab.finding import answer_of
from dudley.lab.shared.beyond_readings import (
    ALL,
    FITTED,
    LIVE,
    accuracies,
    agreement,
    differences,
    networks,
    of_each,
    prices,
)
from dudley.lab.shared.beyond_trained import flat

LOG2 = float(np.log(2))
x = np.repeat([0.0, 1.0, 2.0, 3.0], 30)


def planted(slope: float = 0.0, dead: int = 0, unfitted: int = 0) -> dict[str, np.ndarray]:
    """Accuracies along x; the first of the last setting are dead, the last there do not fit."""
    noise = np.random.default_rng(0).normal(scale=0.004, size=len(x))
    table = {"train": np.ones(len(x)), "train_loss": np.zeros(len(x))}
    table |= {"holdout": 0.9 + slope * x + noise, "log10_needed_n": 5 + 0.3 * x + noise}
    for name, value in (("train", 0.0), ("holdout", 0.0), ("train_loss", LOG2)):
        table[name][90 : 90 + dead] = value
    table["train"][120 - unfitted :] = 0.8
    table["holdout"][120 - unfitted :] = 0.6
    return table


def test_networks_that_change_nothing_are_no_reading():
    assert list(networks(planted())) == [LIVE]
    masks = networks(planted(dead=3, unfitted=5))
    assert {name: int(mask.sum()) for name, mask in masks.items()} == {
        LIVE: 117, ALL: 120, FITTED: 112,
    }  # fmt: skip


def test_a_choice_that_turns_the_verdict_around_is_named():
    both = accuracies(planted(), x, (0.02, 0.05))
    assert [reading.chosen for reading in both] == [f"{LIVE}, last, {m}" for m in (0.02, 0.05)]
    assert answer_of(both) == "confirmed"
    assert answer_of(accuracies(planted(unfitted=20), x, (0.02, 0.05))) == "depends on networks"
    assert answer_of(accuracies(planted(slope=0.03), x, (0.02, 0.05))) == "depends on margin"
    counted = accuracies(planted(dead=12), x, (0.02,))
    assert answer_of(counted) == "depends on networks"
    assert agreement(counted) == "2 readings (networks varied): 1 confirm it, 1 refute it"


def test_other_weights_and_other_bounds_are_readings():
    table = planted() | {"holdout_best": planted(slope=0.04)["holdout"]}
    assert answer_of(accuracies(table, x, (0.02,))) == "depends on weights"
    table["log10_needed_n, ℓ1 norms"] = planted()["holdout"]
    both = prices(table, x, 0.1, flat)
    assert {reading.choices["bound"] for reading in both} == {
        "margin 1, spectral norms",
        "ℓ1 norms",
    }
    assert answer_of(both) == "depends on bound"


def test_each_value_of_a_setting_is_a_reading_and_few_networks_decide_nothing():
    table = planted() | {"m": np.tile([60, 120], 60)}
    table["holdout"] = np.where(table["m"] == 60, table["holdout"] + 0.1 * x, table["holdout"])
    answers = {one.choices["m"]: one.outcome for one in of_each(table, "m", x, 0.02, flat)}
    assert answers == {"60": "fails", "120": "holds"}
    none = table | {"m": np.where(np.arange(len(x)) < 2, 7, 60)}
    assert of_each(none, "m", x, 0.02, flat)[0].outcome == "undecided"


def test_differences_are_undecided_without_all_groups():
    table = planted()
    groups = {"base": x < 2, "other": x >= 2}

    def within(intervals, margin):
        return "confirmed" if all(-margin < a and b < margin for a, b in intervals) else "refuted"

    assert answer_of(differences(table, groups, "base", (0.02, 0.05), 0.95, within)) == "confirmed"
    empty = groups | {"none": x > 5}
    assert answer_of(differences(table, empty, "base", (0.02, 0.05), 0.95, within)) == "undecided"
