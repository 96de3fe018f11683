"""The walk over a checkpoint: one layer at a time, every matrix measured, then dropped.

Norms are certified upper ends of the stored weights, raised by the reader's own error where
weights were dequantised or merged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.norms import ByNorm, implied
from dudley.core.rounding import down, up
from dudley.weights import certified
from dudley.weights.certified import Measured, measured
from dudley.weights.expression import Matrix
from dudley.weights.interval import Interval
from dudley.weights.layout import ATTENTION, LAYER, OUTSIDE
from dudley.weights.measurement import MatrixRow, Measurement
from dudley.weights.named_tensors import finite
from dudley.weights.plan import TensorPlan
from dudley.weights.product_norms import product_measured

SMALL = 1024  # below this side one thread is faster
ORDER = {role: i for i, role in enumerate((*OUTSIDE, *LAYER))}
ROPE_NOTE = "rotary positions turn queries and keys: W_QK is W_Q W_Kᵀ at equal positions"


class Walk:
    """One measurement under way."""

    def __init__(
        self,
        weights,
        made: TensorPlan,
        device,
        tolerance,
        progress,
        start=None,
        before: TensorPlan | None = None,
    ):
        self.weights, self.plan, self.device, self.tolerance = weights, made, device, tolerance
        self.progress, self.start, self.before = progress, start, before
        self.loaded: dict[str, object] = {}
        self.same = self._tied()
        self.done, self.total = 0, self._count()

    def measurement(self) -> Measurement:
        rows: list[MatrixRow] = []
        for layer in (None, *range(self.plan.layers)):
            rows += self._layer(layer)
            self.loaded.clear()
        notes = [f"layout {self.plan.assumed}"] if self.plan.assumed else []
        notes += [ROPE_NOTE] if self.plan.architecture.rope else []
        if self.plan.architecture.H is None:
            notes.append("number of heads unknown: whole matrices only; give --heads")
        return Measurement(
            self.weights.source,
            self.plan.layout,
            self.plan.architecture,
            tuple(rows),
            self.plan.tensors,
            self.tolerance,
            notes=tuple(notes),
            assumed=self.plan.assumed,
        )

    # -- one layer -----------------------------------------------------------------------------

    def _layer(self, layer: int | None) -> list[MatrixRow]:
        rows = []
        for matrix in sorted(self.plan.of(layer), key=lambda m: _place(m.role)):
            if (matrix.role, layer) not in self.same:
                rows.append(self._row(matrix))
            if matrix.role not in ATTENTION:  # the heads look at those again
                for name in matrix.tensors:
                    self.loaded.pop(name, None)
        if layer is None or ("W_Q", layer) not in self.plan.matrices:
            return rows
        split = self.plan.architecture.heads(self.plan.matrices["W_Q", layer].shape[0])
        return rows if split is None else rows + self._heads(layer, *split)

    def _heads(self, layer: int, H: int, groups: int, k: int) -> list[MatrixRow]:
        """Slices of queries, keys, values and outputs, and the products of each head."""
        whole = {role: self.plan.matrices[role, layer] for role in ATTENTION}
        W = {role: matrix.load(self._load) for role, matrix in whole.items()}
        rows = []
        for role, count in (("W_Q", H), ("W_K", groups), ("W_v", groups), ("W_c", H)):
            for h in range(count):
                part, text = _slice(W[role], role, h, k)
                of = replace(whole[role], head=h, shape=tuple(part.shape))
                rows.append(self._measured(of, part, f"({whole[role].text}){text}"))
        for h in range(H):
            g = h * groups // H
            q, _ = _slice(W["W_Q"], "W_Q", h, k)
            key, _ = _slice(W["W_K"], "W_K", g, k)
            value, _ = _slice(W["W_v"], "W_v", g, k)
            out, _ = _slice(W["W_c"], "W_c", h, k)
            for role, A, B, text in (
                ("W_QK", q, key, f"W_Q[{h}] W_K[{g}].T"),
                ("W_VO", value, out.T, f"W_v[{g}] W_c[{h}]"),
            ):
                rows.append(self._product(role, layer, h, A, B, whole, text))
        return rows

    def _product(self, role, layer, head, A, B, whole, text) -> MatrixRow:
        first, second = ("W_Q", "W_K") if role == "W_QK" else ("W_v", "W_c")
        with few_threads(A.shape[0]):
            got = product_measured(A, B, self.device)
        errors = [self._error(whole[r]) for r in (first, second)]
        shape = (A.shape[0], B.shape[0])
        if any(errors):  # ‖ÂB̂ᵀ − ABᵀ‖_F ≤ e_A‖B‖_F + e_B‖A‖_F + e_A e_B
            fro = [certified.frobenius(M, self.device).upper for M in (A, B)]
            total = errors[0] * fro[1] + errors[1] * fro[0] + errors[0] * errors[1]
            got = _raise_ends(got, float(up(total, 16)), shape)
        self._tick(f"{role} of layer {layer}, head {head}")
        numbers = (got.norms, got.op, got.stable_rank, None)
        return MatrixRow(role, layer, head, shape, *numbers, whole[first].dtype, text)

    # -- one matrix ----------------------------------------------------------------------------

    def _row(self, matrix: Matrix) -> MatrixRow:
        return self._measured(matrix, matrix.load(self._load), matrix.text)

    def _measured(self, matrix: Matrix, W, text: str) -> MatrixRow:
        with few_threads(min(W.shape)):
            got = measured(W, self.tolerance, self.device)
        error = self._error(matrix)
        if any(piece.plus for piece in matrix.pieces):  # 1 + w, rounded to float64
            error = float(up(error + 2.0**-52 * got.norms["fro"]))
        if error:
            got = _raise_ends(got, error, matrix.shape)
        rank = None if got.rank is None else got.rank.upper
        distance = None if matrix.head is not None else self._distance(matrix, W)
        layer, head = matrix.layer, matrix.head
        self._tick(matrix.role if layer is None else f"{matrix.role} of layer {layer}")
        place = (matrix.role, layer, head, matrix.shape)
        numbers = (got.norms, got.op, got.stable_rank, rank)
        return MatrixRow(*place, *numbers, matrix.dtype, text, distance)

    def _distance(self, matrix: Matrix, W) -> ByNorm | None:
        """The norms of W − W_init."""
        start = self.start
        if start is None or self.before is None:
            return None
        other = self.before.matrices.get((matrix.role, matrix.layer))
        if other is None or other.shape != matrix.shape:
            layer = "" if matrix.layer is None else f" of layer {matrix.layer}"
            raise InputError(
                f"{start.source}: {matrix.role}{layer}",
                f"shape {'×'.join(map(str, matrix.shape))}, as in {self.weights.source}",
                "none" if other is None else "×".join(map(str, other.shape)),
            )

        def load(name: str):
            return finite(start.load(name), name, start.info(name).file)

        norms = certified.difference(W, other.load(load), self.device)
        error = self._error(matrix) + sum(map(start.error, dict.fromkeys(other.tensors)))
        if any(piece.plus for piece in matrix.pieces):
            both = (certified.frobenius(M, self.device).upper for M in (W, other.load(load)))
            error = float(up(error + 2.0**-52 * sum(both)))
        return _more(norms, error, matrix.shape) if error else norms

    # -- inside --------------------------------------------------------------------------------

    def _load(self, name: str):
        if name not in self.loaded:
            tensor = self.weights.load(name)
            if not tensor.is_floating_point():
                file = self.weights.info(name).file
                raise InputError(f"{file}: tensor {name!r}", "floating-point weights", tensor.dtype)
            self.loaded[name] = finite(tensor, name, self.weights.info(name).file)
        return self.loaded[name]

    def _error(self, matrix: Matrix) -> float:
        return float(sum(self.weights.error(name) for name in dict.fromkeys(matrix.tensors)))

    def _tied(self) -> set[tuple[str, int | None]]:
        """W_out, where it is W_E under another name."""
        out, table = (self.plan.matrices.get((role, None)) for role in ("W_out", "W_E"))
        if out is None or table is None or not self.plan.architecture.tied:
            return set()
        a, b = out.tensors[0], table.tensors[0]
        known = self.weights.tied.get(a) == b or self.weights.tied.get(b) == a
        if not known and not torch.equal(self.weights.load(a), self.weights.load(b)):
            return set()
        if self.weights.error(a) > self.weights.error(b):  # W_E's ends would not cover W_out
            return set()
        why = f"tied: the same values as {b}, which is measured as W_E"
        self.plan = replace(
            self.plan,
            tensors=tuple(
                replace(use, used=False, why=why) if use.name == a else use
                for use in self.plan.tensors
            ),
        )
        return {("W_out", None)}

    def _count(self) -> int:
        arch, total = self.plan.architecture, len(self.plan.matrices) - len(self.same)
        if arch.H is not None:
            groups = arch.H if arch.groups is None else arch.groups
            total += self.plan.layers * (4 * arch.H + 2 * groups)
        return total

    def _tick(self, what: str) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(what, self.done, self.total)


def _place(role: str) -> tuple[int, int, str]:
    """Where a role stands in its layer; parts behind the whole, experts by their numbers."""
    base, _, part = role.partition("[")
    return ORDER[base], len(part), part


@contextmanager
def few_threads(side: int) -> Iterator[None]:
    """One thread for a small matrix: several would wait for one another longer than they work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if side < SMALL else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _slice(W, role: str, h: int, k: int):
    """Head h of a matrix: columns, or rows of W_c."""
    if role == "W_c":
        return W[h * k : (h + 1) * k], f"[{h * k}:{(h + 1) * k}]"
    return W[:, h * k : (h + 1) * k], f"[:, {h * k}:{(h + 1) * k}]"


def _more(norms: ByNorm, error: float, shape: tuple[int, int]) -> ByNorm:
    """Norms of a matrix within ``error``, in Frobenius norm, of the measured one."""
    more = implied((("fro", error),), shape, None)
    return ByNorm({name: float(up(size + more[name])) for name, size in norms.items()})


def _raise_ends(numbers: Measured, error: float, shape: tuple[int, int]) -> Measured:
    """The same with both ends of op; of the ranks nothing is known but the sizes."""
    norms = _more(numbers.norms, error, shape)
    op = Interval(max(0.0, float(down(numbers.op.lower - error))), norms["op"])
    return Measured(norms, op, Interval(0.0, float(min(shape))), None)
