"""What tables of successes say on how the critical m grows with T: numbers and sentences.

Used by the sparse AND experiments and their figures. All choices (draws, seeds, level) come from
the config.
"""

from __future__ import annotations

from math import comb, log2
from typing import Any

import numpy as np

from dudley.lab.statistics.critical import (
    LAWS,
    SLOPES,
    Cells,
    by_block,
    critical,
    held_out,
    law,
)
from dudley.lab.statistics.goodness import p_value, rejects
from dudley.lab.statistics.halfway import half_success as half_of_column, halfway
from dudley.lab.statistics.proportions import wilson
from dudley.lab.statistics.trend import estimate


def rates(cells: Cells) -> list[dict[str, Any]]:
    """The success rate of every cell with Wilson's interval and the paper's standard error."""
    lowest, highest = wilson(cells.successes, cells.trials)
    p = cells.successes / cells.trials
    error = np.sqrt(p * (1 - p) / cells.trials)
    return [
        {"T": int(T), "m": int(m), "successes": int(k), "trials": int(n), "rate": float(r),
         "error": float(e), "interval": [float(a), float(b)]}
        for T, m, k, n, r, e, a, b in zip(
            cells.T, cells.m, cells.successes, cells.trials, p, error, lowest, highest, strict=True
        )
    ]  # fmt: skip


def crossings(cells: Cells, bootstrap: dict[str, int]) -> list[dict[str, Any]]:
    """The critical m of every T; a critical m that the grid does not reach is None.

    ``error`` is the paper's: the standard deviation over 50 draws. ``beyond`` is the share of draws
    in which no m of the grid crosses: where it is not 0, the error is of the others alone.
    """
    few, many = bootstrap["paper_draws"], bootstrap["draws"]
    paper = critical(cells, few, bootstrap["seed"])
    whole = critical(cells, many, bootstrap["seed"] + 1_000)
    rows = []
    for T, (value, scatter) in whole.items():
        largest = int(cells.m[cells.T == T].max())
        rows.append({
            "T": T, "critical": finite(value), "largest": largest,
            "text": f"{value:.0f}" if np.isfinite(value) else f"> {largest}",
            "error": finite(paper[T][1].error), "error_of_all_draws": finite(scatter.error),
            "interval": [finite(scatter.lowest), finite(scatter.highest)],
            "beyond": float(np.isinf(scatter.values).mean()),
            "information": information(T),
        })  # fmt: skip
    return rows


def information(T: int, s: int = 3) -> float:
    """log₂ C(T, s) / H(2^−s): fewer labels cannot tell the hidden sets apart.

    >>> round(information(100)), round(information(800))
    (32, 48)
    """
    p = 2.0**-s
    return log2(comb(T, s)) / -(p * log2(p) + (1 - p) * log2(1 - p))


KIND = {"one": "plain", "tilted": "tilted", "free": "free"}  # of slopes, as files name them


def half_success(cells: Cells, level: float = 0.95) -> list[dict[str, Any]]:
    """m½ of every T, where a logistic curve through its cells is ½, with its profile interval.

    Where no cell crosses ½ it is a censored estimate, told by ``beyond``: the curve's continuation.
    An end of the interval that the data do not give is None.
    """
    rows = []
    for T in cells.lengths:
        column = cells.only(cells.T == T)
        half = half_of_column(column.m, column.successes, column.trials, level)
        rows.append({
            "T": int(T), "m": finite(half.m),
            "interval": [finite(half.lowest), finite(half.highest)],
            "beyond": half.beyond, "largest": int(column.m.max()),
            "goodness": half.goodness.as_json(),
        })  # fmt: skip
    return rows


def elasticity(cells: Cells, level: float = 0.95) -> dict[str, Any] | None:
    """log(m½ at the longest T / m½ at the shortest) per log of the ratio of both T.

    No law is behind it but the logistic curves at the two ends. None where one has none.
    """
    shortest, longest = cells.lengths[0], cells.lengths[-1]
    ends = []
    for T in (shortest, longest):
        column = cells.only(cells.T == T)
        ends.append(halfway(column.m, column.successes, column.trials))
    if not all(np.isfinite(end.error) for end in ends):
        return None
    ratio = float(np.log(longest / shortest))
    change = float(np.log(ends[1].m / ends[0].m)) / ratio
    value = estimate(change, float(np.hypot(ends[0].error, ends[1].error)) / ratio, level=level)
    return {
        "value": value.slope, "interval": [value.lowest, value.highest],
        "from": int(shortest), "to": int(longest),
    }  # fmt: skip


def growth(cells: Cells, bootstrap: dict[str, int], compare: bool = True) -> dict[str, Any]:
    """All laws fitted to all cells: with one slope b, with b tilted by T, with b free at each T.

    Every law has the test of its fit. ``difference``, where they are compared: held-out
    log-likelihood of the power law less that of the log law, summed over cells, with its interval
    and by T; ``gain_of_power_of_log``: that of the third law less each of the others.
    """
    laws: dict[str, Any] = {}
    for slopes in SLOPES:
        by_law: dict[str, Any] = {}
        for name in LAWS:
            fitted = law(cells, name, slopes)
            by_law[name] = {
                "θ": fitted.θ.value,
                "interval": [finite(fitted.θ.lowest), finite(fitted.θ.highest)],
                "goodness": fitted.goodness.as_json(),
                "κ": fitted.κ, "b": fitted.b.tolist(), "likelihood": fitted.θ.likelihood,
                "dispersion": fitted.dispersion, "deviance": fitted.deviance,
                "critical": [
                    {"T": int(T), "m": float(fitted.critical(T))} for T in cells.lengths
                ],
            }  # fmt: skip
            if name == "log":
                m_0 = float(np.exp(fitted.κ))
                slope = fitted.θ.value * m_0
                by_law[name] |= {"γ": slope, "intercept": m_0 - slope * fitted.middle}
        if compare and len(cells.lengths) > 2 and slopes != "free":
            each = {name: held_out(cells, name, slopes) for name in LAWS}
            by_law["difference"] = difference(cells, each["power"] - each["log"])
            by_law["gain_of_power_of_log"] = {
                name: difference(cells, each["power of log"] - each[name])
                for name in ("power", "log")
            }
        laws[KIND[slopes]] = by_law
    scatter = by_block(cells, bootstrap["draws"], bootstrap["seed"] + 2_000)
    laws["blocks"] = {
        "error": finite(scatter.error),
        "interval": [finite(scatter.lowest), finite(scatter.highest)],
        "draws": len(scatter.values),
    }
    return laws


def fitted_law(grown: dict[str, Any], name: str) -> str:
    """A law with its parameter, interval and test in words; slopes free at every T."""
    fitted = grown["free"][name]
    low, high = ("–" if end is None else f"{end:.2f}" for end in fitted["interval"])
    symbol = {"power": "α", "log": "λ", "power of log": "q"}[name]
    tested = p_value(fitted["goodness"])
    return f"{symbol} = {fitted['θ']:.2f} [{low}, {high}], goodness of fit {tested}"


def rejected(grown: dict[str, Any], name: str, slopes: str = "free") -> bool:
    """Do curves of their own at every T reject a law of the critical m, one of all `LAWS`?

    Slopes are free in both models, or ``plain``: one slope in the law.
    """
    return rejects(grown[slopes][name]["goodness"]["p"], len(LAWS))


def difference(cells: Cells, each: np.ndarray) -> dict[str, Any]:
    """Which law predicts a T that it has not seen: the sum over cells and its interval.

    As Vuong (1989) compares models that are not nested, here on cells that were left out.
    """
    error = float(each.std(ddof=1) * np.sqrt(len(each)))
    total = estimate(float(each.sum()), error, len(each) - 1)
    by_T = [{"T": int(T), "sum": float(each[cells.T == T].sum())} for T in cells.lengths]
    interval = [total.lowest, total.highest]
    return {"sum": total.slope, "error": error, "interval": interval, "by_T": by_T}


def exponent_interval(grown: dict[str, Any]) -> tuple[float, float]:
    """From the least to the largest end of α's intervals: profiles by slopes, blocks of cells."""
    parts = [grown[kind]["power"]["interval"] for kind in KIND.values()]
    parts.append(grown["blocks"]["interval"])
    lowest = [-np.inf if low is None else low for low, _ in parts]
    return min(lowest), max(np.inf if high is None else high for _, high in parts)


def favoured(grown: dict[str, Any]) -> str:
    """``power``, ``log``, or ``undecided`` unless both kinds of fit decide alike."""
    favoured_laws = set()
    for kind in ("plain", "tilted"):
        lowest, highest = grown[kind].get("difference", {}).get("interval", (-1.0, 1.0))
        favoured_laws.add("power" if lowest > 0 else "log" if highest < 0 else "undecided")
    return favoured_laws.pop() if len(favoured_laws) == 1 else "undecided"


def spread(values: list[int], count: int) -> list[int]:
    """Some values, from the first to the last, about evenly in ratio.

    >>> spread([100, 150, 200, 250, 300, 350, 400, 500, 600, 700, 800], 4)
    [100, 200, 400, 800]
    """
    wanted = np.geomspace(values[0], values[-1], count)
    return sorted({min(values, key=lambda v: abs(np.log(v / w))) for w in wanted})


def finite(value: float) -> float | None:
    """As JSON has it: None where the value is infinite or none."""
    return float(value) if np.isfinite(value) else None
