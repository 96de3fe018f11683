"""The fixed-[CLS] reduction: where the query is the same for every input, only v = W_QKᵀx₀ matters.

A head that asks with its last row has scores X(W_QKᵀx₀)·scale, x₀ the last row. If x₀ is the same
vector for every input, the head is a function of v = W_QKᵀx₀ ∈ R^d and of its values: d numbers
instead of d². In the encodings with a [CLS] row, x₀ is a basis vector e_j, so v is row j of W_QK
and the float64 program computes it without rounding (products with 0 and 1 are exact): the two
heads have the same scores but for the order of one sum of d products.

The reduction is refused where the last row depends on the input: behind another layer, and in an
encoding without [CLS].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dudley.calculus.compose import Node
from dudley.calculus.nest import Path, name_of
from dudley.certificates.encodings import Bits, Codes, Encoding
from dudley.core.constraint import FREE
from dudley.core.errors import InputError
from dudley.networks.head import Head


@dataclass(frozen=True, eq=False)
class Reduced:
    """The network and its weights after the reduction, and the heads that were reduced."""

    network: Node
    weights: dict[str, np.ndarray]
    heads: tuple[str, ...]


def constant_row(encoding: Encoding) -> int | None:
    """The index j of the basis vector that is the last row of every input, if there is one.

    >>> constant_row(Bits(3)), constant_row(Codes(5, 3, cls=False))
    (6, None)
    """
    if isinstance(encoding, Bits) or (isinstance(encoding, Codes) and encoding.cls):
        assert encoding.inputs.d is not None
        return encoding.inputs.d - 1
    return None


def reduced_head(head: Head, W_QK: np.ndarray, encoding: Encoding) -> tuple[Head, np.ndarray]:
    """The head with v in place of W_QK, and v; refused where the query depends on the input."""
    j = constant_row(encoding)
    if j is None:
        raise InputError(
            "fixed-[CLS] reduction",
            "an encoding whose last row is the same for every input",
            f"{encoding.name}",
            "cover W_QK itself",
        )
    if head.query != "cls" or head.W_QK is None:
        raise InputError("fixed-[CLS] reduction", 'query = "cls" with W_QK', f"{head.query!r}")
    return replace(head, query="fixed", W_QK=None, v=FREE), W_QK[j : j + 1].T.copy()


def reduce_heads(network: Node, weights: Mapping[str, np.ndarray], encoding: Encoding) -> Reduced:
    """Every head that reads the encoding's own rows and asks with a constant one, reduced.

    >>> import dudley as du
    >>> head = Head(7, FREE, FREE, k=1, query="cls", sigma="identity")
    >>> W = {"0.W_QK": np.arange(49.0).reshape(7, 7), "0.W_v": np.ones((7, 1))}
    >>> reduce_heads(du.Chain((head,)), W, Bits(3)).weights["0.v"].ravel()
    array([42., 43., 44., 45., 46., 47., 48.])
    """
    left: dict[str, np.ndarray] = dict(weights)
    heads: list[str] = []

    def walk(node: Node, path: Path, raw: bool) -> Node:
        if inside := node.parts():
            walked = [walk(p.node, (*path, *p.path), raw and p.reads_input) for p in inside]
            return node.with_parts(walked)
        if raw and isinstance(node, Head) and node.query == "cls" and node.W_QK is not None:
            node, v = reduced_head(node, left.pop(name_of((*path, "W_QK"))), encoding)
            left[name_of((*path, "v"))] = v
            heads.append(name_of(path))
        return node

    return Reduced(walk(network, (), constant_row(encoding) is not None), left, tuple(heads))
