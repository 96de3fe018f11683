"""Premises: the hypotheses of a statement, in words and as checks on a concrete instance.

A refutation is worth nothing if its instance breaks a hypothesis. So a witness says each one in
words, with the paper's number where it has one, beside a program that builds the instance (its
weights, inputs, losses and distributions) and looks. An instance that does not fit into memory is
built at a smaller size by the same formulas, and its norms are compared with the inputs of that
size. What no finite program decides has ``check=None``, and its words say why it holds.

>>> Premise("2 ≥ 1", lambda: 2 >= 1).holds(), Premise("for every ε; see the proof", None).holds()
(True, None)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dudley.core.norms import NORMS, aliases, norm_named

SLACK = 1e-9  # relative, for the rounding of norms
LabelledLoss = Callable[[float, np.ndarray], np.ndarray]  # of a label and predictions


@dataclass(frozen=True)
class Premise:
    """A hypothesis in words, and its check on the instance; None where no program decides it.

    ``bounds`` are the inputs, such as ``W_v.op``, that the check compares with the instance.
    """

    words: str
    check: Callable[[], bool | np.bool_] | None
    bounds: frozenset[str] = frozenset()

    def holds(self) -> bool | None:
        """Does the instance satisfy it? None where no finite program decides."""
        return None if self.check is None else bool(self.check())


def at_most(value: float, bound: float) -> bool:
    """value ≤ bound, up to rounding.

    >>> at_most(1 + 1e-12, 1.0), at_most(1.001, 1.0)
    (True, False)
    """
    return value <= bound * (1 + SLACK) + 1e-300


def size_of_part(norm: str, part: np.ndarray) -> float:
    """The norm of a matrix or vector; of a batch (m, a, b) the largest of its matrices.

    >>> size_of_part("row2inf", np.array([[[3.0, 4.0]], [[1.0, 0.0]]]))
    5.0
    """
    batch = part if part.ndim == 3 else part[None]
    return max(norm_named(norm)(matrix) for matrix in batch)


def within(inputs: Mapping[str, float], parts: Mapping[str, np.ndarray]) -> bool:
    """Is every norm that the inputs bound (``W_v.op``, ``X.row2inf``) respected by the parts?

    A part of which the inputs bound no norm would go unchecked, so it is a failure.

    >>> within({"W_v.op": 1.0, "d": 2}, {"W_v": np.eye(2)}), within({"d": 2}, {"W_v": np.eye(2)})
    (True, False)
    """
    bounds = [name.split(".") for name in norm_bounds(inputs) if name.split(".")[0] in parts]
    return {part for part, _ in bounds} == set(parts) and all(
        at_most(size_of_part(norm, np.asarray(parts[part], dtype=float)), inputs[f"{part}.{norm}"])
        for part, norm in bounds
    )


def norm_bounds(inputs: Mapping[str, float]) -> frozenset[str]:
    """The inputs that bound a norm of weights or tokens.

    >>> sorted(norm_bounds({"W_v.op": 1.0, "X.fro": 2.0, "points.linf": 1.0, "tail.nu": 1.0}))
    ['W_v.op', 'X.fro']
    """
    pairs = (name.partition(".") for name in inputs)
    return frozenset(
        f"{part}.{norm}"
        for part, _, norm in pairs
        if (part in ("w", "X", "V") or part.startswith("W"))
        and (norm in NORMS or norm in aliases())
    )


def norms(words: str, inputs: Mapping[str, float], parts: Mapping[str, np.ndarray]) -> Premise:
    """The premise that the norms of these parts are bounded as the inputs say."""
    compared = frozenset(name for name in norm_bounds(inputs) if name.partition(".")[0] in parts)
    return Premise(words, lambda: within(inputs, parts), compared)


def ranks(words: str, inputs: Mapping[str, float], parts: Mapping[str, np.ndarray]) -> Premise:
    """The premise that the ranks of W_QK, W_v and W_c are at most r_QK, r_v and r_c."""
    return Premise(
        words,
        lambda: all(
            np.linalg.matrix_rank(parts[f"W_{index}"]) <= inputs[f"r_{index}"]
            for index in ("QK", "v", "c")
        ),
    )


def in_range(words: str, inputs: Mapping[str, float], **limits: tuple[float, float]) -> Premise:
    """The premise that inputs lie strictly between two limits; dots of names as underscores."""
    values = {name.replace(".", "_"): value for name, value in inputs.items()}
    return Premise(
        words, lambda: all(low < values[name] < high for name, (low, high) in limits.items())
    )


def is_lipschitz(
    loss: LabelledLoss, κ: float, labels: Sequence[float], predictions: np.ndarray
) -> bool:
    """|ℓ(y, a) − ℓ(y, b)| ≤ κ|a − b| for these labels and all pairs of neighbours on a grid.

    Neighbours are enough: on a line the slope between two points is a mean of slopes between
    neighbours.

    >>> grid = np.linspace(-1, 1, 101)
    >>> is_lipschitz(lambda y, f: abs(y - f), 1.0, (0.0, 1.0), grid)
    True
    >>> is_lipschitz(lambda y, f: (y - f) ** 2, 1.0, (0.0, 1.0), grid)
    False
    """
    grid = np.sort(predictions)
    steps = np.diff(grid)
    return all(
        bool((np.abs(np.diff(loss(y, grid))) <= κ * steps * (1 + SLACK) + 1e-15).all())
        for y in labels
    )


def attended(weights: Mapping[str, np.ndarray], X: np.ndarray) -> np.ndarray:
    """The rows softmax(x W_QK Xᵀ)·X·W_v·W_c of the last token x of every input, σ the identity.

    ``X`` is (m, T, d), the result (m, width); W_c may be left out.
    """
    scores = np.einsum("md,de,mte->mt", X[:, -1], weights["W_QK"], X)
    attention = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    rows = np.einsum("mt,mtd->md", attention, X) @ weights["W_v"]
    return rows @ weights["W_c"] if "W_c" in weights else rows
