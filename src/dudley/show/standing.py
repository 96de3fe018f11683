"""A standing as tables: certificates and published bounds on one model, for people and in Markdown.

Rows of one paper with equal numbers are one line: the statements coincide on this model.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from dudley.certificates.certificate import RISK
from dudley.certificates.comparison.cost import counted
from dudley.certificates.comparison.winner import Contender, winner
from dudley.certificates.standing.row import KINDS, Standing, StandingRow
from dudley.core.confidence import confidence
from dudley.core.rounding import ceiling, floor
from dudley.show.document import Cell, Document, Points, Prose, Section, Table
from dudley.show.markdown import cell, code, prose, section, table
from dudley.show.numbers import short
from dudley.theorems import registry

HEAD = ["bound", "printed", "proved", "best known", "below guessing from n", "to blame"]
MARKS = "† false as printed, in the version examined   ° in expectation, not about this model"
MARKED = "† the printed form is refuted by a counterexample, in the version that was examined:"
NOTES = """\
*Proved*: a certificate, or the statement's derived form, all constants explicit, at the norms of \
this model rounded up to a grid and paid for. *Best known*: the same statement with every cover \
and rule known here. *Printed*: the paper's formula at the measured norms, 1 for constants that \
it does not name, nothing paid. *Below guessing from n*: all else kept; in brackets for the best \
known. † marks statements whose printed form is refuted by a counterexample, in the version that \
was examined. ° marks bounds that hold in expectation for an empirical risk minimiser, above the \
risk of the best of its class, for norms and a margin fixed beforehand: no bound on this model's \
error."""


def merged(rows: list[StandingRow]) -> list[StandingRow]:
    """Rows of one paper with the same numbers as one, their names joined.

    >>> rows = [StandingRow(f"p/{x}", "published", value=1.0) for x in "ab"]
    >>> [row.name for row in merged([*rows, StandingRow("p/c", "published", value=2.0)])]
    ['p/a, b', 'p/c']
    """
    groups: dict[tuple, list[StandingRow]] = defaultdict(list)
    for row in rows:
        paper = row.name.partition("/")[0]
        numbers = row.value, row.printed, row.best, tuple(row.needed.items())
        groups[paper, *numbers, row.sense, row.verdict].append(row)
    return [replace(rows[0], name=_joined(rows)) for rows in groups.values()]


def _joined(rows: list[StandingRow]) -> str:
    return ", ".join([rows[0].name, *(row.name.partition("/")[2] for row in rows[1:])])


def in_expectation(row: StandingRow) -> bool:
    """Is it about the mean over samples, and not about this model?"""
    return row.sense.startswith("in expectation")


def marks(row: StandingRow) -> str:
    """† for a refuted printed form, ° for a bound in expectation."""
    return (" †" if row.refuted else "") + (" °" if in_expectation(row) else "")


def versions(standing: Standing) -> list[str]:
    """Of each paper with a bound that is false as printed: which version was examined."""
    known = registry.load()
    return registry.caveats(known[row.name] for row in standing.rows if row.refuted)


def of_whom(row: StandingRow) -> str:
    """A certificate's name, with the model that it is about where that is another one."""
    return row.name if row.kind == "published" or row.about == "this model" else _other(row)


def _other(row: StandingRow) -> str:
    variant = "quantised" if "quantised" in row.about else "randomised"
    return f"{row.name} ({variant})"


def lines(standing: Standing, kind: str) -> list[list[str]]:
    """One line for each number of a kind, the least first."""
    texts = []
    for row in merged(standing.of(kind)):
        cells = [number(row.printed), *(upper(x) for x in (row.value, row.best))]
        cells.append(count(row.needed.get("value")))
        if "best" in row.needed:
            cells[-1] += f" ({count(row.needed['best'])})"
        texts.append([of_whom(row) + marks(row), *cells, row.culprit])
    return texts


def every(standing: Standing) -> list[list[str]]:
    """The lines of all kinds."""
    return [line for kind in KINDS for line in lines(standing, kind)]


def bounds(standing: Standing) -> Table:
    """The numbers of all kinds as a table that sorts."""
    rows = []
    for kind in KINDS:
        for line, row in zip(lines(standing, kind), merged(standing.of(kind)), strict=True):
            name, printed, proved, best, needed, culprit = line
            numbers = ((printed, row.printed), (proved, row.value), (best, row.best))
            cells = [Cell(text, key) for text, key in numbers]
            rows.append([name, *cells, Cell(needed, row.needed.get("value")), culprit])
    return Table.of(HEAD, rows)


def number(x: float | None) -> str:
    """Three digits; a dash where there is none."""
    return "–" if x is None else short(x)


def upper(x: float | None) -> str:
    """Three digits, none below x."""
    return "–" if x is None else short(float(ceiling(x, 3)))


def count(n: float | None) -> str:
    """A number of examples, which is known to 5 %: two digits, none below n."""
    return "–" if n is None else short(float(ceiling(n, 2)))


def measured(standing: Standing) -> str:
    """The error on the test set and of guessing, in a sentence."""
    test, guess = standing.test, f"the risk of guessing is at least {floor(standing.guess, 3)}"
    if not test:
        return f"No test set was given; {guess}."
    errors = f"{counted(test['errors'], 'error')} on {test['n']:,} test examples"
    most = f"at most {ceiling(test['at_most'], 2)} with confidence {confidence(standing.delta)}"
    return f"{errors[0].upper()}{errors[1:]}: {most}; {guess}."


def compared(standing: Standing) -> str:
    """Which certificate wins, the hold-out or another, and what each costs; empty without one."""
    rows = [row for kind in ("baseline", "certificate") for row in standing.of(kind)]
    return winner([
        Contender(of_whom(row), row.value, row.culprit, row.value >= standing.guess)
        for row in rows
        if row.value is not None
    ])  # fmt: skip


def document(standing: Standing) -> Document:
    """For a terminal: the error, every bound, and what does not apply."""
    certificates = [row for row in standing.refused_rows if row.kind != "published"]
    others = tuple(row for row in standing.rows if row not in certificates)
    remarks = [
        MARKS,
        *versions(standing),
        *(f"{row.name}: {row.note}" for row in remarked(standing)),
    ]
    remarks += [f"not here: {row.name} ({row.refused})" for row in certificates]
    for why, names in reasons(replace(standing, rows=others)).items():
        remarks.append(f"not here ({why}): {', '.join(names)}")
    return Document(
        f"{RISK}, n = {standing.n:,}, δ = {standing.delta:g}",
        (
            Prose(measured(standing)),
            Section("", (bounds(standing),)),
            *(Section("", (Prose(text),)) for text in [compared(standing)] if text),
            Section("", (Points(tuple(remarks), mark=""),)),
        ),
        kind="standing",
    )


def remarked(standing: Standing) -> list[StandingRow]:
    """The certificates of which some steps were left out."""
    return [row for row in standing.rows if row.kind != "published" and row.note]


def reasons(standing: Standing) -> dict[str, list[str]]:
    """What does not apply, by the hypothesis that fails."""
    names: dict[str, list[str]] = defaultdict(list)
    for row in standing.refused_rows:
        names[row.culprit].append(row.name)
    return dict(names)


def markdown(standing: Standing) -> str:
    """The whole tables in Markdown: numbers, then the words, then what does not apply."""
    rows = [row for kind in KINDS for row in standing.of(kind)]
    words = [[code(row.name), cell(row.about), cell(row.blame)] for row in merged(rows)]
    lost = [[code(row.name), cell(row.refused)] for row in standing.refused_rows]
    parts = [
        measured(standing),
        _table(every(standing)),
        *(prose(text) for text in [compared(standing)] if text),
        NOTES,
        "\n\n".join(map(prose, versions(standing))),
        section("What is to blame", table(["bound", "whose error", "what makes it large"], words)),
    ]
    if remarks := [f"{code(row.name)}: {cell(row.note)}" for row in remarked(standing)]:
        parts.append(section("What was left out", "\n\n".join(remarks)))
    if lost:
        parts.append(section("What does not apply", table(["statement", "why"], lost)))
    return "\n\n".join(parts)


def compact(standing: Standing) -> str:
    """Certificates, and of each paper the statement that needs the fewest examples."""
    rows = [x for k in ("baseline", "certificate") for x in lines(standing, k)]
    papers: dict[str, StandingRow] = {}
    for row in standing.of("published"):
        paper = row.name.partition("/")[0]
        best = papers.get(paper)
        if best is None or _wanted(row) < _wanted(best):
            papers[paper] = row
    shown = replace(standing, rows=tuple(papers.values()))
    remarks = "\n".join(f"- {prose(text)}" for text in versions(shown))
    return f"{_table(rows + lines(shown, 'published'))}\n\n{MARKED}\n\n{remarks}"


def _wanted(row: StandingRow) -> tuple[bool, float]:
    """Bounds with confidence before others; then by the examples needed."""
    return in_expectation(row), row.needed.get("value", float("inf"))


def _table(rows: list[list[str]]) -> str:
    return table(HEAD, [[code(name.split(" ")[0].rstrip(",")) + _rest(name), *map(cell, rest)]
                        for name, *rest in rows])  # fmt: skip


def _rest(name: str) -> str:
    """What follows the first word of a line's name."""
    first = name.split(" ")[0]
    return name[len(first.rstrip(",")) :]
