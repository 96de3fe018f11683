"""Pick-to-learn on sparse AND and majority: two-layer Transformers, from the start alone.

    python benchmarks/certificates/picks.py --seed 0 --seed 1 --seed 2 \
        --out results/certificates/picks.json

T = 32 bits, of which 3 count; N = 100,000 examples; δ = 0.05; uniform weights. The networks and the
settings of both recipes were chosen on draws 31 to 36 of another generator, and are fixed here.
Every row holds the recipe, the seed, picks and failures, the certificate, the errors among 100,000
fresh examples, and the seconds that training and certifying took. All seeds that were run are kept.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.samples import draw_examples
from dudley.certificates.training import certify_training
from dudley.core.backend import torch
from dudley.core.provenance import provenance

T, S, N = 32, 3, 100_000
TOLERANCE = 1e-4  # of a margin: float32 logits differ by less between batch sizes


@dataclass(frozen=True)
class BitsRecipe:
    """How the start is drawn, and how it is trained on the picks."""

    task: str
    batches: tuple[int, ...]
    place_scale: float
    value_scale: float
    rate: float
    decay: float
    penalty: float  # of the ℓ2 norms of the place vectors, added up
    enough: float  # a training loss at which training stops
    steps: int = 150
    rounds: int = 80


RECIPES = (
    BitsRecipe("and", (3, 1), 0.01, 0.1, 8e-3, 0.5, 1e-3, 0.03),
    BitsRecipe("majority", (1,), 0.02, 0.02, 4e-3, 0.1, 0.0, 0.01),
)


class BitsTransformer(torch.nn.Module):
    """Two pre-LN layers over 32 bits and [CLS]; a bit is ±v at the start, plus its place."""

    def __init__(self, recipe: BitsRecipe, d: int = 64):
        super().__init__()
        value = torch.randn(d) * recipe.value_scale
        self.values = torch.nn.Parameter(torch.stack([value, -value]))
        self.places = torch.nn.Parameter(torch.randn(T, d) * recipe.place_scale)
        self.cls = torch.nn.Parameter(torch.randn(1, 1, d) * 0.02)
        layer = torch.nn.TransformerEncoderLayer(
            d, 4, 2 * d, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.readout = torch.nn.LayerNorm(d), torch.nn.Linear(d, 2)
        torch.nn.init.zeros_(self.readout.weight)
        torch.nn.init.zeros_(self.readout.bias)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        rows = self.values[X.long()] + self.places  # n × T × d
        rows = torch.cat([self.cls.expand(len(X), -1, -1), rows], 1)
        return self.readout(self.norm(self.layers(rows)[:, 0]))


def fit(recipe: BitsRecipe, model: BitsTransformer, X: np.ndarray, y: np.ndarray) -> None:
    """AdamW on all picks at once, 20 steps of warm-up, then a cosine."""
    inputs, labels = torch.from_numpy(X), torch.from_numpy(y)
    optimiser = torch.optim.AdamW(
        model.parameters(), recipe.rate, betas=(0.9, 0.98), weight_decay=recipe.decay
    )
    for step in range(recipe.steps):
        cosine = 0.5 + 0.5 * math.cos(math.pi * step / recipe.steps)
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate * min(1, (step + 1) / 20) * cosine + 1e-5
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimiser.zero_grad()
        (loss + recipe.penalty * model.places.norm(dim=1).sum()).backward()
        optimiser.step()
        if loss.item() < recipe.enough and step > 30:
            break


def row(recipe: BitsRecipe, seed: int) -> dict[str, Any]:
    """One training and its certificate."""
    task = {"name": recipe.task, "T": T, "s": S}
    data, fresh = (draw_examples(task, N, seed, split) for split in ("train", "test"))
    start = time.perf_counter()
    result = certify_training(
        partial(BitsTransformer, recipe), partial(fit, recipe), data, seed=seed, say=print,
        batches=recipe.batches, rounds=recipe.rounds, tolerance=TOLERANCE,
    )  # fmt: skip
    seconds, facts = time.perf_counter() - start, result.certificate.facts
    return {
        "recipe": asdict(recipe),
        "seed": seed,
        "N": facts.N,
        "picks": facts.picks,
        "failures": facts.failures,
        "value": result.certificate.value,
        "fresh_errors": int((result.model.margins(fresh) <= 0).sum()),
        "guessing": result.certificate.baseline["error_at_least"],
        "data_sha256": data.sha256,
        "model_sha256": result.model.sha256,
        "seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, action="append", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = []
    for recipe in RECIPES:
        for seed in options.seed:
            rows.append(row(recipe, seed))
            print(json.dumps(rows[-1]))
            record = {"delta": 0.05, "rows": rows, "provenance": provenance()}
            options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
