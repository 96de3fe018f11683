"""One pass over sparse AND, majority and MNIST 0/1: Transformers with replay, a linear learner.

    python benchmarks/certificates/one_pass.py --seed 0 --seed 1 --seed 2 \
        --out results/certificates/one-pass.json

T = 32 bits, of which 3 count; n = 100,000 examples; δ = 0.05; the stretch begins after the first
tenth. Both learners were set on the draws of seed 31, and are fixed here. After ``busy`` steps only
one of ``then`` updates the model. MNIST 0/1 (n = 10,000, a stretch after the first fifth) is learnt
by a two-layer ViT from images that are bent at random; its settings were tried once, on the sample
of seed 7. Each row holds the errors in the stretch, the certificate, the errors of the *last* model
on fresh examples (which the certificate is not about), the seconds, and those that logging took.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.data import Dataset
from dudley.certificates.methods.prequential.log import Prequential
from dudley.certificates.one_pass import errors_of, train_one_pass
from dudley.certificates.pictures import POPULATION, pictures
from dudley.certificates.samples import draw_examples
from dudley.certificates.trainings.augment import warped
from dudley.certificates.trainings.vit import ViT, brightness
from dudley.core.backend import torch
from dudley.core.provenance import provenance

T, S, N = 32, 3, 100_000
IMAGES, MNIST = 10_000, "mnist01"
BENDS = (12.0, 0.15, 0.2, 0.08, 0.0)  # rotation, shear, scale, shift, elastic


class BitsEncoder(torch.nn.Module):
    """Two pre-LN layers over 32 bits and [CLS]; a bit is ±v plus its place."""

    def __init__(self, d: int = 32):
        super().__init__()
        value = torch.randn(d) * 0.02
        self.values = torch.nn.Parameter(torch.stack([value, -value]))
        self.places = torch.nn.Parameter(torch.randn(T, d) * 0.02)
        self.cls = torch.nn.Parameter(torch.randn(1, 1, d) * 0.02)
        layer = torch.nn.TransformerEncoderLayer(
            d, 2, 2 * d, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.readout = torch.nn.LayerNorm(d), torch.nn.Linear(d, 2)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        rows = self.values[X.long()] + self.places  # n × T × d
        rows = torch.cat([self.cls.expand(len(X), -1, -1), rows], 1)
        return self.readout(self.norm(self.layers(rows)[:, 0]))


class BitsLinear(torch.nn.Module):
    """One linear map of the bits as ±1."""

    def __init__(self):
        super().__init__()
        self.readout = torch.nn.Linear(T, 2)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return self.readout(2.0 * X - 1.0)


SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("transformer", "and"): {
        "model": BitsEncoder, "rate": 2e-3, "warm": 100, "batch": 100, "replay": 100,
        "busy": 300, "then": 4,
    },
    ("transformer", "majority"): {
        "model": BitsEncoder, "rate": 2e-3, "warm": 100, "batch": 100, "replay": 100,
        "busy": 200, "then": 16,
    },
    ("linear", "and"): {
        "model": BitsLinear, "rate": 2e-2, "warm": 1, "batch": 50, "replay": 200,
        "busy": 2000, "then": 1,
    },
}  # fmt: skip
SETTINGS["linear", "majority"] = SETTINGS["linear", "and"]


def vit() -> torch.nn.Module:
    """Two layers over 49 patches."""
    return ViT(classes=2, layers=2, d=64, heads=4, hidden=128).make_model()


SETTINGS["vit", MNIST] = {
    "model": vit, "rate": 1e-3, "warm": 100, "batch": 25, "replay": 75, "updates": 4,
    "busy": 10**6, "then": 1,
}  # fmt: skip


def row(learner: str, task: str, seed: int) -> dict[str, Any]:
    """One pass and its certificate."""
    setting = SETTINGS[learner, task]
    data, fresh = examples(task, seed)
    torch.manual_seed(seed)
    model, images, updates = setting["model"](), task == MNIST, setting.get("updates", 1)
    decay = 0.05 if images else 0.0
    optimiser = torch.optim.AdamW(model.parameters(), setting["rate"], weight_decay=decay)
    total, step, logging = data.n // setting["batch"] * updates, 0, Clock()
    declared = {"start": data.n // 5, "population": POPULATION} if images else {}

    def update(X: torch.Tensor, y: torch.Tensor) -> None:
        nonlocal step
        step += 1
        if step > setting["busy"] and step % setting["then"]:
            return
        for group in optimiser.param_groups:
            cosine = 0.55 + 0.45 * math.cos(math.pi * step / total)
            falling = 1 - 0.95 * step / total if images else cosine
            group["lr"] = setting["rate"] * min(1, step / setting["warm"]) * falling
        optimiser.zero_grad()
        inputs = warped(brightness(X), *BENDS) if images else X
        smoothing = 0.02 if images else 0.0
        loss = torch.nn.functional.cross_entropy(model(inputs), y, label_smoothing=smoothing)
        loss.backward()
        if images:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, logging:
        certificate = train_one_pass(
            model, update, data, folder,
            batch=setting["batch"], replay=setting["replay"], updates=updates, seed=seed, say=print,
            **declared,
        )  # fmt: skip
    seconds = time.perf_counter() - begin
    wrong = sum(
        int(errors_of(model, torch.tensor(fresh.X[part]), torch.tensor(fresh.y[part] * 1)).sum())
        for part in (slice(first, first + 1000) for first in range(0, fresh.n, 1000))
    )
    facts = certificate.facts
    return {
        "task": task,
        "learner": learner,
        "weights": sum(W.numel() for W in model.parameters()),
        "batch": setting["batch"],
        "replay": setting["replay"],
        "busy": setting["busy"],
        "then": setting["then"],
        "updates": updates,
        "seed": seed,
        "n": facts.units,
        "counted": facts.counted,
        "errors": round(facts.mean_loss * facts.counted),
        "value": certificate.value,
        "last_model_fresh_errors": wrong,
        "seconds": round(seconds, 1),
        "logging_seconds": round(logging.seconds, 2),
    }


def examples(task: str, seed: int) -> tuple[Dataset, Dataset]:
    """A sample, and examples that no training sees."""
    if task == MNIST:
        return pictures(IMAGES, seed), pictures(split="test")
    train, test = (
        draw_examples({"name": task, "T": T, "s": S}, N, seed, split) for split in ("train", "test")
    )
    return train, test


class Clock:
    """Seconds spent in `Prequential.before`, while it is entered."""

    seconds = 0.0

    def __enter__(self) -> Clock:
        self.plain = Prequential.before

        def before(log: Prequential, *entries: Any, **named: Any) -> None:
            begin = time.perf_counter()
            self.plain(log, *entries, **named)
            self.seconds += time.perf_counter() - begin

        Prequential.before = before
        return self

    def __exit__(self, *error: object) -> None:
        Prequential.before = self.plain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, action="append", required=True)
    parser.add_argument("--learner", choices=("transformer", "linear", "vit"), action="append")
    parser.add_argument("--task", choices=("and", "majority", MNIST), action="append")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--more", action="store_true", help="add to the rows that --out has")
    options = parser.parse_args()
    torch.set_num_threads(1)
    np.seterr(all="raise", under="ignore")
    rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"] if options.more else []
    for learner, task in SETTINGS:
        if learner not in (options.learner or (learner,)) or task not in (options.task or (task,)):
            continue
        for seed in options.seed:
            rows.append(row(learner, task, seed))
            print(json.dumps(rows[-1]), flush=True)
            record = {"delta": 0.05, "rows": rows, "provenance": provenance()}
            options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
