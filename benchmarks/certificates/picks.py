"""Pick-to-learn on sparse AND and majority: two-layer Transformers, from the start alone.

    python benchmarks/certificates/picks.py --seed 0 --seed 1 --seed 2 \
        --out results/certificates/picks.json

T = 32 bits, of which 3 count; N = 100,000 examples; δ = 0.05; uniform weights. The networks and the
settings of both recipes were chosen on draws 31 to 36 of another generator, and are fixed here.
The training is ``encoder`` (`dudley.certificates.trainings.encoder`). Another processor, or another
number of its threads, adds in another order, and a run there may pick a few examples more or fewer.
Every row holds the recipe, the seed, picks and failures, the certificate, the errors among 100,000
fresh examples, and the seconds that training and certifying took. All seeds that were run are kept.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dudley.certificates.learners.training import TrainingLearner
from dudley.certificates.samples import draw_examples
from dudley.certificates.training import certify_training
from dudley.certificates.trainings.encoder import TokenEncoder
from dudley.core.provenance import provenance

T, S, N = 32, 3, 100_000
TOLERANCE = 1e-4  # of a margin: float32 logits differ by less between batch sizes


@dataclass(frozen=True)
class BitsRecipe:
    """What is declared for a task: the start, the training and the rule."""

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

    def training(self) -> TokenEncoder:
        """Two pre-LN layers over 32 bits and [CLS]; a bit is ±v at the start, plus its place."""
        return TokenEncoder(
            length=T, signed=True, token_scale=self.value_scale, place_scale=self.place_scale,
            penalty=self.penalty, rate=self.rate, decay=self.decay, steps=(self.steps,),
            enough=self.enough,
        )  # fmt: skip


RECIPES = (
    BitsRecipe("and", (3, 1), 0.01, 0.1, 8e-3, 0.5, 1e-3, 0.03),
    BitsRecipe("majority", (1,), 0.02, 0.02, 4e-3, 0.1, 0.0, 0.01),
)


def row(recipe: BitsRecipe, seed: int) -> dict[str, Any]:
    """One training and its certificate."""
    task = {"name": recipe.task, "T": T, "s": S}
    data, fresh = (draw_examples(task, N, seed, split) for split in ("train", "test"))
    start = time.perf_counter()
    result = certify_training(
        TrainingLearner(recipe.training(), seed), data=data, seed=seed, say=print,
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
