"""Attention of the AND classifiers in training on a processor: compiled against trial by trial.

    OMP_NUM_THREADS=1 python benchmarks/cpu_attention.py --out results/cpu-attention

CPU seconds of one thread, the least of some rounds in which both take turns: of attention alone,
forward and backward, and of a whole training step (loss, gradients, clipping, AdamW, but no
evaluation).

Beside them stands a floor: the 6 products that forward and backward cannot do without (scores and
means; their gradients, and those of queries and of rows, which are two), D multiplications and
additions each for every head, token and example, at the rate at which the compiled product runs on
matrices that stay in cache. Masks, rows, their norms and the softmax are counted as free.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

import protocols  # noqa: E402
from gpu_ascent import machine  # noqa: E402

from dudley.core.philox import Stream, keys_tensor, packed_bits  # noqa: E402
from dudley.lab.conduct import digests_of  # noqa: E402
from dudley.train.ensemble.bit_attention import choose  # noqa: E402
from dudley.train.ensemble.bit_attention.by_trial import ByTrial  # noqa: E402
from dudley.train.period import Period  # noqa: E402
from dudley.train.problem import Problem  # noqa: E402
from dudley.train.state import State  # noqa: E402

COMPILED = choose.compiled_for_processor()
if COMPILED is None and __name__ == "__main__":
    sys.exit("cpu_attention: numba is needed: pip install '.[compiled]'")
LENGTHS, EXAMPLES, D, H, DROPOUT = (100, 200, 400), (50, 125, 200), 64, 16, 0.1
PRODUCTS = 6


def cpu_seconds(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """The least of the rounds for each way, after one that is not counted."""
    least = dict.fromkeys(ways, float("inf"))
    for number in range(rounds + 1):
        for name, run in ways.items():
            start = time.process_time()
            run()
            if number:
                least[name] = min(least[name], time.process_time() - start)
    return least


def attention(T: int, m: int, E: int, rounds: int) -> dict[str, float]:
    """CPU seconds of a trial's attention, forward and backward."""
    source, keys = torch.Generator().manual_seed(0), keys_tensor(list(range(1, E + 1)))

    def drawn(*shape: int) -> torch.Tensor:
        return 0.3 * torch.randn(shape, generator=source)

    K = drawn(E, H, m, D)
    leaves = [drawn(E, T + 1, D), drawn(E, D), K - K.mean(-1, keepdim=True)]
    leaves = [leaf.requires_grad_() for leaf in leaves]
    pulls = drawn(E, H, m, D), drawn(E, m, H)
    words = packed_bits(keys, Stream.INPUTS, 0, m, T)
    rest = words, torch.full((E,), m), keys, torch.tensor(7), (DROPOUT, DROPOUT)

    def run(way) -> None:
        torch.autograd.grad(way.apply(*leaves, *rest), leaves, pulls)

    ways = {"by_trial": lambda: run(ByTrial), "compiled": lambda: run(COMPILED.Compiled)}
    return {name: seconds / E for name, seconds in cpu_seconds(ways, rounds).items()}


def step(T: int, m: int, E: int, rounds: int) -> dict[str, float]:
    """CPU seconds of a trial's training step."""
    config = copy.deepcopy(protocols.AND)
    config["task"] |= {"T": T, "m": m, "holdout": 10}
    problem = Problem([config | {"trial": e, "seed": 0} for e in range(E)])
    period, usual = Period(problem, State.start(problem)), choose.compiled_for_processor

    def by_trial() -> None:
        choose.compiled_for_processor = lambda: None
        period._step()
        choose.compiled_for_processor = usual

    ways = {"by_trial": by_trial, "compiled": period._step}
    return {name: seconds / E for name, seconds in cpu_seconds(ways, rounds).items()}


def rate(rounds: int) -> float:
    """Multiplications and additions a second of the compiled product, in cache."""
    from numba import njit

    multiply = COMPILED.compiled_kernels.multiply

    @njit
    def products(times, c, a, b):
        for _ in range(times):
            multiply(c, 0, 64, a, 0, 1, 16, b, 0, 64, 16, 64, 100)

    c, a, b = (np.ones(size, np.float32) for size in (16 * 64, 100 * 16, 100 * 64))
    ways = {"products": lambda: products(2000, c, a, b)}
    return 2000 * 16 * 64 * 100 / cpu_seconds(ways, rounds)["products"]


def measured(E: int, rounds: int) -> dict:
    fastest, cells = rate(rounds), []
    for T in LENGTHS:
        for m in EXAMPLES:
            floor = PRODUCTS * H * D * m * (T + 1) / fastest
            cell = {"T": T, "m": m, "floor": floor}
            for name, seconds in (("attention", attention), ("step", step)):
                cell[name] = seconds(T, m, E, rounds)
                cell[name]["ratio"] = cell[name]["by_trial"] / cell[name]["compiled"]
            cell["over_floor"] = {k: cell["attention"][k] / floor for k in ("by_trial", "compiled")}
            cells.append(cell)
            print(T, m, *(f"{cell[k]['ratio']:.2f}" for k in ("attention", "step")), flush=True)
    return {"products_a_second": fastest, "cells": cells}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = os.getloadavg()[0]
    measures = measured(options.trials, options.rounds)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "attention.json"
    file.write_text(json.dumps(measures, indent=2) + "\n", encoding="utf-8")
    config = {"lengths": LENGTHS, "examples": EXAMPLES, "d": D, "H": H, "dropout": DROPOUT}
    config |= {"trials": options.trials, "rounds": options.rounds, "protocol": protocols.AND}
    versions = {name: metadata.version(name) for name in ("numba", "llvmlite")}
    record = {
        "command": ["python", *sys.argv],
        **digests_of(config, [file]),
        "seed": 0,
        "machine": machine("cpu") | versions | {"lanes": COMPILED.compiled_kernels.LANES},
        "load": [start, os.getloadavg()[0]],
        "precision": "float32",
    }
    (options.out / "provenance.json").write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
