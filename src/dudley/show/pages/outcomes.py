"""The answers of a certificate of outcomes: slices as intervals, the gate's curve, the comparison.

They stand on the page of the certificate and on the terminal alike; a certificate of another method
has none.
"""

from __future__ import annotations

from typing import Any

from dudley.core.errors import InputError
from dudley.core.rounding import ceiling, floor
from dudley.show.document import Cell, Chart, DocumentBlock, Line, Prose, Section, Table

VERDICTS = {
    "proved": "proved: below {level}",
    "larger": "proved to be larger than {level}",
    "too large": "not proved to be below {level}, and more rows of the kind would not help",
    "too few": "too few rows to prove it below {level}",
}
WIDTH = 16  # characters of an interval that is drawn as text


def answered(item: dict[str, Any]) -> list[DocumentBlock]:
    """The sections of the answers, in the order of the questions."""
    facts, blocks = item["facts"], _chosen(item)
    makers = {"below": _below, "slices": _slices, "proved_slices": _tests,
              "abstention": _gate, "over_time": _over_time,
              "comparison": _comparison}  # fmt: skip
    for name, maker in makers.items():
        if name in facts:
            if not isinstance(facts[name], dict | list) or not facts[name]:
                raise InputError(f"facts.{name} of the certificate", "a table of answers", "others")
            blocks += maker(facts)
    return blocks


def _declared(x: float) -> str:
    """A level or a threshold with all of its digits, which are ten at most."""
    return f"{x:.10g}"


def _chosen(item: dict[str, Any]) -> list[DocumentBlock]:
    """Which of the candidates the number is about."""
    name, k = item["choices"].get("candidate"), item["facts"].get("candidates")
    if name is None:
        return []
    if not isinstance(name, str) or not isinstance(k, int):
        raise InputError("choices of the certificate", "the name of a candidate", "others")
    return [Section(f"of {k:,} candidates the one with the least mean loss: {name}", ())]


def _below(facts: dict[str, Any]) -> list[DocumentBlock]:
    answer = facts["below"]
    words = VERDICTS[answer["verdict"]].format(level=_declared(answer["level"]))
    if "more" in answer:
        words += f": {answer['more']:,} more at the same mean loss would do"
    return [Section(words, ())]


def _slices(facts: dict[str, Any]) -> list[DocumentBlock]:
    rows, most = facts["slices"], max(row["at_most"] for row in facts["slices"])
    heads = ["slice", "rows", "mean loss", "at least", "at most", ""]
    table = Table.of(heads, [
        [f"{row['group']} = {row['label']}", Cell(f"{row['rows']:,}", row["rows"]),
         Cell(f"{row['mean_loss']:.4g}", row["mean_loss"]),
         _end(row.get("at_least"), floor), _end(row["at_most"], ceiling),
         _drawn(row.get("at_least", 0.0), row["mean_loss"], row["at_most"], most)]
        for row in sorted(rows, key=lambda row: -row["at_most"])
    ])  # fmt: skip
    worst = Prose(f"the highest bound: {facts['worst']}, {ceiling(most)}; all hold at once")
    return [Section(f"{len(rows)} slices", (table, worst))]


def _end(value: float | None, rounded: Any) -> Cell:
    return Cell("") if value is None else Cell(rounded(value), value)


def _drawn(low: float, mean: float, high: float, most: float) -> str:
    """An interval on a line of which the end is the highest bound of all.

    >>> _drawn(0.0, 0.1, 0.5, 1.0)
    '──●─────'
    """
    first, dot, last = (round(WIDTH * x / most) for x in (low, mean, high))
    line = [" " if i < first else "─" for i in range(max(last, dot + 1))]
    line[dot] = "●"
    return "".join(line)


def _tests(facts: dict[str, Any]) -> list[DocumentBlock]:
    answer = facts["proved_slices"]
    names = ", ".join(answer["proved"]) or "none"
    total = len(facts["slices"])
    title = f"proved below {_declared(answer['level'])}: {len(answer['proved'])} of {total} slices"
    return [Section(title, (Prose(names),))]


def _gate(facts: dict[str, Any]) -> list[DocumentBlock]:
    answer = facts["abstention"]
    level, curve = _declared(answer["level"]), answer["curve"]
    if "threshold" in answer:
        share = floor(answer["coverage_at_least"])
        title = (
            f"answer where the score is at least {_declared(answer['threshold'])}: "
            f"mean loss of the answered at most {level}, and at least {share} are answered"
        )
    else:
        title = f"no threshold is proved to keep the mean loss of the answered at most {level}"
    heads = ["threshold", "answered", "mean loss", "proved"]
    rows = [
        [Cell(_declared(point["threshold"]), point["threshold"]),
         Cell(f"{point['answered']:,}", point["answered"]),
         Cell(f"{point['mean_loss']:.4g}", point["mean_loss"]) if "mean_loss" in point else "–",
         Cell("yes", look="yes") if point["passed"] else "no"]
        for point in curve
    ]  # fmt: skip
    blocks: list[DocumentBlock] = [Table.of(heads, rows)]
    return [Section(title, tuple(blocks))]


def _over_time(facts: dict[str, Any]) -> list[DocumentBlock]:
    at_most = ceiling(facts["over_time"]["at_most"])
    title = f"in the order of the rows' times, whatever changed: mean loss at most {at_most}"
    words = "the mean, over the rows, of the probability of a loss given all rows before"
    return [Section(title, (Prose(words),))]


def charts(item: dict[str, Any]) -> list[DocumentBlock]:
    """The curves of the answers, for a page."""
    return [*_risk_and_coverage(item), *_course(item)]


def _course(item: dict[str, Any]) -> list[DocumentBlock]:
    """Bound and mean loss over the rows in the order of their times."""
    curve = item["facts"].get("over_time", {}).get("curve", [])
    if len(curve) < 2:
        return []
    x, means, uppers = zip(*((p["rows"], p["mean_loss"], p["at_most"]) for p in curve), strict=True)
    lines = (Line("bound on the mean so far", uppers), Line("mean loss so far", means, order=1))
    return [Chart("rows so far", "", x, lines, powers=False, shaded=False)]


def _risk_and_coverage(item: dict[str, Any]) -> list[DocumentBlock]:
    """Risk against coverage; none where fewer than two thresholds answer."""
    if "abstention" not in item["facts"]:
        return []
    answer, rows = item["facts"]["abstention"], item["facts"]["rows"]
    lowest = answer.get("threshold")
    chosen = (
        () if lowest is None else ((answer["answered"] / rows, f"score ≥ {_declared(lowest)}"),)
    )
    points = [p for p in answer["curve"] if "mean_loss" in p]
    shares = sorted({p["answered"] / rows: p["mean_loss"] for p in points}.items())
    if len(shares) < 2:
        return []
    x, y = zip(*shares, strict=True)
    level = Line("declared level", (answer["level"],) * len(x), form="printed", order=1)
    curve = Line("mean loss of the answered rows", y)
    drawn = Chart(
        "share answered", "", x, (curve,), powers=False, levels=(level,), crossings=chosen,
        shaded=False,
    )  # fmt: skip
    return [drawn]


def _comparison(facts: dict[str, Any]) -> list[DocumentBlock]:
    answer = facts["comparison"]
    here = f"{answer['difference']:.4g}".replace("-", "−")
    title = f"mean loss, new minus {answer['old']}: {here} here, at most "
    title += _signed_up(answer["at_most"])
    if "at_least" in answer:
        title += f", at least {_signed_down(answer['at_least'])}"
    words = []
    if "only_new_errs" in answer:
        counts = (
            f"{answer['only_new_errs']:,} rows, only the old one on {answer['only_old_errs']:,}"
        )
        words.append(Prose(f"only the new model errs on {counts}"))
    if "margin" in answer:
        proved = "proved" if answer["not_worse"] else "not proved"
        words.append(Prose(f"not worse by more than {_declared(answer['margin'])}: {proved}"))
    return [Section(title, tuple(words))]


def _signed_up(x: float) -> str:
    return ceiling(x) if x >= 0 else f"−{floor(-x)}"


def _signed_down(x: float) -> str:
    return floor(x) if x >= 0 else f"−{ceiling(-x)}"
