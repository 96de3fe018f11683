"""What stands out in a measured checkpoint, and what would make a bound on it large.

The slopes are those of the described network (``weights.network``), at the norms as they were
measured: nothing is paid for here, and no bound is computed.

>>> import dudley as du
>>> from dudley.weights.judgement import judged
>>> judgement = judged(du.measure("tiny-bert"))
>>> judgement.largest["op"].place, round(judgement.largest["op"].value, 2)
('W_QK of layer 1, head 0', 3.45)
>>> judgement.slopes.steepest
'LayerNorm'
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from dudley.core.errors import DudleyError
from dudley.networks import explain
from dudley.networks.capacity import capacity
from dudley.weights.measurement import PRODUCTS, MatrixRow, Measurement
from dudley.weights.network import describe

NORMS = ("op", "fro", "row2inf")  # whose largest are named
# What a description may need that no file says: tokens, the size of rows, the norm of a readout.
USUAL = {"T": 128.0, "X.row2inf": 1.0, "w.l2": 1.0}
ASSUMED = [dict(some) for k in range(len(USUAL) + 1) for some in combinations(USUAL.items(), k)]


@dataclass(frozen=True)
class PlacedNumber:
    """A number and the matrix that it is of."""

    place: str
    value: float


@dataclass(frozen=True)
class Slopes:
    """log₁₀ of the Lipschitz constants above 1: their product, and what kinds of node hold of it.

    ``sensitive`` is the block whose errors count most, with log₁₀ of the factor by which they do.
    """

    log10: float
    by_kind: dict[str, float]
    sensitive: PlacedNumber
    assumed: dict[str, float]

    @property
    def steepest(self) -> str:
        """The kind of node that holds most of the product."""
        return max(self.by_kind, key=lambda kind: self.by_kind[kind])


@dataclass(frozen=True)
class Moved:
    """How far matrices are from the start, as a share of their size, and along how many directions.

    The stable rank of a difference is that of its upper ends, so not certified.
    """

    init: str
    median: float
    most: PlacedNumber
    least: PlacedNumber
    stable_rank: float


@dataclass(frozen=True)
class StableRank:
    """A stable rank ‖W‖_F²/‖W‖₂², the full rank that it could be, and the matrix that it is of."""

    place: str
    value: float
    full: int

    @property
    def share(self) -> float:
        """Of the full rank."""
        return self.value / self.full


@dataclass(frozen=True)
class CheckpointJudgement:
    """The largest norms and where, stable ranks, slopes or why there are none, and what moved."""

    source: str
    largest: dict[str, PlacedNumber]
    ranks: tuple[StableRank, StableRank, StableRank]  # the least share of full rank, median, most
    slopes: Slopes | None
    refused: str
    moved: Moved | None

    def to_json(self) -> dict[str, Any]:
        """Plain data; what left the floats is null."""
        slopes, moved = self.slopes, self.moved
        plain = {
            "source": self.source,
            "largest": {norm: vars(number) for norm, number in self.largest.items()},
            "stable_rank": dict(
                zip(("least", "median", "most"), map(vars, self.ranks), strict=True)
            ),
            "slopes": slopes and vars(slopes) | {"sensitive": vars(slopes.sensitive)},
            "refused": self.refused or None,
            "moved": moved and vars(moved) | {"most": vars(moved.most), "least": vars(moved.least)},
        }
        return _finite(plain)


def judged(measurement: Measurement) -> CheckpointJudgement | None:
    """What stands out among the matrices; gains, biases and other vectors are left aside.

    None where there are vectors only.
    """
    rows = [row for row in measurement.rows if min(row.shape) > 1]
    shown = [row for row in rows if row.head is None or row.role in PRODUCTS]
    whole = [row for row in rows if row.head is None]
    if not whole:
        return None
    largest = {norm: _largest(whole, lambda row, norm=norm: row.norms[norm]) for norm in NORMS}
    largest["op"] = _largest(shown, lambda row: row.op.upper)
    ranks = [StableRank(place_of(row), row.stable_rank.upper, min(row.shape)) for row in shown]
    ranks.sort(key=lambda rank: rank.share)
    slopes, refused = _slopes(measurement)
    return CheckpointJudgement(
        measurement.source,
        largest,
        (ranks[0], ranks[len(ranks) // 2], ranks[-1]),
        slopes,
        refused,
        _moved(measurement, whole),
    )


def record_of(
    measurement: Measurement, sibling: Measurement | None = None
) -> dict[str, Any] | None:
    """The judgement as plain data, with that of a sibling and where the two are farthest apart."""
    judgement = judged(measurement)
    if judgement is None:
        return None
    plain = judgement.to_json()
    if sibling is not None and (other := judged(sibling)) is not None:
        far = apart(measurement, sibling)
        plain |= {"sibling": other.to_json(), "apart": far and vars(far)}
    return plain


def apart(measurement: Measurement, sibling: Measurement) -> PlacedNumber | None:
    """The matrix whose op differs most from that of the same name in a sibling: by which factor.

    None where no matrix of one has a namesake of its shape in the other.
    """
    pairs = [
        (row, other.op.upper)
        for row in measurement.rows
        for other in [sibling.find(row.role, row.layer, row.head)]
        if other is not None and other.shape == row.shape and min(row.op.upper, other.op.upper) > 0
        if min(row.shape) > 1 and (row.head is None or row.role in PRODUCTS)
    ]
    factors = [PlacedNumber(place_of(row), row.op.upper / there) for row, there in pairs]
    return max(factors, key=lambda factor: abs(math.log(factor.value)), default=None)


def _finite(value: Any) -> Any:
    """Plain data with null for every number that left the floats."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def place_of(row: MatrixRow) -> str:
    """Where a matrix stands, in words."""
    layer = "" if row.layer is None else f" of layer {row.layer}"
    head = "" if row.head is None else f", head {row.head}"
    return f"{row.role}{layer}{head}"


def _largest(
    rows: Sequence[MatrixRow], of: Callable[[MatrixRow], float], end: Callable[..., MatrixRow] = max
) -> PlacedNumber:
    row = end(rows, key=of)
    return PlacedNumber(place_of(row), of(row))


def _slopes(measurement: Measurement) -> tuple[Slopes | None, str]:
    """The slopes of the described network, or why it is none that a bound can be derived for."""
    reason = ""
    for settings in ASSUMED:
        try:
            network = describe(measurement, settings)
            cap = capacity(network.network, network.inputs, None, network.loss)
            uses = cap.facts.uses
        except DudleyError as refusal:
            reason = reason or str(refusal)
            continue
        reach = [float(np.max(use.weight.log)) / math.log(10) for use in uses]
        first = int(np.argmax(reach))
        block = _named(measurement, [use.name for use in uses], first)
        kinds = {kind: x for kind, x in explain.lipschitz_budget(cap).items() if x > 0}
        sensitive = PlacedNumber(block, reach[first])
        return Slopes(sum(kinds.values()), kinds, sensitive, settings), ""
    return None, reason


def _named(measurement: Measurement, names: Sequence[str], which: int) -> str:
    """A block as it is called in its node; with its layer, where each layer has one of the name."""
    leaves = [name.rpartition(".")[2] for name in names]
    leaf, layer = leaves[which], leaves[:which].count(leaves[which])
    one_each = leaves.count(leaf) == measurement.layers and measurement.find(leaf, 0) is not None
    return f"{leaf} of layer {layer}" if one_each else leaf


def _moved(measurement: Measurement, rows: Sequence[MatrixRow]) -> Moved | None:
    """The shares by which matrices moved, where a start was given."""
    far = [row for row in rows if row.distance is not None and row.norms["fro"] > 0]
    if measurement.init is None or not far:
        return None

    def share(row: MatrixRow) -> float:
        return (row.distance or {})["fro"] / row.norms["fro"]

    ranks = [(d["fro"] / d["op"]) ** 2 for d in (row.distance or {} for row in far) if d["op"] > 0]
    return Moved(
        measurement.init,
        statistics.median(map(share, far)),
        _largest(far, share),
        _largest(far, share, min),
        statistics.median(ranks) if ranks else 0.0,
    )
