"""A stream as a document: the number, the alarm and what exactly it says, the curve, the limits.

>>> from dudley.certificates.stream.stream import OutcomeStream, StreamDeclared
>>> stream = OutcomeStream(StreamDeclared(alarm_at=0.02))
>>> stream.add([0.0] * 500 + [1.0] * 20)
>>> document([record(stream)]).title
'Alarm: at some time within the first 505 outcomes the conditional error was above 0.02'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dudley.certificates.stream.stream import DECLARATIONS, QUANTITY, OutcomeStream
from dudley.core.rounding import ceiling
from dudley.show.document import (
    Chart,
    Document,
    DocumentBlock,
    Folded,
    Line,
    Points,
    Properties,
    Prose,
)
from dudley.show.pages import BUILDERS, made_by

EVER = "It says nothing about the mean; the bound below does."


def record(stream: OutcomeStream, waiting: int = 0) -> dict[str, Any]:
    """What the page shows, as ``dudley watch --json`` prints it."""
    look, declared = stream.look(), stream.declared
    points = [*stream.curve, (look.n, look.mean, look.upper)] if look.n else []
    return {
        **look.to_json(),
        "delta": declared.delta,
        "share": declared.share,
        "alarm_at": declared.alarm_at,
        "alarm_kind": declared.alarm if declared.alarm_at is not None else None,
        "waiting": waiting,
        "quantity": QUANTITY,
        "declarations": list(DECLARATIONS),
        "curve": [list(point) for point in dict((p[0], p) for p in points).values()],
    }


@BUILDERS.register("stream")
def document(items: list[dict[str, Any]]) -> Document:
    """The stream of the one item."""
    (item,) = items
    blocks: tuple[DocumentBlock, ...] = (
        Prose(alarm(item)),
        Properties(
            (
                ("what", item["quantity"]),
                ("at most", ceiling(item["upper"])),
                ("observed mean", f"{item['mean']:.4g}"),
                ("outcomes", f"{item['outcomes']:,}"),
                ("δ", parts(item)),
            )
        ),
        *([chart(item)] if len(item["curve"]) > 1 else []),
        *waiting(item),
        Folded("What it rests on", (Points(tuple(item["declarations"])),)),
    )
    return Document(title(item), blocks, kind="stream", made=made_by())


def title(item: dict[str, Any]) -> str:
    """The alarm, or else the number."""
    if item["alarm"] is not None:
        return f"Alarm: {item['statement']}"
    n = f"{item['outcomes']:,}"
    most = ceiling(item["upper"])
    return f"Mean of the conditional error over the first {n} outcomes at most {most}"


def alarm(item: dict[str, Any]) -> str:
    """What the alarm says, or what would give it."""
    if item["alarm_at"] is None:
        return "No level was declared, so there is no alarm."
    level = float(item["alarm_at"])
    ever = item["alarm_kind"] == "ever"
    if item["alarm"] is not None:
        at, share = f"{item['alarm']:,}", float(item["share"])
        words = f"Proved at outcome {at}, at δ = {share}: {item['statement']}."
        return f"{words} {EVER}" if ever else words
    what = "at some time" if ever else "in the mean so far"
    return f"No alarm: that the conditional error was above {level} {what} is not proved."


def parts(item: dict[str, Any]) -> str:
    """How δ is split."""
    whole = str(float(item["delta"]))
    if item["alarm_at"] is None:
        return whole
    return f"{whole}: half for the bound, half for the alarm; both hold at all times together"


def waiting(item: dict[str, Any]) -> tuple[Prose, ...]:
    """A remark on a last line that has no end."""
    if not item["waiting"]:
        return ()
    words = f"The last {item['waiting']:,} bytes have no line break yet, and are not counted."
    return (Prose(words),)


def chart(item: dict[str, Any]) -> Chart:
    """Bound and observed mean over the outcomes, with the line of the alarm.

    The heights are logarithms, since the first bounds are far above all that comes later.
    """
    x, means, uppers = zip(*item["curve"], strict=True)
    level, at = item["alarm_at"], item["alarm"]
    line = () if level is None else (Line(f"alarm at {float(level)}", logs([level] * len(x))),)
    return Chart(
        "outcomes so far",
        "",
        tuple(float(n) for n in x),
        (
            Line("bound on the mean error", logs(uppers)),
            Line("observed mean", logs(means), order=1),
        ),
        levels=line,
        crossings=() if at is None else ((float(at), f"alarm at outcome {at:,}"),),
        shaded=False,
    )


def logs(heights: Sequence[float]) -> tuple[float | None, ...]:
    """Their logarithms to base 10; 0 has none."""
    return tuple(math.log10(y) if y > 0 else None for y in heights)
