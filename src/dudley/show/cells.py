"""The numbers of a comparison as text, the same for the terminal and for pages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from dudley.core.bound import Bound, Sense
from dudley.core.situation import Derived
from dudley.show.numbers import short
from dudley.theorems.by_form import ByForm
from dudley.theorems.comparison import KINDS, Comparison, ComparisonRow
from dudley.theorems.gaps import GapRow, Gaps

MARKS = {
    "~": "up to a constant that the paper does not name; here c = 1 unless given",
    "*": "says nothing: at or above what holds without theory",
    "!": "negative: the formula bounds nothing here",
}


def number(bound: Bound) -> str:
    """A bound in a few signs: its value, or a power of ten past the floats.

    >>> number(Bound.of(0.12345, quantity="risk", sense=Sense.CONSTANT))
    '~0.123'
    >>> number(Bound(2000.0, "log covering number", Sense.SURELY))
    '10^868.6'
    """
    if math.isfinite(bound.value):
        text = short(bound.value)
    else:
        text = f"10^{bound.log_value / math.log(10):.1f}"
    mark = "~" if bound.sense is Sense.CONSTANT else ""
    says_nothing = bound.trivial < math.inf and bound.vacuous
    after = "!" if bound.negative is not None else "*" if says_nothing else ""
    return f"{mark}{text}{after}"


def cell(row: ByForm, form: str) -> str:
    """A form's number; along an axis its first and last, ``–`` where it was refused."""
    if form not in row.curves:
        return ""
    bounds = row.bounds(form)
    ends = [bounds[0]] if len(bounds) == 1 else [bounds[0], bounds[-1]]
    texts = ["–" if b is None else number(b) for b in ends]
    return texts[0] if len(set(texts)) == 1 else " → ".join(texts)


def still(rows: Iterable[ByForm], axis: str) -> list[str]:
    """What does not move along the axis: it does not depend on it, or is the same everywhere."""
    names: dict[str, list[str]] = {}
    for row in rows:
        forms: dict[str, list[str]] = {}
        for form in row.curves:
            forms.setdefault(row.still(form, axis), []).append(form)
        for words, some in forms.items():
            every = len(some) == len(row.curves)
            name = row.id if every else f"{row.id} ({', '.join(some)})"
            names.setdefault(words, []).append(name)
    return [f"{words}: {', '.join(some)}" for words, some in sorted(names.items()) if words]


def informs(result: Comparison | Gaps) -> str:
    """The head of the column that :func:`informative` fills for derived forms."""
    assert result.sweep is not None
    return f"useful from {result.sweep.name}"


def informative(comparison: Comparison | Gaps, row: ComparisonRow | GapRow, form: str) -> str:
    """From where on a form is useful: below what is trivial, or below 1."""
    i = row.informative_from(form)
    return "" if i is None else short(comparison.points[i])


def marks(comparison: Comparison) -> dict[str, str]:
    """The marks that occur, with what they mean; so too the last column along an axis."""
    meanings = marks_in(comparison.rows)
    if comparison.sweep is not None and any(row.can_inform for row in comparison.rows):
        head = f"{informs(comparison)}:"
        meanings[head] = "where the derived form is first below what holds without theory"
    return meanings


def marks_in(rows: Iterable[ByForm]) -> dict[str, str]:
    """The marks that occur in these rows, with what they mean."""
    text = " ".join(cell(row, form) for row in rows for form in row.curves)
    return {mark: meaning for mark, meaning in MARKS.items() if mark in text}


def derivations(derived: dict[str, Derived]) -> list[str]:
    """What followed, one line for each source and value, norms of one matrix or sizes together.

    >>> both = [Derived(f"W_v.{norm}", 1.0, ("W_v.l11",)) for norm in ("op", "row1inf")]
    >>> derivations({one.name: one for one in both})
    ['W_v.op, .row1inf ≤ 1 from W_v.l11']
    """
    lines: dict[tuple, list[str]] = {}
    for number in derived.values():
        owner, dot, norm = number.name.partition(".")
        names = lines.setdefault((owner if dot else "", number.value, number.sources), [])
        names.append(f".{norm}" if names and dot else number.name)
    return [
        str(Derived(", ".join(names), value, sources))
        for (_, value, sources), names in lines.items()
    ]


def when_derived(comparison: Comparison) -> str:
    """Where on the axis the derived numbers are those shown; empty where they do not change."""
    sweep = comparison.sweep
    sources = {name for one in comparison.derived.values() for name in one.sources}
    if sweep is None or sweep.name not in sources:
        return ""
    return f" at {sweep.name} = {short(comparison.points[0])}"


def refusals(comparison: Comparison | Gaps) -> list[str]:
    """Each form that was refused, with the first reason, which may repeat its name."""
    return [
        f"{row.id}, {form}: {why.removeprefix(f'{row.id}, {form}: ')}"
        for row in comparison.rows
        for form, why in row.refusals.items()
    ]


def readings(comparison: Comparison) -> list[str]:
    """Names that statements read in different ways, one line for each meaning."""
    return [
        f"{name} in {', '.join(ids)}: {text}"
        for name, texts in comparison.readings.items()
        for text, ids in texts.items()
    ]


def lacking(comparison: Comparison | Gaps) -> dict[tuple[str, ...], list[str]]:
    """The statements that were not evaluated, by the names they miss; fewest names first."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for id, names in comparison.missing.items():
        groups.setdefault(names, []).append(id)
    return dict(sorted(groups.items(), key=lambda item: (len(item[0]), item[0])))


def most_wanted(comparison: Comparison | Gaps, count: int = 6) -> list[str]:
    """The names that most of the statements not evaluated miss, with how many do."""
    tally = Counter(name for names in comparison.missing.values() for name in names)
    return [f"{name} ({times})" for name, times in tally.most_common(count)]


def crossings(comparison: Comparison) -> list[str]:
    """Where parameter counting and norm-based bounds change places, in words."""
    name = comparison.sweep.name if comparison.sweep else ""
    lines = [
        f"{c.id}, {c.form}: {KINDS[c.kinds[0]]} give less below {name} ≈ {short(c.at)}, "
        f"{KINDS[c.kinds[1]]} above"
        for c in comparison.crossings
    ]
    for row in comparison.rows:
        for form in row.curves:
            bound = row.bounds(form)[-1]
            if bound is not None and "crossing" in bound.details:
                at = f" at {name} = {short(comparison.points[-1])}" if name else ""
                kinds = ", ".join(
                    f"{text} {short(bound.details[kind])}" for kind, text in KINDS.items()
                )
                ratio = bound.details["crossing"]
                lines.append(
                    f"{row.id}, {form}{at}: {kinds}; as covers they are equal at "
                    f"B_x·B_w/ε = {ratio:.4g}"
                )
    return lines
