"""The ascent on a GPU: one batch of all sign draws and restarts, against the loop over them.

    PYTHONPATH=src python benchmarks/gpu_ascent.py --out "$OUT/ascent.json"

Needs numpy and torch only. Both run on the same device and do the same work from the same starts;
the record says what was run, where, how long it took and whether the values agree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT / "src") not in sys.path:
    sys.path.insert(0, str(ROOT / "src"))

import dudley as du  # noqa: E402
from dudley.audit.ascent import supremum_below  # noqa: E402
from dudley.core.provenance import gpu_driver  # noqa: E402


def network(d: int):
    S = du.Spectral
    head = du.Head(d, W_v=S(1.0), W_QK=S(4.0), W_c=S(1.0), query="cls")
    return head >> du.Readout(du.L2(1.0))


def sample(config):
    rng = np.random.default_rng(config.seed)
    X = rng.normal(size=(config.n, config.T, config.d))
    X /= np.linalg.norm(X, axis=-1, keepdims=True)
    return X, rng.choice([-1.0, 1.0], size=(config.draws, config.n))


def timed(config, device: str, at_once: int | None, draws: int) -> tuple[float, np.ndarray]:
    """Seconds and values of the ascent for the first ``draws`` sign vectors."""
    X, signs = sample(config)
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    start = time.perf_counter()
    supremum = supremum_below(
        network(config.d), X, signs[:draws], restarts=config.restarts, steps=config.steps,
        seed=config.seed, device=device, at_once=at_once,
    )  # fmt: skip
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start, supremum


def source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def machine(device: str) -> dict:
    machine = {"python": platform.python_version(), "numpy": np.__version__}
    machine |= {"torch": torch.__version__, "cuda": torch.version.cuda, "cpus": os.cpu_count()}
    if device.startswith("cuda"):
        machine["gpu"] = torch.cuda.get_device_name()
        machine["driver"] = gpu_driver()
    return machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    sizes = {"d": 64, "n": 1000, "T": 8, "draws": 32, "restarts": 8, "steps": 40, "seed": 0}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--loop-draws", type=int, default=32, help="sign draws in the loop")
    parser.add_argument("--cpu-draws", type=int, default=1, help="of the loop on the processor")
    parser.add_argument("--out", default=str(Path(os.environ.get("OUT", ".")) / "ascent.json"))
    config = parser.parse_args()

    timed(config, config.device, None, config.draws)  # warm up: kernels, libraries, memory
    timed(config, config.device, 1, 1)
    batch, values = min(
        (timed(config, config.device, None, config.draws) for _ in range(3)), key=lambda r: r[0]
    )
    loop, apart = timed(config, config.device, 1, config.loop_draws)
    loop *= config.draws / config.loop_draws
    record = {
        "command": [sys.executable, *sys.argv],
        "config": vars(config),
        "machine": machine(config.device),
        "src_sha256": source_hash(),
        "precision": "float64",
        "seconds": {"batch": batch, "loop": loop},
        "ratio_loop_over_batch": loop / batch,
        "values": {
            "batch_mean": float(values.mean()),
            "largest_relative_difference": float(np.max(np.abs(apart / values[: len(apart)] - 1))),
        },
    }
    if config.cpu_draws:
        torch.set_num_threads(1)
        cpu, on_cpu = timed(config, "cpu", 1, config.cpu_draws)
        record["seconds"]["cpu_loop_one_thread"] = cpu * config.draws / config.cpu_draws
        near = np.max(np.abs(on_cpu / values[: len(on_cpu)] - 1))
        record["values"]["largest_relative_difference_to_cpu"] = float(near)
    Path(config.out).write_text(json.dumps(record, indent=2) + "\n")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
