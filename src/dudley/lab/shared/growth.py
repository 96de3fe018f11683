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
    Cells,
    by_block,
    critical,
    held_out,
    law,
)
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


def growth(cells: Cells, bootstrap: dict[str, int], compare: bool = True) -> dict[str, Any]:
    """Both laws fitted to all cells, with one slope b and with b depending on T.

    ``difference``, where they are compared: held-out log-likelihood of the power law less that of
    the log law, summed over cells, with its interval and by T.
    """
    laws: dict[str, Any] = {}
    for kind, tilted in (("plain", False), ("tilted", True)):
        by_law: dict[str, Any] = {}
        for name in LAWS:
            fitted = law(cells, name, tilted)
            by_law[name] = {
                "θ": fitted.θ.value,
                "interval": [finite(fitted.θ.lowest), finite(fitted.θ.highest)],
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
        if compare and len(cells.lengths) > 2:
            each = [held_out(cells, name, tilted) for name in LAWS]
            by_law["difference"] = difference(cells, each[0] - each[1])
        laws[kind] = by_law
    scatter = by_block(cells, bootstrap["draws"], bootstrap["seed"] + 2_000)
    laws["blocks"] = {
        "error": finite(scatter.error),
        "interval": [finite(scatter.lowest), finite(scatter.highest)],
        "draws": len(scatter.values),
    }
    return laws


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
    """The widest of α's intervals: profiles with one b and with b by T, and blocks of cells."""
    parts = [grown[kind]["power"]["interval"] for kind in ("plain", "tilted")]
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
