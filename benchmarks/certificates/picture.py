"""The picture of README: every certificate and every published bound on one trained head.

    OMP_NUM_THREADS=1 python benchmarks/certificates/picture.py

A head for sparse majority (T = 32 bits, 3 of them relevant) is trained on 10⁵ examples as in
`norm_cover.py`, and tested on as many fresh ones, which are also the hold-out. Hold-out and
norm-cover are about this head, Occam's bound about the same head quantised, PAC-Bayes about a
posterior on the same network and data; the published bounds are evaluated at the head's norms.
What is declared (δ, the prior's scale, Catoni's form) is what `pac_bayes.py` declares. The
settings of the trainings were fixed on other seeds: 100 and 101 for heads, 0 for posteriors, so
the record has seed 1. `make generate` draws the figure and the tables from the record.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src")]

import torch  # noqa: E402

from dudley.certificates.fit.heads import HeadFit, fit_best  # noqa: E402
from dudley.certificates.fit.posterior import PosteriorTraining  # noqa: E402
from dudley.certificates.samples import draw_examples  # noqa: E402
from dudley.certificates.standing import standing  # noqa: E402
from dudley.core.provenance import provenance  # noqa: E402
from dudley.show.as_text import text  # noqa: E402
from dudley.show.standing import document  # noqa: E402

TASK = {"name": "majority", "T": 32, "s": 3}
ENCODING = {"name": "bits", "T": 32}
N = 100_000
PENALTIES = (2e-3, 5e-3)
PLAN = {"steps": 1500, "batch": 1024}
DECLARED = {"pac-bayes": {"forms": ["catoni"], "scale": 4.0, "pairs": 200_000, "share": 0.1}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=N)
    parser.add_argument("--out", type=Path, default=ROOT / "results/certificates/picture.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.perf_counter()
    train, test = (
        draw_examples(TASK, options.n, options.seed),
        draw_examples(TASK, options.n, options.seed, "test"),
    )
    tried = [HeadFit(penalty=p, seed=options.seed) for p in PENALTIES]
    model, used = fit_best(train, ENCODING, tried)
    trained = time.perf_counter()
    plan = PosteriorTraining(**PLAN, seed=options.seed)
    picture = standing(model, train, test, declared=DECLARED, plan=plan)
    record = {
        "what": "certificates and published bounds on one head for sparse majority",
        "provenance": provenance() | {"torch": torch.__version__, "threads": 1},
        "config": {
            "task": TASK,
            "encoding": ENCODING,
            "n": options.n,
            "seed": options.seed,
            "fit": used.to_json(),
            "posterior": plan.to_json(),
            "declared": DECLARED,
        },
        "model_sha256": model.sha256,
        "data_sha256": {"train": train.sha256, "test": test.sha256},
        "seconds": {
            "train": round(trained - start, 1),
            "standing": round(time.perf_counter() - trained, 1),
        },
        "standing": picture.to_json(),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(
        json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    print(text(document(picture)))


if __name__ == "__main__":
    main()
