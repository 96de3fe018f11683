"""Some cells of the AND grid on a processor, to be compared with the same trials on a GPU.

    OMP_NUM_THREADS=1 python benchmarks/cpu_cells.py --out results/cpu-train

The same keys, so the same data, first weights and dropout masks: what differs is rounding.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

import protocols  # noqa: E402
from gpu_ascent import machine  # noqa: E402

from dudley.lab.conduct import digests_of  # noqa: E402
from dudley.lab.grid.trial import TrialGrid  # noqa: E402
from dudley.lab.training import pack, train_grid, trainings  # noqa: E402

CELLS = {"T": 100, "m": (60, 80, 100, 120)}
COLUMNS = ("task.T", "task.m", "trial", "result.extremes.holdout_accuracy",
           "result.metrics.holdout_accuracy", "result.metrics.loss")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    whole = trainings("and", 0, protocols.AND, protocols.AND_TRIALS)
    wanted = [
        trial
        for trial in whole.trials
        if trial.config["task"]["T"] == CELLS["T"]
        and trial.config["task"]["m"] in CELLS["m"]
        and trial.config["trial"] < options.trials
    ]
    grid = TrialGrid(wanted, "and-cells", 0)
    batches = pack(grid, 2 << 30, options.workers)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        table = train_grid(grid, folder, workers=options.workers, batches=batches, progress=True)
        took = time.perf_counter() - start
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "and-cells.parquet"
    pq.write_table(pa.table({n: table[n] for n in COLUMNS}), file)
    config = {"protocol": protocols.AND, "cells": CELLS, "trials": options.trials}
    config["packing"] = [len(batch) for batch in batches]
    record = {
        "command": ["python", *sys.argv],
        **digests_of(config, [file]),
        "seed": 0,
        "machine": machine("cpu"),
        "precision": "float32",
        "seconds": took,
    }
    (options.out / "provenance.json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
