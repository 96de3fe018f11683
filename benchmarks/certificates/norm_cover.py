"""Norm-cover certificates of trained one-layer heads: sparse AND and majority, three seeds each.

    OMP_NUM_THREADS=1 python benchmarks/certificates/norm_cover.py --seed 0 \
        --out results/certificates/norm-cover.json

Each cell draws n examples, trains a head with a fixed query (`dudley.certificates.fit.heads`),
certifies it (δ = 0.05, all defaults, every norm and margin paid for), and counts its errors on 10⁶
fresh draws. ``l1`` is the same certificate where only norms and no number of nonzeros may be read
off. The settings were fixed on seeds 100 and 101; the record has seeds 0, 1 and 2.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src")]

import numpy as np  # noqa: E402
import torch  # noqa: E402

from dudley.certificates.fit.heads import fit_best  # noqa: E402
from dudley.certificates.fit.recipes import head_fits  # noqa: E402
from dudley.certificates.methods.norm_cover.method import NormCover  # noqa: E402
from dudley.certificates.samples import draw_examples  # noqa: E402
from dudley.core.provenance import provenance  # noqa: E402

TASKS = ("and", "majority")
FRESH = 10**6
MUST = {("and", 32, 10**5): 0.006, ("and", 32, 10**4): 0.06, ("majority", 32, 10**5): 0.008}


def cell(task: str, T: int, n: int, seed: int) -> dict:
    """One training, its certificate and its test error."""
    start = time.perf_counter()
    config = {"name": task, "T": T, "s": 3}
    data = draw_examples(config, n, seed)
    encoding = {"name": "bits", "T": T}
    model, used = fit_best(data, encoding, head_fits(encoding, seed))
    trained = time.perf_counter()
    method = NormCover()
    certificate = method(model, data)
    declared = method.read_declared({"norms": ["l1"]})
    norms_only = method.certify(model, data, declared, method.choose(model, data, declared))
    fresh = draw_examples(config, FRESH, seed, "test")
    errors = int((model.margins(fresh) <= 0).sum())
    ended = time.perf_counter()
    return {
        "task": config,
        "n": n,
        "seed": seed,
        "certificate": certificate.value,
        "l1": norms_only.value,
        "vacuous": certificate.vacuous,
        "delta": certificate.delta,
        "choices": certificate.choices,
        "facts": certificate.facts,
        "nats": certificate.bill.nats,
        "prices": [price.to_json() for price in certificate.prices],
        "nonzeros": {name: int(np.count_nonzero(W)) for name, W in model.weights.items()},
        "test_errors": errors,
        "test_examples": FRESH,
        "fit": used.to_json(),
        "model_sha256": model.sha256,
        "data_sha256": data.sha256,
        "advice": list(certificate.advice),
        "seconds": {"train": trained - start, "certify_and_test": ended - trained},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--T", type=int, nargs="+", default=[32, 16])
    parser.add_argument("--n", type=float, nargs="+", default=[1e5, 1e4, 1e6])
    options = parser.parse_args()
    versions = {"torch": torch.__version__, "threads": torch.get_num_threads()}
    record = {"benchmark": "norm-cover", "provenance": provenance() | versions, "cells": []}
    seeds = range(options.seed, options.seed + options.seeds)
    for T, n, seed, task in itertools.product(options.T, map(int, options.n), seeds, TASKS):
        row = cell(task, T, n, seed)
        must = MUST.get((task, T, n))
        row["must_hold"] = must
        record["cells"].append(row)
        print(
            f"{task:9} T={T} n={n:>8} seed={seed}  certificate {row['certificate']:.6f}"
            f"  (norms only {row['l1']:.6f}; must {must})  test {row['test_errors']}/{FRESH}"
            f"  {sum(row['seconds'].values()):.0f} s",
            flush=True,
        )
        if options.out is not None:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    missed = [r for r in record["cells"] if r["must_hold"] and r["certificate"] > r["must_hold"]]
    if missed:
        raise SystemExit(f"{len(missed)} cells above what must hold")


if __name__ == "__main__":
    main()
