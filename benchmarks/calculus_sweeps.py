"""What a sweep of 200 points costs, in evaluations of the network in the same run.

    OMP_NUM_THREADS=1 python benchmarks/calculus_sweeps.py results/calculus-sweeps

The network of the README, the same with other norms, BERT-base and GPT-2 small; along n, along T
and along a norm, together (``networks.together``) and one point after the other. Each begins with
empty tables. CPU seconds of this process, the least of the repeats; the load is kept as well.
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
sys.path.insert(0, str(ROOT / "src"))

import dudley as du  # noqa: E402
from dudley.calculus import hull  # noqa: E402
from dudley.core.provenance import provenance  # noqa: E402
from dudley.lab.conduct import digests_of  # noqa: E402
from dudley.networks import files, together  # noqa: E402
from dudley.networks.capacity import Capacity  # noqa: E402

CONFIG = {
    "points": 200, "delta": 0.05, "repeats": 3,
    "networks": {
        "head of the README": {"norm": "l11", "n": 1e6, "along": "W_QK.l11"},
        "the same, col21": {"norm": "col21", "n": 1e6, "along": "W_QK.col21"},
        "the same, fro": {"norm": "fro", "n": 1e6, "along": "W_QK.fro"},
        "bert-base": {"n": 1e11, "along": "W_Q.op"},
        "gpt2-small": {"n": 1e11, "along": "W_Q.op"},
    },
    "T": [2, 402, 2], "norm": [0.1, 100.0], "n": [1e3, 1e12],
}  # fmt: skip
NORMS = {"l11": du.L11, "col21": du.Col21, "fro": du.Frobenius}


def network(name: str, **values: float) -> Capacity:
    """The network of that name, with other values of some of its numbers."""
    kind = CONFIG["networks"][name].get("norm")
    if kind is None:
        shape = files.load(name, values)
        return du.capacity(shape.network, shape.inputs, loss=shape.loss)
    norm, r = NORMS[kind], values.get(f"W_QK.{kind}", 20.0)
    head = du.Head(d=64, W_QK=norm(r), W_v=norm(1.0), W_c=norm(1.0))
    inputs = du.Tokens(row2inf=1.0, T=int(values.get("T", 128)))
    return du.capacity(head >> du.Readout(w=du.L1(1.0)), inputs)


def seconds(evaluate: Callable[[], object], repeats: int) -> float:
    """CPU seconds from empty tables."""
    times = []
    for _ in range(repeats):
        hull.forget()
        start = time.process_time()
        evaluate()
        times.append(time.process_time() - start)
    return min(times)


def measured(name: str) -> dict[str, object]:
    """One network along its three axes."""
    here, δ = CONFIG["networks"][name], CONFIG["delta"]
    n, repeats, points = here["n"], CONFIG["repeats"], CONFIG["points"]
    single = seconds(lambda: network(name).gaps([n], δ), 3 * repeats)
    along_n = np.geomspace(*CONFIG["n"], points)
    axes = {
        "T": [{"T": T} for T in range(*CONFIG["T"])],
        here["along"]: [{here["along"]: r} for r in np.geomspace(*CONFIG["norm"], points)],
    }
    record: dict[str, object] = {"one evaluation, ms": round(1e3 * single, 1)}
    record["n"] = round(seconds(lambda: network(name).gaps(along_n, δ), repeats) / single, 1)
    for axis, every in axes.items():
        swept = seconds(lambda e=every: together.gaps([network(name, **v) for v in e], n, δ), 2)
        singly = seconds(lambda e=every: [network(name, **v).gaps([n], δ) for v in e], 1)
        record[axis] = {
            "together": round(swept / single, 1),
            "one by one": round(singly / single, 1),
        }
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    start, record = time.perf_counter(), {}
    for name in CONFIG["networks"]:
        load = round(os.getloadavg()[0], 2)
        record[name] = measured(name) | {"load": load}
        print(name, record[name], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    sweeps = options.out / "sweeps.json"
    sweeps.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    document = provenance() | {
        "command": ["benchmarks/calculus_sweeps.py", *sys.argv[1:]],
        **digests_of(CONFIG, [sweeps]),
        "machine": {"numpy": metadata.version("numpy"), "python": platform.python_version(),
                    "cpus": os.cpu_count()},
        "precision": "float64",
        "seconds": time.perf_counter() - start,
    }  # fmt: skip
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    (options.out / "provenance.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
