"""Losses and bets as whole numbers, for the claim of `proof/Losses.v`.

The kernel is given the book of fixed bets θ_j with weights w_j, which depend on n and c alone, and
how often each loss came. θ_j is rounded down to a fraction of 2^44; w_j is one of 2^53. A loss is
rounded up to one of 2^44: the claim is about losses that are no larger than those it lists.

>>> listed = KernelLosses.of(np.array([0.0, 0.25, 0.0, 1.0]), 3.0)
>>> listed.counts == ((0, 2), (1 << 42, 1), (1 << 44, 1)), sum(w for _, w in listed.bets) <= WEIGHT
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.methods.hold_out.intervals.fixed_bets import bets_for
from dudley.core.errors import InputError

BITS = 44  # of a bet, and of a loss
WEIGHT = 1 << 53  # the unit of weights
MOST = 4096  # losses that differ: more take a kernel minutes
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class KernelLosses:
    """Bets with their weights, and losses with how often each came, ascending."""

    bets: Pairs
    counts: Pairs

    @staticmethod
    def of(losses: np.ndarray, c: float) -> KernelLosses:
        """What the kernel is given of n losses whose bound was computed at δ′ = e^{−c}."""
        book = bets_for(len(losses), c)
        units = zip(book.bets.tolist(), book.weights.tolist(), strict=True)
        bets = tuple((math.floor(Fraction(θ) * (1 << BITS)), int(w * WEIGHT)) for θ, w in units)
        values, counts = np.unique(np.ceil(losses * 2.0**BITS), return_counts=True)
        if len(values) > MOST:
            raise InputError("--coq", f"at most {MOST:,} losses that differ", f"{len(values):,}")
        pairs = zip(values.tolist(), counts.tolist(), strict=True)
        return KernelLosses(bets, tuple((int(z), k) for z, k in pairs))


def needs_losses(certificate: Mapping[str, Any]) -> bool:
    """Is it about losses that are no errors, which only the data have?"""
    return certificate["method"] == "outcomes" and certificate["facts"].get("errors") is None


def losses_of(certificate: Mapping[str, Any], path: Path) -> np.ndarray:
    """The independent losses that the number was computed from: of rows, or of units."""
    from dudley.certificates.methods.outcomes.answers import question_of
    from dudley.certificates.methods.outcomes.declared import OutcomesDeclared
    from dudley.certificates.outcomes.reader import OutcomeFile
    from dudley.certificates.records import from_json

    declared = from_json(OutcomesDeclared, certificate["declared"], "declaration", "outcomes")
    file = OutcomeFile(path)
    table = file.read_log(declared.log) if declared.log else file.read(declared.columns)[0]
    candidate = certificate["choices"].get("candidate")
    return question_of(table, declared, candidate, certificate["nats"]).draws()
