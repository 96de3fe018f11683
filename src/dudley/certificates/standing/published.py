"""What the published statements say of one trained model's error: a row for each of them."""

from __future__ import annotations

from functools import partial

from dudley.certificates.standing.blame import blame
from dudley.certificates.standing.case import Case, Readings
from dudley.certificates.standing.certificates import TIME
from dudley.certificates.standing.margins import TrainingMargins
from dudley.certificates.standing.row import StandingRow
from dudley.core.errors import DudleyError
from dudley.core.statement import Statement
from dudley.core.watch import Watch
from dudley.theorems import registry
from dudley.theorems.order import reading_order

# Words of quantities that speak of a whole network; the rest is about its parts, or about weights.
NETWORKS = ("head", "network", "blocks", "encoder", "token's output", "masked word", "minimiser")


def about_networks(papers: tuple[str, ...] = ()) -> list[Statement]:
    """The statements that bound the capacity or the risk of a whole network, in reading order."""
    for paper in papers:
        registry.expect_paper(paper)
    every = (s for _, s in registry.load().items() if not papers or s.paper in papers)
    statements = [s for s in every if speaks_of_a_network(s)]
    return sorted(statements, key=lambda s: reading_order(s.id))


def speaks_of_a_network(s: Statement) -> bool:
    """Does it bound the risk of a network, its gap, complexity or covering number?"""
    bounds = s.measure != "other quantities" or s.quantity.startswith("risk of")
    return bounds and any(word in s.quantity for word in NETWORKS)


def published_rows(
    readings: Readings | str,
    training: TrainingMargins,
    papers: tuple[str, ...] = (),
    watch: Watch | None = None,
) -> list[StandingRow]:
    """One row for each of them; ``readings`` may be the reason why the model has none."""
    watch = watch or Watch()
    watch.begin("published bounds")
    if isinstance(readings, str):
        return [
            StandingRow(
                s.id, "published", verdict=s.standing, culprit="architecture", refused=readings
            )
            for s in about_networks(papers)
        ]
    return [
        watch.do(s.id, partial(_row, s, readings, training)) or _omitted_row(s, watch)
        for s in about_networks(papers)
    ]


def _omitted_row(s: Statement, watch: Watch) -> StandingRow:
    why = f"left out after {watch.seconds:g} s; --budget SECONDS gives more time"
    return StandingRow(s.id, "published", verdict=s.standing, culprit=TIME, refused=why)


def _row(s: Statement, readings: Readings, training: TrainingMargins) -> StandingRow:
    verdict, case = s.standing, Case(s, readings, training)
    if why := case.fails:
        culprit, reason = why
        return StandingRow(s.id, "published", verdict=verdict, culprit=culprit, refused=reason)
    try:
        return _evaluate(case)
    except DudleyError as refusal:  # numbers past the floats
        return StandingRow(
            s.id, "published", verdict=verdict, culprit="refused", refused=str(refusal)
        )


def _evaluate(case: Case) -> StandingRow:
    s, n = case.statement, case.training.n
    culprit, why = blame(case)
    forms = {"value": "derived"} | ({"best": "best"} if "best" in s.forms else {})
    needed = {name: case.examples_needed(form) for name, form in forms.items()}
    return StandingRow(
        s.id,
        "published",
        about=case.about,
        value=case.total("derived", n),
        printed=case.printed_total,
        best=case.total("best", n) if "best" in forms else None,
        needed={name: most for name, most in needed.items() if most is not None},
        sense=case.sense,
        verdict=s.standing,
        terms=case.terms("derived", n),
        culprit=culprit,
        blame=why,
        note="" if case.printed_total is not None else "the printed formula is not positive here",
    )
