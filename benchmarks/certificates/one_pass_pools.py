"""One pass over IMDB with a fine-tuned MiniLM, and over MNIST with a ViT, beside other methods.

    python benchmarks/certificates/methods.py export POOLS
    python benchmarks/certificates/one_pass_pools.py POOLS --device cuda \
        --out results/certificates/one-pass-pools.json

Samples are those of `methods.py`: n items of a pool without copies, by the same seeds. Fixed
beforehand: the settings below, with rates as in `recipes.py`; the stretch is the second half;
δ = 0.05. A step predicts a batch and then learns from it and from items that were read before,
twice. The model that predicts is the running average of the weights. Beside each pass stands the
hold-out of equal total data: the same training on four fifths of the items, tested on the last
fifth. `MARGIN` says what is expected: at most so much above the hold-out. The items differ, so the
number is about one that had not come before. Rows that ``--out`` has are not made again; a run
takes minutes, and one that was killed begins anew.

The first rows of IMDB (``averaging`` 0, a stretch after a fifth) predicted with the last weights;
with 40,000 reviews they gave .0900 where .0896 was expected. The settings were changed after that,
so all rows since pay for a choice among `TRIED`.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.data import Dataset
from dudley.certificates.one_pass import errors_of, train_one_pass
from dudley.certificates.price import Bill, one_of
from dudley.certificates.trainings.augment import warped
from dudley.certificates.trainings.base import training_named
from dudley.certificates.trainings.vit import ViT, brightness
from dudley.core.backend import torch
from dudley.core.files import written
from dudley.core.provenance import provenance

DELTA = 0.05
SEEDS = (0, 1)
BATCH, REPLAY, UPDATES = 32, 96, 2
MARGIN = 0.01
TRIED = 2
BENDS = (15.0, 0.25, 0.25, 0.1, 0.12)  # rotation, shear, scale, shift, elastic: as in `recipes.py`


@dataclass(frozen=True)
class PassSetting:
    """A model, its rates, and how inputs are changed before it learns from them."""

    learner: str
    make: Callable[[Path], torch.nn.Module]
    rate: float
    head_rate: float
    decay: float
    warmup: int
    smoothing: float
    averaging: float
    sizes: tuple[int, ...]
    bent: bool = False


def minilm(pools: Path) -> torch.nn.Module:
    """MiniLM with a new head."""
    return training_named(f"hf:{pools / 'minilm'}", {"dropout": 0.0}).make_model()


def vit(pools: Path) -> torch.nn.Module:
    """Four layers over 49 patches, as in `recipes.py`."""
    return ViT(classes=10, layers=4, d=96, heads=6, hidden=192).make_model()


TASKS = {
    "imdb": PassSetting("minilm", minilm, 1e-4, 1e-3, 0.01, 50, 0.1, 0.99, (10_000, 40_000)),
    "mnist": PassSetting("vit", vit, 1e-3, 1e-3, 0.05, 100, 0.1, 0.995, (60_000,), bent=True),
}


class OnDevice(torch.nn.Module):
    """A module that moves what it reads to where its weights are."""

    def __init__(self, inner: torch.nn.Module, device: str):
        super().__init__()
        self.inner, self.device = inner.to(device), device

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.inner(X.to(self.device))


class PassTraining:
    """A model at its start, and one step of its training."""

    def __init__(self, setting: PassSetting, pools: Path, steps: int, seed: int, device: str):
        torch.manual_seed(seed)
        self.setting, self.device, self.steps, self.step = setting, device, steps, 0
        self.live = OnDevice(setting.make(pools), device)
        self.model = copy.deepcopy(self.live)  # the average, which predicts
        named = list(self.live.named_parameters())
        head = [W for name, W in named if ".readout." in name]
        body = [W for name, W in named if ".readout." not in name]
        self.rates = (setting.rate, setting.head_rate)
        groups = [
            {"params": part, "lr": rate}
            for part, rate in zip((body, head), self.rates, strict=True)
        ]
        self.optimiser = torch.optim.AdamW(groups, weight_decay=setting.decay)

    def update(self, X: torch.Tensor, y: torch.Tensor) -> None:
        """One step of the optimiser, at the rate of this share of the pass."""
        warm = min(1.0, (self.step + 1) / self.setting.warmup)
        now = warm * (1 - 0.9 * self.step / self.steps)
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * now
        self.step += 1
        X, y = X.to(self.device), y.to(self.device)
        inputs = warped(brightness(X), *BENDS) if self.setting.bent else X
        self.optimiser.zero_grad()
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            outputs = self.live(inputs).float()
        smoothing = self.setting.smoothing
        torch.nn.functional.cross_entropy(outputs, y, label_smoothing=smoothing).backward()
        torch.nn.utils.clip_grad_norm_(self.live.parameters(), 1.0)
        self.optimiser.step()
        keep = min(self.setting.averaging, self.step / (self.step + 9))
        with torch.no_grad():
            average, live = list(self.model.parameters()), list(self.live.parameters())
            torch._foreach_lerp_(average, live, 1 - keep)


def row_of(task: str, sample: Dataset, pools: Path, seed: int, device: str) -> dict[str, Any]:
    """One pass and its certificate, and the hold-out of as many items."""
    begin, setting = time.perf_counter(), TASKS[task]
    training = PassTraining(setting, pools, -(-sample.n // BATCH) * UPDATES, seed, device)
    with tempfile.TemporaryDirectory() as folder:
        certificate = train_one_pass(
            training.model, training.update, sample, folder,
            batch=BATCH, replay=REPLAY, updates=UPDATES, seed=seed, start=sample.n // 2,
            among=TRIED, distinct=True, population=f"different items of the pool {task}",
            say=lambda line: print(line, flush=True),
        )  # fmt: skip
    facts = certificate.facts
    beside = hold_out(setting, sample, pools, seed, device)
    return {
        "task": task,
        "learner": setting.learner,
        "n": facts.units,
        "seed": seed,
        "averaging": setting.averaging,
        "among": TRIED,
        "counted": facts.counted,
        "errors": round(facts.mean_loss * facts.counted),
        "value": certificate.value,
        "quantity": certificate.quantity,
        "hold_out": beside,
        "within_margin": certificate.value <= beside["value"] + MARGIN,
        "seconds": round(time.perf_counter() - begin, 1),
    }


def hold_out(
    setting: PassSetting, sample: Dataset, pools: Path, seed: int, device: str
) -> dict[str, Any]:
    """The same training on four fifths of the items, and its errors on the last fifth."""
    n = sample.n - sample.n // 5
    X, y = torch.from_numpy(sample.X.copy()), torch.from_numpy(sample.y.copy())
    training = PassTraining(setting, pools, -(-n // BATCH) * UPDATES, seed, device)
    draws = np.random.default_rng([seed, 1])
    training.live.train()
    for first in range(0, n, BATCH):
        for _ in range(UPDATES):
            rows = np.arange(first, min(first + BATCH, n))
            old = draws.integers(0, first, REPLAY) if first else rows[:0]
            chosen = torch.from_numpy(np.concatenate([rows, old]))
            training.update(X[chosen], y[chosen])
    parts = (slice(i, i + 256) for i in range(n, sample.n, 256))
    errors = sum(int(errors_of(training.model, X[part], y[part]).sum()) for part in parts)
    held_out, bill = sample.n - n, Bill(DELTA, (one_of("recipe", TRIED),))
    return {
        "held_out": held_out,
        "errors": errors,
        "value": binomial_upper(errors, held_out, bill.log_confidence),
    }


def drawn(pools: Path, task: str, n: int, seed: int) -> Dataset:
    """As `pools.draw` draws them."""
    with np.load(pools / f"{task}.npz") as arrays:
        X, y = arrays["X"], arrays["y"].astype(np.int64)
    X = X.astype(np.int32) if X.ndim == 2 else X
    order = np.random.default_rng([seed, len(y)]).permutation(len(y))[:n]
    return Dataset(X[order], y[order])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pools", type=Path)
    parser.add_argument("--task", choices=TASKS, action="append")
    parser.add_argument("--n", type=int, action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--rows", type=Path, action="append", default=[], help="of other records")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    for path in (options.out, *options.rows):
        if path.exists():
            rows += json.loads(path.read_text(encoding="utf-8"))["rows"]
    for task in options.task or TASKS:
        for n in options.n or TASKS[task].sizes:
            for seed in options.seed or SEEDS:
                run = {"task": task, "n": n, "seed": seed, "averaging": TASKS[task].averaging}
                if any(run.items() <= row.items() for row in rows):
                    continue
                sample = drawn(options.pools, task, n, seed)
                rows.append(row_of(task, sample, options.pools, seed, options.device))
                print(json.dumps(rows[-1]), flush=True)
                record = {"delta": DELTA, "rows": rows, "provenance": provenance()}
                with written(options.out) as file:
                    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
