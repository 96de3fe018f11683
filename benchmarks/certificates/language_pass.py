"""One pass over Debian's package descriptions: bits per byte of a model trained on a processor.

    apt-cache dumpavail > avail.txt
    python benchmarks/certificates/language_pass.py avail.txt \
        --release "12.15 of 11 July 2026, with its security of 17 November 2026" \
        --out results/certificates/language-pass.json

A document is the one-line description of a binary package, at most 64 bytes, its end counted as
one. The population is the different documents of the list, from which 50,000 are drawn without
replacement; the last 25,000 of them are the stretch; δ = 0.05. Descriptions are the
packages' copyright and are not shipped: the record has counts, hashes and numbers. The model and
its settings come from two trial passes over another random order of the same list. Both numbers pay
for a choice among three settings; the third was not listed before the first two were read, so that
is no proof for these documents: the record measures the method and the time it takes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dudley.certificates.texts.base import model_of
from dudley.certificates.texts.documents import Documents
from dudley.certificates.texts.forms import TextPass
from dudley.certificates.texts.one_pass import certify_texts
from dudley.core.backend import torch
from dudley.core.provenance import provenance

N, LONGEST, SHORTEST = 50_000, 64, 10
LINE = re.compile(rb"^Description(?:-en)?: (.*)$", re.MULTILINE)


def row(documents: Documents, seed: int) -> dict[str, Any]:
    """One pass: certificates, what stands beside them, and seconds."""
    cpu = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        declared = TextPass(n=N, seed=seed, tried=3, population="different lines of the list")
        made = certify_texts(model_of("gru", {}), documents, folder, declared, say=print)
    forms = {
        name: {
            "value": certificate.value,
            "mean_loss": certificate.facts.mean_loss,
            "limit": certificate.facts.limit,
            "counted": certificate.facts.counted,
            "quantity": certificate.quantity,
        }
        for name, certificate in made.certificates.items()
    }
    return {
        "model": model_of("gru", {}).table(),
        "weights": made.weights,
        "seed": seed,
        "n": N,
        "bytes": sum(map(len, made.stretch)),
        "forms": forms,
        "beside": [asdict(compared) for compared in made.beside],
        "seconds": round(made.seconds, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("avail", type=Path)
    parser.add_argument("--release", required=True, help="version and date of the list")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    lines = LINE.findall(options.avail.read_bytes())
    documents = Documents.of(lines, LONGEST, SHORTEST, distinct=True)
    sample = {
        "source": "Debian main, amd64: one-line descriptions of apt-cache dumpavail",
        "release": options.release,
        "lines": len(lines),
        "documents": documents.n,
        "copies": documents.copies,
        "cut": documents.cut,
        "short": documents.short,
        "longest": LONGEST,
        "shortest": SHORTEST,
        "sha256": hashlib.sha256(b"".join(sorted(documents.texts))).hexdigest(),
    }
    rows = []
    for seed in options.seed or (1,):
        rows.append(row(documents, seed))
        print(json.dumps(rows[-1]), flush=True)
        record = {"delta": 0.05, "sample": sample, "rows": rows, "provenance": provenance()}
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
