"""Fast mode against full-length runs: the same trials both ways, and what each costs.

    OMP_NUM_THREADS=1 python benchmarks/fast_mode.py results/fast-mode

Cells of the AND grid on a processor, in one batch, first as printed, then in fast mode (stop at
success, screened hold-out). Success is by the best check. The margin of equivalence is in `CONFIG`,
which was committed before the run; discordant pairs are listed one by one. Seconds are of the
processor in this process, so that only their ratio means anything elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

import protocols  # noqa: E402

from dudley.core.provenance import provenance  # noqa: E402
from dudley.lab.conduct import digests_of  # noqa: E402
from dudley.lab.shared.edelman2021_protocol import LEARNT  # noqa: E402
from dudley.lab.shared.fast_mode import fast_protocol, missed  # noqa: E402
from dudley.lab.shared.training_table import write  # noqa: E402
from dudley.lab.statistics.discordant import DiscordantPairs  # noqa: E402
from dudley.train.period import Period  # noqa: E402
from dudley.train.problem import Problem  # noqa: E402
from dudley.train.trainer import Memory, Trainer  # noqa: E402

CONFIG = {
    "protocol": protocols.AND, "learnt": LEARNT, "seed": 0,
    "cells": {"T": 100, "m": [60, 80, 100, 120]}, "trials": 16,
    "margin": 0.05,  # of the difference of success rates, over all cells together
    "alpha": 0.05,  # of each of two one-sided tests
}  # fmt: skip
EVALUATIONS = ("_evaluate", "_see_all_rows", "_enter")


def trials_of(config: dict, protocol: dict) -> list[dict]:
    """The trials, as the grid of the experiment has them."""
    cells = config["cells"]
    return [
        {**protocol, "task": protocol["task"] | {"T": cells["T"], "m": m}, "trial": trial,
         "seed": config["seed"]}
        for m in cells["m"] for trial in range(config["trials"])
    ]  # fmt: skip


def trained(trials: list[dict]) -> tuple[list[dict], dict[str, float]]:
    """Results, and the processor's seconds: of all, and of evaluations."""
    spent, depth = {"seconds": 0.0, "evaluations": 0.0}, [0]
    plain = {name: getattr(Period, name) for name in EVALUATIONS}

    def timed(method: Callable) -> Callable:
        def call(*args):
            depth[0] += 1
            start = time.process_time()
            try:
                return method(*args)
            finally:
                depth[0] -= 1
                if not depth[0]:  # one evaluation calls another part of itself
                    spent["evaluations"] += time.process_time() - start

        return call

    for name, method in plain.items():
        setattr(Period, name, timed(method))
    start = time.process_time()
    results = Trainer(Problem(trials), Memory()).run()
    spent["seconds"] = time.process_time() - start
    for name, method in plain.items():
        setattr(Period, name, method)
    assert results is not None
    return results, spent


def compared(config: dict) -> tuple[dict, dict]:
    """The record, and a row for each trial."""
    fast = fast_protocol(config["protocol"], config["learnt"])
    ways = {"full": config["protocol"], "fast": fast}
    results, spent = {}, {}
    for way, protocol in ways.items():
        results[way], spent[way] = trained(trials_of(config, protocol))
        print(way, spent[way], flush=True)
    trials = trials_of(config, config["protocol"])
    best = {w: [one["extremes"]["holdout_accuracy"] for one in r] for w, r in results.items()}
    success = {way: np.array(values) > config["learnt"] for way, values in best.items()}
    columns = {
        "T": [t["task"]["T"] for t in trials], "m": [t["task"]["m"] for t in trials],
        "trial": [t["trial"] for t in trials], "full_best": best["full"],
        "full_last": [one["metrics"]["holdout_accuracy"] for one in results["full"]],
        "fast_steps": [one["steps"] for one in results["fast"]],
        "full_success": success["full"], "fast_success": success["fast"],
    }  # fmt: skip
    pairs = DiscordantPairs.of(*success.values())
    verdict = pairs.equivalence(config["margin"], config["alpha"])
    discordant = np.flatnonzero(success["full"] != success["fast"])
    names = ("T", "m", "trial", "full_best", "fast_steps", "full_success", "fast_success")
    work = {
        way: sum(t["task"]["m"] * one["steps"] for t, one in zip(trials, r, strict=True))
        for way, r in results.items()
    }
    by_m = np.array(columns["m"])
    record = {
        "trials": pairs.trials,
        "successes": {way: int(hits.sum()) for way, hits in success.items()},
        "successes_by_m": {
            str(m): {way: int(hits[by_m == m].sum()) for way, hits in success.items()}
            for m in config["cells"]["m"]
        },
        "discordant": {
            "full_alone": pairs.first_alone, "fast_alone": pairs.other_alone,
            "pairs": [{n: np.asarray(columns[n])[i].item() for n in names} for i in discordant],
        },
        "difference": pairs.difference,
        "interval": [verdict.lowest, verdict.highest], "level": 1 - 2 * config["alpha"],
        "margin": config["margin"], "equivalent": bool(verdict.equivalent), "p": verdict.p,
        "mcnemar_p": pairs.p, "missed_at_most": missed(config | {"protocol": fast}),
        "share_of_token_steps": work["fast"] / work["full"],
        "cpu_seconds": spent,
        "cpu_ratio": {
            part: spent["fast"][part] / spent["full"][part] for part in ("seconds", "evaluations")
        },
    }  # fmt: skip
    return record, columns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    record, columns = compared(CONFIG)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (out / "agreement.json").write_text(text, encoding="utf-8")
    write(out / "trials.parquet", columns)
    versions = {name: metadata.version(name) for name in ("numpy", "scipy", "torch", "pyarrow")}
    document = provenance() | {
        "command": ["benchmarks/fast_mode.py", *sys.argv[1:]],
        **digests_of(CONFIG, [out / "agreement.json", out / "trials.parquet"]),
        "machine": versions | {"python": platform.python_version(), "cpus": os.cpu_count()},
        "precision": "float32",
        "packing": [record["trials"]],
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    (out / "provenance.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
