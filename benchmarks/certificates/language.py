"""A small GPT on WordNet's glosses, trained here, and what can be said of it from training alone.

    python benchmarks/certificates/language.py --out results/certificates/language.json

Needs the Debian package wordnet-base. Two models: one with every matrix on a grid of its own, and
one in a random subspace. Each is trained on one thread in minutes and certified on all 100,000
training documents and on 10,000 drawn by its hash; the 15,018 documents left out are only looked
at beside. The record holds the certificates, the code words among them: `recheck` needs only the
corpus.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import time
from pathlib import Path

import numpy as np
import torch

from dudley.certificates.methods.language.certificate import (
    certify,
    decode_model,
    held_out,
    recheck,
)
from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.fit import CodeTraining, fit, fit_subspace
from dudley.certificates.methods.language.gpt import Gpt
from dudley.certificates.methods.language.smoothing import ENTRIES
from dudley.certificates.methods.language.wordnet import FOLDER, PACKAGE, SHA256, wordnet

N, DELTA, PART = 100_000, 0.05, 10_000
POPULATION = (
    "glosses of WordNet 3.0 of at least 16 characters, each text once: its first 64 characters in "
    "an alphabet of 32 signs; training documents were drawn from them without replacement"
)
MODELS = {
    "quantised": (Gpt(32, 64, 24, 4, 8, 96, 1), CodeTraining(steps=5000, q=4, shrink=0.03), 0),
    "subspace": (Gpt(32, 64, 24, 4, 8, 64, 1), CodeTraining(steps=3000, q=3, shrink=0.0), 1500),
}


def trained(name: str, recipe: CodeTraining, train) -> tuple[Coded, dict]:
    """The model, and the seconds it took."""
    gpt, _, D = MODELS[name]
    start, cpu = time.perf_counter(), time.process_time()

    def log(step, loss):
        print(
            f"{name}: step {step}, {loss:.3f} bits, {time.process_time() - cpu:.0f} s", flush=True
        )

    model = fit_subspace(gpt, train, recipe, D, log=log) if D else fit(gpt, train, recipe, log)
    print(f"{name}: {model.word.length} bits, {model.sha256}", flush=True)
    return model, {"train": time.perf_counter() - start, "train_cpu": time.process_time() - cpu}


def certified(name: str, recipe: CodeTraining, model: Coded, seconds: dict, train, rest) -> dict:
    """Certify, look at the documents left out."""
    start, cpu = time.perf_counter(), time.process_time()
    declared = {"delta": DELTA, "population": POPULATION}
    whole = certify(model, train, **declared)
    seconds |= {"certify": time.perf_counter() - start, "certify_cpu": time.process_time() - cpu}
    part = certify(model, train, evaluated=PART, **declared)
    outside = held_out(model, ENTRIES[whole.choices["smoothing"]], rest, DELTA)
    odd = recheck(part.to_json(), train)
    print("\n".join(whole.advice), f"\npart: {part.value:.4f}, left out: {outside}", flush=True)
    return {
        "name": name,
        "gpt": model.gpt.to_json(),
        "recipe": dataclasses.asdict(recipe),
        "dimensions": MODELS[name][2],
        "value": whole.value,
        "from_part": part.value,
        "left_out": outside,
        "rechecked": not odd,
        "seconds": {what: round(s, 1) for what, s in seconds.items()},
        "certificate": whole.to_json(),
        "certificate_from_part": part.to_json(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--steps", type=int, help="of training, instead of those of the recipes")
    parser.add_argument("--again", type=Path, help="a record: certify its models, do not train")
    parser.add_argument("--only", choices=MODELS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    corpus = wordnet(folder=args.folder)
    train, rest = corpus.split(N, args.seed)
    record = {
        "corpus": {"package": PACKAGE, "sha256": SHA256, "documents": corpus.n},
        "seed": args.seed,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
        },
        "machine": platform.processor() or platform.machine(),
        "models": [],
    }
    for name in [args.only] if args.only else MODELS:
        recipe = MODELS[name][1]
        recipe = dataclasses.replace(recipe, seed=args.seed, steps=args.steps or recipe.steps)
        if args.again:
            models = json.loads(args.again.read_text())["models"]
            row = next(row for row in models if row["name"] == name)
            model, recipe = decode_model(row["certificate"], train), CodeTraining(**row["recipe"])
            seconds = {what: s for what, s in row["seconds"].items() if what.startswith("train")}
        else:
            model, seconds = trained(name, recipe, train)
        rows = {name: certified(name, recipe, model, seconds, train, rest)}
        if args.out:
            if args.out.is_file():
                models = json.loads(args.out.read_text())["models"]
                rows = {row["name"]: row for row in models} | rows
            record["models"] = [rows[name] for name in MODELS if name in rows]
            args.out.parent.mkdir(parents=True, exist_ok=True)
            args.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
