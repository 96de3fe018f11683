"""The sequential design against full grids: simulated ones, and the record of sparse AND replayed.

    OMP_NUM_THREADS=1 python benchmarks/sequential_design.py results/sequential

``coverage.json``: on simulated grids of several shapes, the share of trials spent and how often
the intervals hold what they promise to hold, with Clopper and Pearson's intervals. ``replay.json``:
the 8,800 outcomes of results/edelman2021-and/paper, of which the design asks for a part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from design_agreement import agreement, full_cells  # noqa: E402

from dudley.core.provenance import provenance  # noqa: E402
from dudley.lab.conduct import digests_of  # noqa: E402
from dudley.lab.shared.growth import finite  # noqa: E402
from dudley.lab.shared.training_table import read  # noqa: E402
from dudley.lab.statistics.critical import Cells, law  # noqa: E402
from dudley.lab.statistics.crossing import crossing  # noqa: E402
from dudley.lab.statistics.halfway import halfway  # noqa: E402
from dudley.lab.statistics.proportions import clopper_pearson  # noqa: E402
from dudley.lab.statistics.sequential import Design, DesignOutcome, replay  # noqa: E402
from success_curves import SHAPES, SIZES, crossings, simulated  # noqa: E402

RECORD = "edelman2021-and/paper"
CONFIG = {
    "design": asdict(Design()),
    "coverage": {"shapes": list(SHAPES), "grids": 1000, "paired_grids": 100, "draws": 200,
                 "seed": 0},
    "replay": {"record": RECORD, "learnt": 0.99, "draws": 2000, "seed": 1},
}  # fmt: skip


def share_of(hits: np.ndarray) -> dict:
    """How often, with the exact interval."""
    k, n = int(np.sum(hits)), int(np.size(hits))
    return {"held": k, "of": n, "share": k / n, "interval": list(clopper_pearson(k, n))}


def coverage(shape: str, plan: dict, seed: int) -> dict:
    """One shape: columns of many grids for the intervals, whole grids for the paired one."""
    p, outcomes = simulated(shape, plan["grids"], seed)
    flat = outcomes.reshape(-1, *outcomes.shape[2:])
    estimate, truth, full = replay(SIZES, flat), crossings(p).ravel(), full_cells(flat)
    steps = estimate.cell - full
    lowest, highest = crossing(estimate.k, estimate.n, estimate.design.level)
    low, high = estimate.full_interval
    size = estimate.size(full)
    paired = [
        agreement(SIZES, one, plan["draws"], seed + i)
        for i, one in enumerate(outcomes[: plan["paired_grids"]])
    ]
    by_column = [(own, one.steps[i]) for one in paired for i, own in enumerate(one.columns)]
    return {
        "columns": len(flat),
        "share_of_trials": {
            "mean": estimate.share,
            "largest": float(estimate.n.sum(-1).max() / 800),
        },
        "curve_in_interval": share_of((lowest <= truth) & (truth <= highest)),
        "full_grid_in_interval": share_of((lowest <= full) & (full <= highest)),
        "full_grid_in_full_interval": share_of((low <= size) & (size <= high)),
        "cells_wide": {
            "interval": float((highest - lowest).mean()),
            "interval_from_all_trials": _width(flat),
            "full_interval": float(_cells(estimate, high).mean() - _cells(estimate, low).mean()),
        },
        "difference_in_steps": {
            "equal": float((steps == 0).mean()), "within_one": float((abs(steps) <= 1).mean()),
            "mean": float(steps.mean()), "deviation": float(steps.std()),
            "full_less_curve": float((full - truth).std()),
        },
        "paired": {
            "0_in_interval_of_the_mean": share_of(
                np.array([one.mean.lowest <= 0 <= one.mean.highest for one in paired])
            ),
            "0_in_interval_of_a_column": share_of(
                np.array([own.lowest <= 0 <= own.highest for own, _ in by_column])
            ),
            "difference_in_interval_of_a_column": share_of(
                np.array([own.lowest <= at <= own.highest for own, at in by_column])
            ),
            "mean_width_of_the_mean": float(
                np.mean([one.mean.highest - one.mean.lowest for one in paired])
            ),
        },
    }  # fmt: skip


def _width(outcomes: np.ndarray) -> float:
    """Of the same interval from all trials of the full grid."""
    k = outcomes.sum(-1)
    lowest, highest = crossing(k, np.full_like(k, outcomes.shape[-1]))
    return float((highest - lowest).mean())


def _cells(estimate: DesignOutcome, m: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.append(estimate.m, np.inf), m)


def replayed(plan: dict) -> dict:
    """Sparse AND: what the design finds in the recorded outcomes, beside what all of them say."""
    table = read(ROOT / "results" / plan["record"] / "trials.parquet")
    T, m = np.unique(table["T"]), np.unique(table["m"])
    trials = len(table["T"]) // (len(T) * len(m))
    outcomes = np.zeros((len(T), len(m), trials), dtype=bool)
    where = np.searchsorted(T, table["T"]), np.searchsorted(m, table["m"]), table["trial"]
    outcomes[where] = table["best"] > plan["learnt"]
    compared = agreement(m, outcomes, plan["draws"], plan["seed"])
    estimate, full = compared.outcome, compared.outcome.size(compared.full)
    whole = outcomes.sum(-1)
    rows = []
    for i, length in enumerate(T):
        curves = {
            name: halfway(m, k[i], n[i])
            for name, k, n in (
                ("sequential", estimate.k, estimate.n), ("full", whole, np.full_like(whole, trials))
            )
        }  # fmt: skip
        rows.append({
            "T": int(length), "trials": int(estimate.n[i].sum()),
            "critical": {"sequential": finite(estimate.critical[i]), "full": finite(full[i])},
            "interval_of_the_curve": [finite(end[i]) for end in estimate.interval],
            "interval_of_the_full_grid": [finite(end[i]) for end in estimate.full_interval],
            "difference_in_steps": {
                "value": int(compared.steps[i]),
                "interval": [compared.columns[i].lowest, compared.columns[i].highest],
            },
            "logistic": {
                name: {"m": finite(curve.m), "error_of_log": finite(curve.error)}
                for name, curve in curves.items()
            },
            "used_by_cell": estimate.n[i].tolist(), "successes_by_cell": estimate.k[i].tolist(),
        })  # fmt: skip
    grid_T, grid_m = (axis.ravel() for axis in np.meshgrid(T, m, indexing="ij"))
    laws = {
        name: law(Cells(grid_T, grid_m, k.ravel().astype(float), n.ravel().astype(float)), "power")
        for name, k, n in (
            ("sequential", estimate.k, estimate.n), ("full", whole, np.full_like(whole, trials))
        )
    }  # fmt: skip
    return {
        "trials": int(estimate.n.sum()), "full_grid": int(outcomes.size), "share": estimate.share,
        "rounds": [int(n.sum()) for n in np.diff([0 * estimate.n, *estimate.rounds], axis=0)],
        "lengths": rows,
        "mean_difference_in_steps": {
            "value": float(compared.steps.mean()),
            "interval": [compared.mean.lowest, compared.mean.highest],
        },
        "exponent": {
            name: {"α": fit.θ.value, "interval": [fit.θ.lowest, fit.θ.highest]}
            for name, fit in laws.items()
        },
    }  # fmt: skip


def write(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    plan = CONFIG["coverage"]
    shapes = {}
    for number, shape in enumerate(plan["shapes"]):
        shapes[shape] = coverage(shape, plan, plan["seed"] + 10_000 * number)
        print(shape, f"{time.perf_counter() - start:.0f} s", flush=True)
    write(out / "coverage.json", {"level": Design().level, "shapes": shapes})
    write(out / "replay.json", replayed(CONFIG["replay"]))
    outputs = [out / "coverage.json", out / "replay.json"]
    source = ROOT / "results" / RECORD / "trials.parquet"
    versions = {name: metadata.version(name) for name in ("numpy", "scipy", "pyarrow")}
    document = provenance() | {
        "command": ["benchmarks/sequential_design.py", *sys.argv[1:]],
        **digests_of(CONFIG, outputs),
        "inputs": {
            f"results/{RECORD}/trials.parquet": hashlib.sha256(source.read_bytes()).hexdigest()
        },
        "machine": versions | {"python": platform.python_version(), "cpus": os.cpu_count()},
        "precision": "float64",
        "seconds": time.perf_counter() - start,
    }
    write(out / "provenance.json", document)


if __name__ == "__main__":
    main()
