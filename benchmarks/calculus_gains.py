"""What the rules of the calculus gain: every statement and shipped network, before and after.

    PYTHONPATH=OLD/src python benchmarks/calculus_gains.py before
    python benchmarks/calculus_gains.py after

The first is run with a checkout whose rules are to be compared; both write into one record
(`results/calculus/gains.json`), from which `make generate` writes a section of docs/tightness.md.
Statements are evaluated at their registered examples. Networks are asked for log₁₀ of the n at
which the gap is half the range of the loss, and the single head for its gap at a million examples.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import dudley as du
from dudley.core.errors import DudleyError
from dudley.networks import files
from dudley.theorems import registry

RECORD = Path(__file__).resolve().parents[1] / "results/calculus/gains.json"
NETWORKS = ("single-head", "trauger2024-head", "bert-base", "vit-b", "gpt2-small")


def statements() -> dict[str, dict[str, float]]:
    """Of each statement the values of our forms at its example; without those that have none."""
    found: dict[str, dict[str, float]] = {}
    for name, statement in registry.load().items():
        for form in ("derived", "best"):
            try:
                value = statement.evaluate_on(statement.example, form).value
            except DudleyError:
                continue
            if math.isfinite(value):
                found.setdefault(name, {})[form] = value
    return found


def networks() -> dict[str, dict[str, float]]:
    """Of each network the sizes from which it says something, and what one gap is."""
    found: dict[str, dict[str, float]] = {}
    for name in NETWORKS:
        shape = files.load(name, {})
        cap = du.capacity(shape.network, shape.inputs, loss=shape.loss)
        half = cap.loss.range / 2
        found[name] = {"log10 n": cap.log10_needed_n(half)}
        if name == "single-head":
            found[name]["gap at 1e6"] = cap.gap(0.05, 1e6).value
        try:
            found[name]["log10 n, no training error"] = cap.log10_needed_n(half, train_error=0.0)
        except TypeError:  # older rules know of no training error
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("side", choices=("before", "after"))
    side = parser.parse_args().side
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record[side] = {"statements": statements(), "networks": networks()}
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
