"""Methods side by side on several tasks: one training and certificate, or all of them at once.

    python benchmarks/certificates/methods.py export POOLS           # reads the packages, once
    python benchmarks/certificates/methods.py run POOLS ROWS --device cuda --workers 14
    python benchmarks/certificates/methods.py merge ROWS results/certificates/methods.json \
        --machine WORDS

`recipes.py` beside this file has the tasks, the trainings and what is declared of them, all fixed
before the runs. ``run`` works off every job (task, method, n, seed) in a process of its own and
leaves a JSON file for each; a job whose file is there is not run again. ``--only TEXT`` takes the
jobs whose name begins with it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from pools import FreshPool, draw, export, facts_of
from recipes import AROUND, BAYES, DELTA, HELD_OUT, JOBS, OCCAM, PICKED, SHARED, TASKS, Job, Recipe

from dudley import certify_around
from dudley.certificates.beside import hold_out_beside
from dudley.certificates.learners.training import TrainingLearner
from dudley.certificates.methods.pick_to_learn.method import PickToLearn
from dudley.certificates.predictor import Predictor
from dudley.certificates.records import to_json
from dudley.certificates.side_by_side import SCHEMA
from dudley.certificates.training import certify_training
from dudley.core.provenance import provenance
from dudley.core.watch import Watch


def picked(job: Job, recipe: Recipe, learner: TrainingLearner, pool: FreshPool) -> dict[str, Any]:
    """A row of pick-to-learn."""
    declared = recipe.declared(job)
    result = certify_training(learner, data=pool.sample, seed=job.seed, say=print, **declared)
    facts = result.certificate.facts
    counts = {"picks": facts.picks, "failures": facts.failures, "examples counted": facts.N}
    row = {"value": result.certificate.value, "counts": counts, "declared": declared}
    if pool.size is not None and result.certificate.declared.most is None:
        of_pool = replace(result.certificate.declared, pool=pool.size)
        choices = result.certificate.choices
        with_pool = PickToLearn().made(result.model, pool.sample, of_pool, choices)
        row["pool_value"] = with_pool.value
        row["undrawn_value"] = with_pool.facts.undrawn_error_at_most
    return row | measured(result.model, pool)


def held_out(job: Job, recipe: Recipe, learner: TrainingLearner, pool: FreshPool) -> dict[str, Any]:
    """A row of the hold-out: three splits, each at a third of δ."""
    beside = hold_out_beside(learner, pool.sample, delta=DELTA, seed=job.seed, say=print)
    splits = [
        {"value": split.value, "trained": split.trained, "errors": split.certificate.facts.errors,
         "held out": split.certificate.facts.n} | measured(split.model, pool)
        for split in beside.splits
    ]  # fmt: skip
    best = min(splits, key=lambda split: split["value"])
    counts = {"errors": best["errors"], "examples held out": best["held out"]}
    fresh = {name: best[name] for name in ("test_error", "fresh", "model_sha256")}
    return {"value": best["value"], "counts": counts, "splits": splits} | fresh


def around(job: Job, recipe: Recipe, learner: TrainingLearner, pool: FreshPool) -> dict[str, Any]:
    """A row of a code or of a posterior around the model that a share gave."""
    n0, device = int(recipe.share * job.n), learner.device
    print(f"{job.method} around the model of {n0:,} examples, on {device}", flush=True)
    result = certify_around(
        learner, data=pool.sample, method=job.method, seed=job.seed, delta=DELTA, initial=n0,
        tolerance=recipe.tolerance, among=recipe.among, watch=Watch(say=print),
        **AROUND[job.method],
    )  # fmt: skip
    facts = to_json(result.certificate.facts)
    counts = {name: facts[field] for name, field in COUNTED[job.method].items()}
    fresh = pool.fresh.part(slice(0, 10_000))
    start = int((result.start.predictor.margins(fresh) <= 0).sum()) / fresh.n
    return {"value": result.certificate.value, "counts": counts, "test_error": start,
            "fresh": fresh.n}  # fmt: skip


def measured(model: Predictor, pool: FreshPool) -> dict[str, Any]:
    """The error among the examples that were not drawn; it certifies nothing."""
    wrong = int((model.margins(pool.fresh) <= 0).sum())
    fresh, n = {"test_error": wrong / pool.fresh.n}, pool.fresh.n
    return fresh | {"fresh": n, "model_sha256": model.sha256}


COUNTED = {
    OCCAM: {"bits": "bits", "failures": "failures", "examples counted": "counted"},
    BAYES: {"nats of divergence": "divergence", "mean failure of the draws": "mean_failure",
            "at most, over all draws": "mean_failure_at_most", "examples counted": "counted"},
}  # fmt: skip
KINDS = {PICKED: picked, SHARED: picked, HELD_OUT: held_out, OCCAM: around, BAYES: around}


def row(job: Job, pools: Path, device: str) -> dict[str, Any]:
    """One job."""
    recipe, pool = TASKS[job.task].recipe(job), draw(pools, job.task, job.n, job.seed)
    training = recipe.training(pools)
    learner = TrainingLearner(training, job.seed, recipe.warm, recipe.batch, device)
    start = time.perf_counter()
    made = KINDS[job.method](job, recipe, learner, pool)
    return {
        **asdict(job),
        **made,
        "guessing": 1 - float(np.bincount(pool.fresh.y).max()) / pool.fresh.n,
        "learner": learner.table(),
        "data_sha256": pool.sample.sha256,
        "device": device,
        "seconds": round(time.perf_counter() - start, 1),
    }


def run(options: argparse.Namespace) -> None:
    """Every job in a process of its own, the longest first."""
    options.rows.mkdir(parents=True, exist_ok=True)
    waiting = [job for job in JOBS if job.name.startswith(options.only)]
    waiting = [job for job in waiting if not (options.rows / f"{job.name}.json").is_file()]
    begin = time.perf_counter()

    def work(job: Job) -> None:
        if options.seconds and time.perf_counter() - begin > options.seconds:
            return
        device = options.device if TASKS[job.task].on_gpu else "cpu"
        command = [sys.executable, __file__, "job", options.pools, options.rows, "--name", job.name]
        env = os.environ | {"OMP_NUM_THREADS": "1", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        log = options.rows / f"{job.name}.log"
        with log.open("w") as file:
            done = subprocess.run([*map(str, command), "--device", device], env=env,
                                  stdout=file, stderr=subprocess.STDOUT)  # fmt: skip
        if done.returncode:
            tail = log.read_text(encoding="utf-8").splitlines()[-3:]
            print(f"{job.name} failed: {' / '.join(tail)}", flush=True)
            return
        made = json.loads((options.rows / f"{job.name}.json").read_text(encoding="utf-8"))
        print(f"{job.name}: {made['value']:.4g} {made['counts']} fresh {made['test_error']:.4g} "
              f"{made['seconds']} s", flush=True)  # fmt: skip

    with ThreadPoolExecutor(options.workers) as workers:
        list(workers.map(work, sorted(waiting, key=lambda job: -TASKS[job.task].weight * job.n)))


def merge(options: argparse.Namespace) -> None:
    """All rows as one record."""
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in options.rows.glob("*.json")]
    order = {job.name: i for i, job in enumerate(JOBS)}
    rows.sort(key=lambda row: order[Job(row["task"], row["method"], row["n"], row["seed"]).name])
    tasks = [facts_of(task, rows) for task in TASKS if any(row["task"] == task for row in rows)]
    record = {"schema": SCHEMA, "delta": DELTA, "tasks": tasks, "rows": rows}
    record |= {"machine": options.machine, "provenance": provenance(["merge"])}
    options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("export")
    command.add_argument("pools", type=Path)
    for name in ("run", "job"):
        command = commands.add_parser(name)
        command.add_argument("pools", type=Path)
        command.add_argument("rows", type=Path)
        command.add_argument("--device", default="cpu")
        command.add_argument("--only", default="")
        command.add_argument("--name", default="")
        command.add_argument("--workers", type=int, default=1)
        command.add_argument("--seconds", type=float, default=0)
    command = commands.add_parser("merge")
    command.add_argument("rows", type=Path)
    command.add_argument("out", type=Path)
    command.add_argument("--machine", required=True, help="where the rows were made, with versions")
    options = parser.parse_args()
    if options.command == "export":
        export(options.pools)
    elif options.command == "merge":
        merge(options)
    elif options.command == "run":
        run(options)
    else:
        job = next(job for job in JOBS if job.name == options.name)
        made = row(job, options.pools, options.device)
        part = options.rows / f"{job.name}.part"
        part.write_text(json.dumps(made), encoding="utf-8")
        part.rename(options.rows / f"{job.name}.json")


if __name__ == "__main__":
    main()
