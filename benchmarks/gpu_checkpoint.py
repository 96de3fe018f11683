"""A whole checkpoint measured on the GPU and on the CPU: the same command, the same answers.

    PYTHONPATH=src python benchmarks/gpu_checkpoint.py --out "$OUT/checkpoint.json"

Runs ``dudley measure PATH --device … --json`` twice and compares every certified number.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from gpu_ascent import machine, source_hash

ROOT = Path(__file__).resolve().parents[1]


def measured(path: str, device: str) -> tuple[float, list[dict]]:
    """Seconds of the command, and its items."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "dudley", "measure", path, "--device", device, "--json"],
        env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return time.perf_counter() - start, json.loads(done.stdout)["items"]


def numbers(item, path="") -> dict[str, float]:
    """Every number of an item by its place."""
    if isinstance(item, dict):
        pairs = [(f"{path}.{k}", v) for k, v in item.items()]
    elif isinstance(item, list):
        pairs = [(f"{path}.{i}", v) for i, v in enumerate(item)]
    else:
        return {path: float(item)} if isinstance(item, int | float) else {}
    return {k: v for location, value in pairs for k, v in numbers(value, location).items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--path", default=str(ROOT / "src/dudley/examples/tiny-bert"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    config = parser.parse_args()
    (there, on_device), (here, two) = (measured(config.path, d) for d in (config.device, "cpu"))
    first, second = numbers(on_device), numbers(two)
    apart = max(abs(first[k] - second[k]) / max(abs(second[k]), 1e-300) for k in second)
    record = {
        "command": [sys.executable, *sys.argv],
        "config": {"path": Path(config.path).name, "device": config.device},
        "machine": machine(config.device),
        "src_sha256": source_hash(),
        "precision": "float64",
        "numbers": len(second),
        "same_numbers": first.keys() == second.keys(),
        "largest_relative_difference": apart,
        "seconds": {config.device: there, "cpu": here},
    }
    config.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))
    return int(not (record["same_numbers"] and apart < 1e-9))


if __name__ == "__main__":
    sys.exit(main())
