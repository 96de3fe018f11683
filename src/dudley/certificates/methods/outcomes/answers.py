"""The answers to the questions that were declared, as the plain tables of a certificate file.

Numbers are rounded to ten digits outward here, so that an upper end in the file is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dudley.certificates import digits
from dudley.certificates.methods.outcomes.declared import OutcomesDeclared, OutcomesFacts
from dudley.certificates.outcomes.abstention import gate_of
from dudley.certificates.outcomes.difference import (
    difference_lower,
    difference_upper,
    discordant,
)
from dudley.certificates.outcomes.over_time import running_bounds
from dudley.certificates.outcomes.question import LossQuestion, share_nats
from dudley.certificates.outcomes.slices import SliceBound, slice_bounds, slice_rows, worst_of
from dudley.certificates.outcomes.stepdown import proved_below
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.certificates.outcomes.units import Units
from dudley.certificates.outcomes.verdict import verdict_of

PlainAnswer = dict[str, Any]


def question_of(
    data: OutcomeTable, declared: OutcomesDeclared, candidate: str | None, c: float
) -> LossQuestion:
    """The losses of the model that is certified, and how they count."""
    units = None
    if declared.columns.unit:
        assert data.ids is not None
        units = Units.of(data.ids, declared.unit_way, declared.seed or 0)
    losses = data.losses if candidate is None else data.others[candidate]
    return LossQuestion(losses, data.binary, c, units)


def answers(
    question: LossQuestion, data: OutcomeTable, declared: OutcomesDeclared
) -> OutcomesFacts:
    """All of them."""
    draws, at = question.draws(), declared.columns
    bounds = slice_bounds(question, data.groups, declared.two_sided) if at.groups else ()
    repeated = data.n - len(np.unique(data.ids)) if data.ids is not None else 0
    return OutcomesFacts(
        n=len(draws),
        rows=data.n,
        mean_loss=question.mean(),
        errors=int(draws.sum()) if question.binary else None,
        candidates=len(at.candidates) or None,
        repeated_ids=repeated or None if not at.unit else None,
        at_least=digits.down(question.lower()) if declared.two_sided else None,
        below=_verdict(question, declared),
        slices=tuple(map(_slice, bounds)) if at.groups else None,
        worst=worst_of(bounds).name if bounds else None,
        proved_slices=_tests(question, data, declared.slices_below),
        abstention=_abstention(question, data, declared),
        over_time=_over_time(question, data.time),
        comparison=_comparison(question, data.others.get(at.old), declared),
    )


def _verdict(question: LossQuestion, declared: OutcomesDeclared) -> PlainAnswer | None:
    if declared.below is None:
        return None
    verdict = verdict_of(question, declared.below, declared.two_sided)
    table: PlainAnswer = {"level": declared.below, "verdict": verdict.word}
    return table | ({} if verdict.more is None else {"more": verdict.more})


def _slice(bound: SliceBound) -> PlainAnswer:
    table: PlainAnswer = {
        "group": bound.group,
        "label": bound.label,
        "rows": bound.rows,
        "n": bound.n,
        "mean_loss": bound.mean,
        "at_most": digits.up(bound.upper),
    }
    return table | ({} if bound.lower is None else {"at_least": digits.down(bound.lower)})


def _tests(question: LossQuestion, data: OutcomeTable, level: float | None) -> PlainAnswer | None:
    if level is None:
        return None
    names, nats = [], share_nats(len(data.groups))
    for group, labels in slice_rows(data.groups).items():
        proved = proved_below(question, list(labels.values()), level, nats)
        names += [f"{group} = {name}" for name, good in zip(labels, proved, strict=True) if good]
    return {"level": level, "proved": names}


def _abstention(
    question: LossQuestion, data: OutcomeTable, declared: OutcomesDeclared
) -> PlainAnswer | None:
    if declared.answered_below is None:
        return None
    assert data.score is not None
    gate = gate_of(
        question, question.c, data.score, declared.thresholds, declared.answered_below,
        declared.chains,
    )  # fmt: skip
    curve = [
        {"threshold": point.threshold, "answered": point.answered, "passed": point.passed}
        | ({} if point.mean is None else {"mean_loss": point.mean})
        for point in gate.curve
    ]
    chosen: PlainAnswer = {} if gate.threshold is None else {"threshold": gate.threshold}
    coverage = {"answered": gate.answered, "coverage_at_least": digits.down(gate.coverage)}
    return {"level": gate.level} | chosen | coverage | {"curve": curve}


def _over_time(question: LossQuestion, time: np.ndarray | None) -> PlainAnswer | None:
    if time is None:
        return None
    curve = [
        {"rows": point.rows, "mean_loss": point.mean, "at_most": digits.up(point.upper)}
        for point in running_bounds(question.losses, time, question.c)
    ]
    return {"at_most": curve[-1]["at_most"], "curve": curve}


def _comparison(
    question: LossQuestion, old: np.ndarray | None, declared: OutcomesDeclared
) -> PlainAnswer | None:
    if old is None:
        return None
    mean = float(np.mean(_differences(question, old)))
    at_most = digits.up(difference_upper(question, old))
    table: PlainAnswer = {"old": declared.columns.old, "difference": mean, "at_most": at_most}
    if question.errors:
        worse, better = discordant(question.losses, old)
        table |= {"only_new_errs": worse, "only_old_errs": better}
    if declared.two_sided:
        table["at_least"] = digits.down(difference_lower(question, old))
    if declared.margin is not None:
        table |= {"margin": declared.margin, "not_worse": at_most <= declared.margin}
    return table


def _differences(question: LossQuestion, old: np.ndarray) -> np.ndarray:
    """New minus old, of each row or of each unit."""
    if question.units is None:
        return question.losses - old
    return 2 * question.units.draws((1 + (question.losses - old)) / 2) - 1
