"""Fast mode: trials that stop at success and are screened; not the printed protocol.

A success is a hold-out accuracy above a number at some check. Whether there is such a check, the
checks after the first one cannot change, nor can the training between them: a trial ends there
(`dudley.train.training.Stop`). Nor must all rows be looked at where the first of them show that a
trial is far below (`dudley.train.screen`): that misses a success with a probability that is counted
there, and invents none. So success by the best check is that of the full-length run, up to rounding
(a processor or a GPU may round otherwise where fewer trials share a batch).

What is *not* known in fast mode: the last check, how high the best one is, and the losses at the
end. Tables have the columns T, m, trial, ``success`` and ``steps`` alone, so that nobody can read
the others off; the config says ``mode``, and its protocol is another one than the full record's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dudley.core.errors import InputError
from dudley.lab.finding import Finding

FAST = "fast"
METRIC = "holdout_accuracy"
CAVEAT = (
    "fast mode: trials stop at their first success, so the last check, the losses at the end and "
    "whatever comes after a success were not run"
)


def in_fast_mode(config: Mapping[str, Any]) -> bool:
    """Is it an experiment's config in fast mode?"""
    return config.get("mode") == FAST


def fast_mode(config: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment's config in fast mode; it has one ``protocol`` and says what is ``learnt``."""
    protocol = fast_protocol(config["protocol"], config["learnt"])
    return {**config, "mode": FAST, "protocol": protocol}


def fast_protocol(protocol: Mapping[str, Any], learnt: float) -> dict[str, Any]:
    """A protocol whose trials end at success, with a screen of the hold-out."""
    from dudley.train.screen import Screen

    task, training = protocol["task"], protocol["training"]
    known = {"stop", "screen", "keep", "final"} & set(training)
    if known or METRIC.partition("_")[0] not in training.get("evaluate", ("train", "holdout")):
        expected = "one with a hold-out at every evaluation, and no rules of its own"
        raise InputError("protocol for fast mode", expected, sorted(known) or training["evaluate"])
    size = task.get("holdout", 10_000)
    rules = {
        "stop": {"metric": METRIC, "at_least": least_success(size, learnt)},
        "screen": asdict(Screen(rows=min(Screen.rows, size // 2))),
    }
    return {**protocol, "training": {**training, **rules}}


def least_success(size: int, learnt: float) -> float:
    """The least accuracy on so many rows that is above a number.

    >>> least_success(10_000, 0.99), least_success(2000, 0.99)
    (0.9901, 0.9905)
    """
    return next(k for k in range(size + 1) if k / size > learnt) / size


def missed(config: Mapping[str, Any]) -> float:
    """The most that the probability is with which a trial's success is missed."""
    from dudley.train.screen import Screen

    protocol = config["protocol"]
    size, training = protocol["task"].get("holdout", 10_000), protocol["training"]
    errors = size - round(training["stop"]["at_least"] * size)
    return Screen(**training["screen"]).missed(size, errors)


def fast_columns(config: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """What may be kept of a table of trials: not what a stopped trial happened to end with."""
    known = {name: np.asarray(columns[name]) for name in ("T", "m", "trial", "steps")}
    return known | {"success": np.asarray(columns["best"]) > config["learnt"]}


def marked(findings: list[Finding]) -> list[Finding]:
    """Findings that say what they were made by."""
    return [replace(one, observation=f"Fast mode. {one.observation}") for one in findings]


def saved(config: Mapping[str, Any], trials: Mapping[str, np.ndarray]) -> Finding:
    """How much was not run, and what may have been missed."""
    steps = config["protocol"]["training"]["steps"]
    tokens = trials["m"] * (trials["T"] + 1)
    share = float((tokens * trials["steps"]).sum() / (tokens * steps).sum())
    stopped, count = int((trials["steps"] < steps).sum()), len(trials["T"])
    probability = missed(config)
    text = (
        f"{stopped:,} of {count:,} trials stopped before step {steps:,}: {share:.0%} of the "
        f"token-steps of full-length runs were made. A success is missed with probability at most "
        f"{probability:.2g} a trial, {min(1.0, count * probability):.2g} for all together. The "
        f"last check, the losses at the end and the height of the best check are not reported."
    )
    numbers = {
        "trials": count, "stopped": stopped, "share_of_token_steps": share,
        "missed_at_most": probability,
    }  # fmt: skip
    return Finding.of_question("What was run, and what may be missed?", text, numbers)
