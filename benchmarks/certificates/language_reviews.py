"""One pass over IMDB's reviews: a byte-level GPT on a CUDA machine, certified by its own log.

    python benchmarks/certificates/language_reviews.py --size 25m --device cuda \
        --data FOLDER --out results/certificates/language-reviews.json

One review is one document, cut at 2,048 bytes; copies and near-copies are removed from the pool by
the rule of the source, so the population is that of different reviews, read without replacement.
The stretch is the last half. The totals are compared with what xz needs for the same bytes as one
file. With ``--documents`` and ``--set`` the same runs at any size on a processor.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dudley.certificates.sources.base import SOURCES
from dudley.certificates.texts.base import DocumentModel, model_of
from dudley.certificates.texts.documents import Documents
from dudley.certificates.texts.forms import TextPass
from dudley.certificates.texts.learner import TextDescent
from dudley.certificates.texts.one_pass import certify_texts
from dudley.cli.certify_picks import settings_of
from dudley.core.backend import torch
from dudley.core.provenance import provenance

LONGEST, SHORTEST = 2048, 100
SIZES: dict[str, dict[str, Any]] = {
    "20m": {"d": 512, "layers": 6, "heads": 8},
    "25m": {"d": 512, "layers": 8, "heads": 8},
    "50m": {"d": 640, "layers": 10, "heads": 10},
    "85m": {"d": 768, "layers": 12, "heads": 12},
}
DESCENT = TextDescent(batch=32, rate=8e-4, warmup=100, least=0.05, half=True)


def row(
    model: DocumentModel,
    documents: Documents,
    descent: TextDescent,
    declared: TextPass,
    device: str,
) -> dict[str, Any]:
    """One pass: what was declared, certificates, and what stands beside them."""
    with tempfile.TemporaryDirectory() as folder:
        made = certify_texts(model, documents, folder, declared, descent, device=device, say=print)
    forms = {
        name: {
            "value": certificate.value,
            "mean_loss": certificate.facts.mean_loss,
            "limit": certificate.facts.limit,
            "counted": certificate.facts.counted,
        }
        for name, certificate in made.certificates.items()
    }
    return {
        "model": model.table(),
        "descent": asdict(descent),
        "weights": made.weights,
        "seed": declared.seed,
        "n": made.certificates["mean"].facts.units,
        "bytes": sum(map(len, made.stretch)),
        "forms": forms,
        "beside": [asdict(compared) for compared in made.beside],
        "seconds": round(made.seconds, 1),
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="where the package of the source lies")
    parser.add_argument("--size", choices=SIZES, action="append")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--documents", type=int, default=0, help="the first of the order; 0 is all")
    parser.add_argument("--longest", type=int, default=LONGEST)
    parser.add_argument("--set", dest="settings", action="append", help="of the model: name=value")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    pool = SOURCES["imdb"]().pool(options.data)
    raw = (text.encode().replace(b"\0", b" ") for text in pool.items.X)
    documents = Documents.of(raw, options.longest, SHORTEST, distinct=True)
    counts = {name: getattr(documents, name) for name in ("n", "cut", "short", "copies")}
    sample = {"source": asdict(pool.provenance), "documents": counts, "longest": options.longest}
    rows = []
    for size in options.size or ("25m",):
        settings = SIZES[size] | {"context": options.longest} | settings_of(options.settings)
        for seed in options.seed or (0,):
            declared = TextPass(n=options.documents, seed=seed, population=pool.population)
            descent = DESCENT if options.device == "cuda" else TextDescent()
            rows.append(
                row(model_of("gpt", settings), documents, descent, declared, options.device)
            )
            print(json.dumps(rows[-1]), flush=True)
            record = {"delta": 0.05, "sample": sample, "rows": rows, "provenance": provenance()}
            options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
