"""Certified spectral norms on a GPU: exact norms met, the processor's intervals met, and the time.

    PYTHONPATH=src python benchmarks/gpu_measure.py --out "$OUT/measure.json"

Needs numpy, scipy and torch only. Matrices with norms known exactly (a Hadamard matrix, integers
of rank one, permutations at 1e150 and 1e-150, denormals of float32 and float64) must lie between
the ends found on the device; on random weights the intervals of device and processor must share a
point, and ranks must agree. Times are against ``torch.linalg.svdvals`` on the same device.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "src", ROOT / "benchmarks"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from gpu_ascent import machine, source_hash  # noqa: E402

from dudley.weights.certified import measured, product_spectral, spectral  # noqa: E402

F64 = torch.float64


def known() -> dict[str, tuple[torch.Tensor, float]]:
    """Matrices and their exact norms."""
    H = torch.ones(1, 1, dtype=F64)
    for _ in range(10):
        H = torch.cat((torch.cat((H, H), 1), torch.cat((H, -H), 1)))
    u = torch.arange(1.0, 700.0, dtype=F64)
    cycle = torch.roll(torch.eye(512, dtype=F64), 1, 0)
    return {
        "hadamard 1024": (H, 32.0),
        "integers of rank one": (torch.outer(u, u), float(u @ u)),
        "ones in bfloat16": (torch.ones(900, 400, dtype=torch.bfloat16), 600.0),
        "permutation at 1e150": (cycle * 1e150, 1e150),
        "permutation at 1e-150": (cycle * 1e-150, 1e-150),
        "denormals of float32": (cycle.float() * 2.0**-149, 2.0**-149),
        "denormals of float64": (cycle * 5e-324, 5e-324),
    }


def typical(n: int, seed: int) -> dict[str, torch.Tensor]:
    source = torch.Generator().manual_seed(seed)
    gaussian = torch.randn(n, n, generator=source)
    left, right = (
        torch.linalg.qr(torch.randn(n, n, generator=source, dtype=F64))[0] for _ in range(2)
    )
    trained = (left * torch.arange(1, n + 1, dtype=F64) ** -0.7) @ right
    return {"gaussian": gaussian, "power law": trained.float(), "orthogonal": left}


def seconds(function, repeats: int) -> float:
    times = []
    for _ in range(repeats + 1):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096])
    parser.add_argument("--agree", type=int, default=768, help="size compared with the processor")
    parser.add_argument("--out", default=str(Path(os.environ.get("OUT", ".")) / "measure.json"))
    config = parser.parse_args()
    device = config.device

    exact = {}
    for name, (W, norm) in known().items():
        interval = spectral(W, device)
        exact[name] = {"norm": norm, "lower": interval.lower, "upper": interval.upper}
        exact[name]["contained"] = interval.contains(norm)
    agreement = {}
    for name, W in typical(config.agree, config.seed).items():
        here, there = measured(W, 0.1, "cpu"), measured(W, 0.1, device)
        meet = max(here.op.lower, there.op.lower) <= min(here.op.upper, there.op.upper)
        near = max(abs(here.norms[k] / there.norms[k] - 1) for k in here.norms)
        agreement[name] = {
            "intervals_meet": meet,
            "excess": there.op.excess,
            "ranks_agree": here.rank == there.rank,
            "largest_relative_difference_of_norms": near,
        }
    A, B = (W[:, :64] for W in list(typical(config.agree, config.seed + 1).values())[:2])
    here, there = product_spectral(A, B), product_spectral(A, B, device)
    agreement["product"] = {
        "intervals_meet": max(here.lower, there.lower) <= min(here.upper, there.upper),
        "excess": there.excess,
    }
    speed = {}
    for n in config.sizes:
        for name, W in typical(n, config.seed).items():
            W = W.to(device).to(F64)
            ours = seconds(lambda W=W: spectral(W, device), config.repeats)
            theirs = seconds(lambda W=W: torch.linalg.svdvals(W), 1)
            speed[f"{name} {n}"] = {"certified": ours, "svdvals": theirs, "ratio": theirs / ours}
    record = {
        "command": [sys.executable, *sys.argv],
        "config": vars(config),
        "machine": machine(device),
        "src_sha256": source_hash(),
        "precision": "float64",
        "exact": exact,
        "agreement": agreement,
        "seconds": speed,
        "least_ratio": min(entry["ratio"] for entry in speed.values()),
        "all_certified": all(entry["contained"] for entry in exact.values())
        and all(entry["intervals_meet"] for entry in agreement.values()),
    }
    Path(config.out).write_text(json.dumps(record, indent=2) + "\n")
    print(json.dumps(record, indent=2))
    if not record["all_certified"] or not math.isfinite(record["least_ratio"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
