"""Certificates of every kind that a proof kernel checks, as their files have them."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np

import dudley as du
from certificates.cuts import Cut, Cuts, line
from dudley.certificates.base import METHODS
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.training import certify_training
from dudley.networks.files import EXAMPLES

SHIPPED = sorted(path.parent.name for path in EXAMPLES.glob("*/certificate.json"))
T = 5
HEAD = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1, "sigma": "identity"}


def shipped(name: str) -> dict[str, Any]:
    """The certificate of an example."""
    return json.loads((EXAMPLES / name / "certificate.json").read_text(encoding="utf-8"))


def of_kinds() -> dict[str, dict[str, Any]]:
    """A certificate of each kind, with a price or a share where the kind can have one."""
    correct = np.arange(900) % 30 > 0
    made = {
        "hold-out": METHODS["hold-out"](Cut(0.32), line(800)),
        "hold-out, looks": METHODS["hold-out"](Cut(0.32), line(800), looks=7, among=2),
        "outcomes": du.outcomes(correct=correct),
        "outcomes, parts": du.outcomes(correct=correct, two_sided=True, among=5),
        "norm-cover": METHODS["norm-cover"](*_head()),
        "pick-to-learn": certify_training(Cuts(), None, line(300)).certificate,
        "pick-to-learn, stops": certify_training(
            Cuts(), None, line(300), rounds=(1, 2, 4), among=2
        ).certificate,
    }
    return {name: certificate.to_json() for name, certificate in made.items()}


def _head() -> tuple[Hypothesis, Dataset]:
    """A head that says what the second of five bits is, and noisy examples of it."""
    d, rng = 2 * T + 1, np.random.default_rng(0)
    v, u = np.zeros((d, 1)), np.zeros((d, 1))
    v[[1, T + 1]] = 6.0
    u[1], u[T + 1] = -1.0, 1.0
    tables = {
        "schema": "dudley.net/1",
        "input": {"T": T + 1, "d": d, "X": {"row2inf": 1.0}},
        "layer": [HEAD],
    }
    every = np.array(list(itertools.product([0, 1], repeat=T)), dtype=np.uint8)
    X = every[rng.integers(0, len(every), 4000)]
    y = (X[:, 1] ^ (rng.random(4000) < 0.01)).astype(np.int64)
    return Hypothesis(tables, {"name": "bits", "T": T}, {"0.v": v, "0.W_v": u}), Dataset(X, y)
