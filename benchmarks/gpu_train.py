"""The papers' trainings at full scale on a GPU, and what they cost the ordinary way.

    PYTHONPATH=src python benchmarks/gpu_train.py and ordinary scaling precision --out "$OUT"
    PYTHONPATH=src python benchmarks/gpu_train.py parity majority --out "$OUT"

Each part writes its results (Parquet, a row for each trial) and one JSON of timings; together they
are the records in results/gpu-train*. Needs torch, triton, pyarrow and SQLAlchemy.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

import protocols  # noqa: E402
from gpu_ascent import machine, source_hash  # noqa: E402
from ordinary import seconds  # noqa: E402

from dudley.lab import curves  # noqa: E402
from dudley.lab.shared.edelman2021_protocol import LEARNT  # noqa: E402
from dudley.lab.shared.fast_mode import fast_protocol  # noqa: E402
from dudley.lab.training import memory_of, pack, train_grid, trainings  # noqa: E402
from dudley.train.period import Period  # noqa: E402
from dudley.train.precision import precision  # noqa: E402
from dudley.train.problem import Problem  # noqa: E402
from dudley.train.state import State  # noqa: E402
from dudley.train.trainer import Memory, Pace, Trainer  # noqa: E402

SEED = 0
COLUMNS = ("task.T", "task.m", "trial", "result.steps")


def now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def run(name: str, config: dict, trials: int, device: str, out: Path, curve: tuple[str, ...]):
    """Train a grid into a table of trials and, for some metrics, their curves."""
    grid = trainings(name, SEED, config, trials)
    batches = pack(grid, memory_of(device))
    with tempfile.TemporaryDirectory() as folder:
        start = now(device)
        table = train_grid(grid, folder, device, batches=batches, pace=Pace(checkpoint=120.0),
                           progress=True)  # fmt: skip
        took = now(device) - start
        wanted = [n for n in table.names if n in COLUMNS or n.startswith("result.")]
        columns = {n: table[n] for n in wanted}
        for metric in curve:
            by_trial = curves(folder, metric)
            columns[f"curve.{metric}"] = [
                np.asarray(by_trial[i][1], dtype=np.float32) for i in range(len(grid))
            ]
        pq.write_table(pa.table(columns), out / f"{name}.parquet", compression="zstd")
    return {
        "seconds": took,
        "trials": len(grid),
        "batches": [len(batch) for batch in batches],
        "config": config,
    }


def and_(device: str, out: Path) -> dict:
    """The grid of edelman2021's figure 2: 8,800 trainings with dropout and all hold-outs."""
    return run("and", protocols.AND, protocols.AND_TRIALS, device, out, ("holdout_accuracy",))


def fast(device: str, out: Path) -> dict:
    """The same grid in fast mode: trials stop at success, hold-outs are screened."""
    protocol = fast_protocol(protocols.AND, LEARNT)
    return run("and-fast", protocol, protocols.AND_TRIALS, device, out, ())


def parity(device: str, out: Path) -> dict:
    return run("parity", protocols.PARITY, protocols.PARITY_TRIALS, device, out, ("loss",))


def majority(device: str, out: Path) -> dict:
    return run("majority", protocols.MAJORITY, protocols.MAJORITY_TRIALS, device, out, ())


def ordinary(device: str, out: Path) -> dict:
    """One trial as a module in a loop, at every T of the grid and the mean m."""
    sizes = protocols.AND["task"]["m"]
    mean = round(sum(sizes) / len(sizes))
    each = {T: seconds(T, mean, device, 10, 2000) for T in protocols.LENGTHS}
    how = protocols.AND["training"]
    checks = how["steps"] // how["evaluate_every"]
    trial = {T: how["steps"] * step + checks * held for T, (step, held) in each.items()}
    whole = sum(trial.values()) * len(sizes) * protocols.AND_TRIALS
    return {"seconds_of_a_trial": trial, "seconds_of_the_grid": whole, "m": mean}


def scaling(device: str, out: Path) -> dict:
    """Milliseconds of a step and of an evaluation against T, m and E; ceilings of the device."""
    rows = []
    for T, m, E in (
        (100, 100, 400), (200, 100, 400), (400, 100, 400), (800, 100, 400),
        (200, 50, 400), (200, 200, 400), (200, 100, 50), (200, 100, 100), (200, 100, 800),
    ):  # fmt: skip
        config = copy.deepcopy(protocols.AND)
        config["task"] |= {"T": T, "m": m}
        problem = Problem([config | {"trial": t, "seed": SEED} for t in range(E)], device)
        with precision("fast"):
            state = State.start(problem)
            period = Period(problem, state)
            period(10)
            start = now(device)
            for _ in range(3):
                period(10)
            both = (now(device) - start) / 30
            start = now(device)
            for _ in range(3):
                with torch.no_grad():
                    period._metrics()
            check = (now(device) - start) / 3
        tokens = E * m * (T + 1)
        weights = sum(a * b for a, b in problem.ensemble.shapes.values())
        rows.append({
            "T": T, "m": m, "E": E, "step_ms": 1e3 * both, "evaluation_ms": 1e3 * check,
            "tokens_per_second": tokens / both, "bytes": least_bytes(E, m, T, weights),
            "flops": least_flops(E, m, T),
        })  # fmt: skip
        print(rows[-1], flush=True)
        del period, state, problem
    bandwidth, products = _copy(device), _products(device)
    for row in rows:
        row["fraction_of_copy_bandwidth"] = 1e3 * row["bytes"] / row["step_ms"] / bandwidth
        row["fraction_of_matrix_rate"] = 1e3 * row["flops"] / row["step_ms"] / products
    return {"rows": rows, "copy_bytes_per_second": bandwidth, "fp16_flops_per_second": products}


def least_bytes(E: int, m: int, T: int, weights: int, d: int = 64, H: int = 16) -> int:
    """Bytes that a step must move, each tensor read and written once where it is made and used.

    Folded queries, mixed rows and their gradients (H·d an example, and parts of the last by block
    of tokens), a token's two statistics, rows and their gradients, what the rest of the network
    keeps of an example (about 10 rows of width d and 4 of width 4d, and their gradients), and
    seven passes over the weights by Adam.
    """
    blocks = -(-(T + 1) // 64)
    example = H * d * (8 + 2 * blocks) + 4 * (T + 1) + 2 * 2 * d * (10 + 4 * 4)
    return 4 * E * (m * example + 4 * (T + 1) * d + 7 * weights)


def least_flops(E: int, m: int, T: int, d: int = 64, H: int = 16) -> int:
    """Products of a token with H folded queries, 2 forward and 5 backward, and of the MLP."""
    return 2 * E * m * ((T + 1) * 7 * H * d + 3 * 12 * d * d)


def exactness(device: str, out: Path) -> dict:
    """The cells of T = 100 in float32 throughout, to compare with the fast ones."""
    config = copy.deepcopy(protocols.AND)
    config["task"]["T"] = [100]
    config["training"]["precision"] = "ieee"
    return run("and-ieee", config, protocols.AND_TRIALS, device, out, ())


def repeat(device: str, out: Path) -> dict:
    """The cells of T = 100 for 200 steps, twice: are all metrics the same, bit by bit?"""
    config = copy.deepcopy(protocols.AND)
    config["task"]["T"] = [100]
    config["training"]["steps"] = 200
    grid = trainings("and", SEED, config, protocols.AND_TRIALS)
    (batch,) = pack(grid, memory_of(device))
    seen = []
    for _ in range(2):
        memory = Memory()
        Trainer(Problem([trial.config for trial in batch.trials], device), memory).run()
        seen.append(np.array([list(metrics.values()) for _, metrics in memory.points]))
    return {"same": bool(np.array_equal(seen[0], seen[1], equal_nan=True)), "shape": seen[0].shape}


def _copy(device: str) -> float:
    x = torch.empty(1 << 28, device=device)
    y = torch.empty_like(x)
    y.copy_(x)
    start = now(device)
    for _ in range(10):
        y.copy_(x)
    return 10 * 2 * x.numel() * 4 / (now(device) - start)


def _products(device: str) -> float:
    x = torch.randn(8192, 8192, device=device).half()
    x @ x
    start = now(device)
    for _ in range(10):
        x @ x
    return 10 * 2 * 8192**3 / (now(device) - start)


PARTS = {
    "and": and_, "and-fast": fast, "ordinary": ordinary, "scaling": scaling, "precision": exactness,
    "parity": parity, "majority": majority, "repeat": repeat,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record = {"command": sys.argv, "seed": SEED, "machine": machine(options.device)}
    record |= {"src_sha256": source_hash(), "precision": "fast", "parts": {}}
    for part in options.parts:
        record["parts"][part] = PARTS[part](options.device, options.out)
        print(part, {k: v for k, v in record["parts"][part].items() if k != "config"}, flush=True)
        text = json.dumps(record, indent=2) + "\n"
        (options.out / f"train-{'-'.join(options.parts)}.json").write_text(text)


if __name__ == "__main__":
    main()
