"""One pass over IMDB with a fine-tuned MiniLM, for the table that has the other methods.

    python benchmarks/certificates/methods.py export POOLS
    python benchmarks/certificates/one_pass_reviews.py POOLS --device cuda \
        --out results/certificates/one-pass-reviews.json

Samples are those of `methods.py`: n reviews of the pool without near-copies, by the same seeds.
Fixed beforehand: the settings below, with rates as in `recipes.py`; the stretch begins after a
fifth; δ = 0.05. A step predicts 32 reviews and then learns from them and from 96 that were read
before, twice. Beside each pass stands the hold-out of equal total data: the same training on four
fifths of the reviews, tested on the last fifth. `MARGIN` says what is expected: at most so much
above the hold-out. The reviews differ, so the number is about a review that had not come before.
Rows that ``--out`` has are not made again; a run takes minutes, and one that was killed begins
anew.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.data import Dataset
from dudley.certificates.one_pass import errors_of, train_one_pass
from dudley.certificates.price import Bill
from dudley.certificates.trainings.base import training_named
from dudley.core.backend import torch
from dudley.core.files import written
from dudley.core.provenance import provenance

DELTA = 0.05
SIZES, SEEDS = (10_000, 40_000), (0, 1)
BATCH, REPLAY, UPDATES = 32, 96, 2
RATE, HEAD_RATE, DECAY, WARMUP, SMOOTHING = 1e-4, 1e-3, 0.01, 50, 0.1
MARGIN = 0.01
POPULATION = "different reviews of the pool"


class OnDevice(torch.nn.Module):
    """A module that moves what it reads to where its weights are."""

    def __init__(self, inner: torch.nn.Module, device: str):
        super().__init__()
        self.inner, self.device = inner.to(device), device

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.inner(X.to(self.device))


class FineTuning:
    """MiniLM with a new head, and one step of its training."""

    def __init__(self, start: Path, steps: int, seed: int, device: str):
        torch.manual_seed(seed)
        trained = training_named(f"hf:{start}", {"dropout": 0.0}).make_model()
        self.model, self.device, self.steps, self.step = OnDevice(trained, device), device, steps, 0
        named = list(self.model.named_parameters())
        head = [W for name, W in named if ".readout." in name]
        body = [W for name, W in named if ".readout." not in name]
        groups = [{"params": body, "lr": RATE}, {"params": head, "lr": HEAD_RATE}]
        self.optimiser = torch.optim.AdamW(groups, weight_decay=DECAY)

    def update(self, X: torch.Tensor, y: torch.Tensor) -> None:
        """One step of the optimiser, at the rate of this share of the pass."""
        now = min(1.0, (self.step + 1) / WARMUP) * (1 - 0.9 * self.step / self.steps)
        for group, rate in zip(self.optimiser.param_groups, (RATE, HEAD_RATE), strict=True):
            group["lr"] = rate * now
        self.step += 1
        self.optimiser.zero_grad()
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            outputs = self.model(X).float()
        y = y.to(self.device)
        torch.nn.functional.cross_entropy(outputs, y, label_smoothing=SMOOTHING).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()


def row_of(sample: Dataset, start: Path, seed: int, device: str) -> dict[str, Any]:
    """One pass and its certificate, and the hold-out of as many reviews."""
    begin = time.perf_counter()
    tuning = FineTuning(start, -(-sample.n // BATCH) * UPDATES, seed, device)
    with tempfile.TemporaryDirectory() as folder:
        certificate = train_one_pass(
            tuning.model, tuning.update, sample, folder,
            batch=BATCH, replay=REPLAY, updates=UPDATES, seed=seed, start=sample.n // 5,
            distinct=True, population=POPULATION, say=lambda line: print(line, flush=True),
        )  # fmt: skip
    facts = certificate.facts
    beside = hold_out(sample, start, seed, device)
    return {
        "n": facts.units,
        "seed": seed,
        "counted": facts.counted,
        "errors": round(facts.mean_loss * facts.counted),
        "value": certificate.value,
        "quantity": certificate.quantity,
        "hold_out": beside,
        "within_margin": certificate.value <= beside["value"] + MARGIN,
        "seconds": round(time.perf_counter() - begin, 1),
    }


def hold_out(sample: Dataset, start: Path, seed: int, device: str) -> dict[str, Any]:
    """The same training on four fifths of the reviews, and its errors on the last fifth."""
    n = sample.n - sample.n // 5
    X, y = torch.from_numpy(sample.X.copy()), torch.from_numpy(sample.y.copy())
    tuning, draws = FineTuning(start, -(-n // BATCH) * UPDATES, seed, device), seeded(seed)
    tuning.model.train()
    for first in range(0, n, BATCH):
        for _ in range(UPDATES):
            rows = np.arange(first, min(first + BATCH, n))
            old = draws.integers(0, first, REPLAY) if first else rows[:0]
            chosen = torch.from_numpy(np.concatenate([rows, old]))
            tuning.update(X[chosen], y[chosen])
    parts = (slice(i, i + 256) for i in range(n, sample.n, 256))
    errors = sum(int(errors_of(tuning.model, X[part], y[part]).sum()) for part in parts)
    held_out = sample.n - n
    return {
        "held_out": held_out,
        "errors": errors,
        "value": binomial_upper(errors, held_out, Bill(DELTA).log_confidence),
    }


def seeded(seed: int) -> np.random.Generator:
    """What replay draws by."""
    return np.random.default_rng([seed, 1])


def drawn(pools: Path, n: int, seed: int) -> Dataset:
    """As `pools.draw` draws them."""
    with np.load(pools / "imdb.npz") as arrays:
        X, y = arrays["X"].astype(np.int32), arrays["y"].astype(np.int64)
    order = np.random.default_rng([seed, len(y)]).permutation(len(y))[:n]
    return Dataset(X[order], y[order])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pools", type=Path)
    parser.add_argument("--n", type=int, action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    if options.out.exists():
        rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"]
    for n in options.n or SIZES:
        for seed in options.seed or SEEDS:
            if (n, seed) in [(row["n"], row["seed"]) for row in rows]:
                continue
            sample = drawn(options.pools, n, seed)
            rows.append(row_of(sample, options.pools / "minilm", seed, options.device))
            print(json.dumps(rows[-1]), flush=True)
            record = {"delta": DELTA, "task": "imdb", "rows": rows, "provenance": provenance()}
            with written(options.out) as file:
                file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
