"""The first screen of a measurement: what stands out, and what would make a bound large."""

from __future__ import annotations

from typing import Any

from dudley.core.rounding import ceiling
from dudley.show.document import Properties


def properties(record: dict[str, Any]) -> Properties:
    """Ten lines or less, from the plain data of a judgement."""
    rows = [(f"largest {norm}", placed(number)) for norm, number in record["largest"].items()]
    rows.append(("stable ranks", ranks(record["stable_rank"])))
    rows += slopes(record["slopes"]) if record["slopes"] else [("no bound", record["refused"])]
    if record["moved"]:
        rows += moved(record["moved"])
    if record.get("sibling"):
        rows += against(record, record["sibling"])
    return Properties(tuple(rows))


def placed(number: dict[str, Any]) -> str:
    """An upper end and where it is."""
    return f"{upper(number['value'])}, {number['place']}"


def upper(x: float | None) -> str:
    """Rounded up, like every norm of the table."""
    return "past the floats" if x is None else ceiling(x, 4)


def ranks(record: dict[str, Any]) -> str:
    """The median, and both ends, as shares of full rank."""
    least, median, most = (record[name] for name in ("least", "median", "most"))
    ends = ", ".join(
        f"{name} {share(rank)} of {rank['full']} ({rank['place']})"
        for name, rank in (("least", least), ("most", most))
    )
    return f"{percent(median)} of full rank in the median; {ends}"


def share(rank: dict[str, Any]) -> str:
    return "?" if rank["value"] is None else f"{rank['value']:.3g}"


def percent(rank: dict[str, Any]) -> str:
    return "?" if rank["value"] is None else f"{rank['value'] / rank['full']:.0%}"


def slopes(record: dict[str, Any]) -> list[tuple[str, str]]:
    """What multiplies in a bound, by kind of node, and the block whose errors count most."""
    kinds = sorted(record["by_kind"].items(), key=lambda item: -item[1])
    each = ", ".join(f"{kind} {ten(log10)}" for kind, log10 in kinds)
    rows = [("slopes", f"multiply to {ten(record['log10'])}" + (f": {each}" if each else ""))]
    if kinds:
        most = kinds[0][1] / record["log10"]
        rows.append(
            ("a bound", f"{kinds[0][0]} would dominate it, with {most:.0%} of these powers")
        )
    block = record["sensitive"]
    rows.append(
        (
            "most sensitive",
            f"{block['place']}: an error of 1 there can become {ten(block['value'])}",
        )
    )
    if record["assumed"]:
        words = " ".join(f"{name}={x:g}" for name, x in record["assumed"].items())
        rows[-1] = (rows[-1][0], f"{rows[-1][1]} (at {words}, which no file says)")
    return rows


def ten(log10: float | None) -> str:
    """A magnitude by its log₁₀."""
    return "unknown" if log10 is None else f"10^{log10:.1f}"


def moved(record: dict[str, Any]) -> list[tuple[str, str]]:
    """How far from the start."""
    most, least = record["most"], record["least"]
    words = (
        f"‖W − W₀‖_F is {part(record['median'])} of ‖W‖_F in the median; most "
        f"{part(most['value'])} ({most['place']}), least {part(least['value'])} ({least['place']})"
    )
    rank = f"what moved has stable rank {record['stable_rank']:.3g} in the median"
    return [("since the start", words), ("", rank)]


def part(x: float | None) -> str:
    """A share in percent, with digits where it is small."""
    return "?" if x is None else f"{x:.0%}" if x >= 0.1 else f"{x:.2%}"


def against(record: dict[str, Any], sibling: dict[str, Any]) -> list[tuple[str, str]]:
    """The same of a sibling."""
    here = ", ".join(f"{norm} {upper(n['value'])}" for norm, n in sibling["largest"].items())
    middle = percent(sibling["stable_rank"]["median"])
    there = f"largest {here}; stable ranks {middle} in the median"
    if sibling["slopes"]:
        there += f"; slopes {ten(sibling['slopes']['log10'])}"
    rows = [("sibling", there)]
    if record.get("apart"):
        far = record["apart"]
        rows.append(
            ("farthest apart", f"op of {far['place']}: {far['value']:.3g} times the sibling's")
        )
    return rows
