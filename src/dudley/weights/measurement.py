"""Measurement: the certified norms of a checkpoint, matrix by matrix, and what each tensor was for.

>>> import dudley as du
>>> m = du.measure("tiny-bert")
>>> m.layers, m.tensors_used, m.tensors_skipped
(2, 39, 1)
>>> row = m.row("W_QK", layer=0, head=1)
>>> row.shape, row.op.lower <= row.op.upper <= row.norms["fro"]
((8, 8), True)
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dudley.core.errors import InputError
from dudley.core.norms import ByNorm
from dudley.core.shown import Shown
from dudley.weights.architecture import Architecture
from dudley.weights.plan import TensorUse

if TYPE_CHECKING:
    from dudley.weights.interval import Interval

PRODUCTS = ("W_QK", "W_VO")


@dataclass(frozen=True)
class MatrixRow:
    """One matrix: every norm (upper ends), both ends of op and stable rank, rank, distance.

    ``head`` is None for a whole matrix. W_QK = W_Q W_Kᵀ and W_VO = W_v W_c exist per head only;
    ``rank`` is at least the number of singular values above the tolerance, if that was asked for.
    ``distance`` holds the norms of W − W_init.
    """

    role: str
    layer: int | None
    head: int | None
    shape: tuple[int, int]
    norms: ByNorm
    op: Interval
    stable_rank: Interval
    rank: int | None
    dtype: str
    source: str
    distance: ByNorm | None = None

    def to_json(self) -> dict:
        """Plain data."""
        return {
            "role": self.role,
            "layer": self.layer,
            "head": self.head,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "from": self.source,
            "norms": _finite(self.norms),
            "op": _finite(vars(self.op)),
            "stable_rank": _finite(vars(self.stable_rank)),
            "rank": self.rank,
            "distance": None if self.distance is None else _finite(self.distance),
        }

    def flat(self) -> dict:
        """One line of a table."""
        flat = {
            "role": self.role,
            "layer": self.layer,
            "head": self.head,
            "rows": self.shape[0],
            "columns": self.shape[1],
            **self.norms,
            "op_lower": self.op.lower,
            "stable_rank_lower": self.stable_rank.lower,
            "stable_rank_upper": self.stable_rank.upper,
            "rank": self.rank,
            "dtype": self.dtype,
            "from": self.source,
        }
        distance = self.distance or {}
        return flat | {f"distance_{name}": distance.get(name) for name in self.norms}


def _plain(architecture: Architecture) -> dict:
    """What is known of it; the outputs of the whole family are no property of the network.

    Nor are rotary angles listed, which move no norm.
    """
    left_out = ("outputs", "turns")
    values = vars(architecture).items()
    return {name: value for name, value in values if value is not None and name not in left_out}


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    """The values, null where one left the floats."""
    return {name: x if math.isfinite(x) else None for name, x in values.items()}


@dataclass(frozen=True)
class Measurement(Shown):
    """What was measured: rows of numbers, and every tensor with its use."""

    source: str
    layout: str
    architecture: Architecture
    rows: tuple[MatrixRow, ...]
    tensors: tuple[TensorUse, ...]
    rank_tolerance: float | None
    init: str | None = None
    notes: tuple[str, ...] = ()
    assumed: str = ""  # which layout, and why, where no config names it
    shown_as: ClassVar[str] = "measurement"
    by_place: dict = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        places = {(row.role, row.layer, row.head): row for row in self.rows}
        object.__setattr__(self, "by_place", places)

    @property
    def layers(self) -> int:
        return 1 + max((row.layer for row in self.rows if row.layer is not None), default=-1)

    @property
    def tensors_used(self) -> int:
        return sum(use.used for use in self.tensors)

    @property
    def tensors_skipped(self) -> int:
        return len(self.tensors) - self.tensors_used

    def find(
        self, role: str, layer: int | None = None, head: int | None = None
    ) -> MatrixRow | None:
        """The row of a matrix, or None."""
        return self.by_place.get((role, layer, head))

    def row(self, role: str, layer: int | None = None, head: int | None = None) -> MatrixRow:
        """The row of a matrix; refused where there is none."""
        row = self.find(role, layer, head)
        if row is None:
            have = ", ".join(dict.fromkeys(row.role for row in self.rows))
            what = f"{role} of layer {layer}, head {head}"
            raise InputError(f"{self.source}: matrix", f"one that was measured ({have})", what)
        return row

    def heads(self, role: str, layer: int) -> list[MatrixRow]:
        """The rows of a role's heads in one layer."""
        return [
            row
            for row in self.rows
            if (row.role, row.layer) == (role, layer) and row.head is not None
        ]

    def totals(self) -> dict:
        """How much was measured, and the largest spectral norm of each role."""
        largest: dict[str, float] = {}
        for row in self.rows:
            if min(row.shape) > 1 and (row.head is None or row.role in PRODUCTS):
                role = row.role.partition("[")[0]
                largest[role] = max(largest.get(role, 0.0), row.op.upper)
        whole = [row for row in self.rows if row.head is None]
        return {
            "matrices": len(self.rows),
            "weights": sum(row.shape[0] * row.shape[1] for row in whole),
            "tensors": len(self.tensors),
            "used": self.tensors_used,
            "skipped": self.tensors_skipped,
            "bytes_used": sum(use.nbytes for use in self.tensors if use.used),
            "bytes_skipped": sum(use.nbytes for use in self.tensors if not use.used),
            "largest_op": _finite(largest),
        }

    def to_json(self) -> dict:
        """Plain data: rows, tensors, totals."""
        return {
            "id": self.source,
            "layout": self.layout,
            "assumed": self.assumed or None,
            "architecture": _plain(self.architecture),
            "layers": self.layers,
            "init": self.init,
            "rank_tolerance": self.rank_tolerance,
            "rows": [row.to_json() for row in self.rows],
            "tensors": [use.to_json() for use in self.tensors],
            "totals": self.totals(),
            "notes": list(self.notes),
        }

    def to_csv(self) -> str:
        """One line per matrix, every norm a column; numbers in full."""
        out = io.StringIO()
        lines = [row.flat() for row in self.rows]
        writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
        return out.getvalue()

    def to_dataframe(self) -> Any:
        """The same as :meth:`to_pandas`, by an older name."""
        return self.to_pandas()
