"""A trained head in the papers' words: which of their matrices it is, and the norms of these.

The papers' head is f(X) = w·W_cᵀσ(W_vᵀXᵀsoftmax(XW_QKᵀx₀)), x₀ its [CLS] token. A head with a fixed
query v on an encoding whose last token is always e_j is one of them: W_QK = e_j vᵀ. Matrices that
the network lacks are fixed ones that change nothing: W_c the first k rows of the identity, w = e_1.

* ``block``: Π projects rows onto the unit ball. σ is homogeneous, so dividing W_v by s ≥ the
  largest norm of a value, W_c by t ≥ its own, and multiplying w by both leaves f as it is and Π
  idle. Both are powers of two, so nothing is rounded; w counts as read off where they are not 1.
* ``encoder`` (mwigo2026): σ = relu, scores divided by √k, W_QK = W_QW_Kᵀ and no W_c. There
  W_Q = [e_j, 0], W_K = √k·[v, 0]; for σ = identity, W_v becomes [W_v, −W_v] and w becomes [w, −w].

>>> from dudley.networks.files import EXAMPLES
>>> from dudley.certificates.hypothesis import load
>>> readings = read_off(load(EXAMPLES / "sparse-and" / "model.safetensors"))
>>> [(name, sorted(one.trained)) for name, one in readings.items()]
[('head', ['W_QK', 'W_v']), ('block', ['W_QK', 'W_v', 'w']), ('encoder', ['W_K', 'W_QK', 'W_v'])]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.calculus.union import Grid
from dudley.certificates.encodings import Bits
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.norm_cover.reduce import constant_row, reduce_heads
from dudley.core.errors import InputError
from dudley.core.rounding import up
from dudley.core.vocabulary import known
from dudley.networks.embeddings import Tokens
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.weights import certified

WHAT = "published bounds"
VECTOR = {"l11": "l1", "fro": "l2"}  # how the norms of w are called
HOMOGENEOUS = ("identity", "relu")
PaperMatrices = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Reading:
    """Matrices by their names in the papers, those among them that were trained, and sizes."""

    matrices: PaperMatrices
    trained: frozenset[str]
    sizes: dict[str, float]

    @cached_property
    def values(self) -> dict[str, float]:
        """Sizes and every norm of every matrix, from above, by the names of the vocabulary."""
        numbers = dict(self.sizes)
        for owner, W in self.matrices.items():
            for norm, value in certified.norms(W).items():
                name = f"{owner}.{VECTOR.get(norm, norm) if owner == 'w' else norm}"
                if known(name):
                    numbers[name] = value
        return numbers


def read_off(model: Hypothesis) -> dict[str, Reading]:
    """The readings of a model that is one head with one output; others are refused."""
    head, v, W_v, W_c, w = _parts(model)
    d, k, inputs = head.d, head.inner, model.encoding.inputs
    j = constant_row(model.encoding)
    assert j is not None
    W_QK = np.zeros((d, d))
    W_QK[j] = head.scale * v[:, 0]
    trained = {"W_QK", "W_v"} | ({"W_c"} if W_c is not None else set())
    trained |= {"w"} if w is not None else set()
    sizes = _sizes(model, inputs) | {"d": d}
    ranks = {"k": k, "W_QK.rank": 1, "W_v.rank": min(d, k), "W_c.rank": min(d, k)}
    column = np.zeros((d, 1))
    column[: k if w is None else len(w)] = np.eye(k, 1) if w is None else w
    plain = {"W_QK": W_QK, "W_v": W_v, "W_c": np.eye(k, d) if W_c is None else W_c, "w": column}
    s, t = _scales(W_v, W_c, inputs)
    idle = plain | {"W_v": W_v / s, "W_c": plain["W_c"] / t, "w": column * (s * t)}
    moved = trained if s * t == 1 else trained | {"w"}
    readings = {
        "head": Reading(plain, frozenset(trained), sizes | ranks),
        "block": Reading(idle, frozenset(moved), sizes | ranks),
    }
    if W_c is None:
        readout = np.eye(k, 1) if w is None else w
        pair = _encoder(W_QK, j, W_v, readout, str(head.sigma))
        more = {"k": pair["W_v"].shape[1]}
        readings["encoder"] = Reading(pair, frozenset(trained | {"W_K"}), sizes | more)
    return readings


def _sizes(model: Hypothesis, inputs: Tokens) -> dict[str, float]:
    sizes = {"T": inputs.T, "H": 1, "L": 1, "P.row2inf": 0.0, "sigma.lipschitz": 1.0}
    sizes |= {"X.row2inf": float(inputs.row2inf)}
    sizes |= {} if inputs.row1inf is None else {"X.row1inf": float(inputs.row1inf)}
    return sizes | ({"X.op": 1.0} if isinstance(model.encoding, Bits) else {})  # orthonormal rows


def _parts(model: Hypothesis):
    """The head and its weights, v in place of W_QK; W_c and w are ``None`` where there is none."""
    less = reduce_heads(model.network, model.weights, model.encoding)
    nodes = list(getattr(less.network, "nodes", (less.network,)))
    kinds = [type(node) for node in nodes]
    if kinds not in ([Head], [Head, Readout]):
        got = ", ".join(kind.__name__ for kind in kinds)
        raise InputError(WHAT, "one head, and a readout or none", got)
    head, weights = nodes[0], less.weights
    assert isinstance(head, Head)
    if head.v is None or constant_row(model.encoding) is None:
        got = "a query that is no token of every input, or depends on the input"
        raise InputError(WHAT, "a head that asks with one and the same token", got)
    if head.attention != "softmax" or head.causal or head.sigma not in HOMOGENEOUS:
        got = f"attention {head.attention}, σ {head.sigma}"
        raise InputError(WHAT, "softmax over all tokens, σ identity or relu", got)
    odd = sorted(set(weights) - {"0.v", "0.W_v", "0.W_c", "1.w"})
    if odd:
        raise InputError(WHAT, "weights v, W_v, W_c, w", ", ".join(odd))
    W_v, W_c, w = (weights.get(name) for name in ("0.W_v", "0.W_c", "1.w"))
    assert W_v is not None
    if (W_c is None and head.inner > head.d) or (w is None and (W_c is not None or head.inner > 1)):
        raise InputError(WHAT, "one output, and k ≤ d where there is no W_c", f"k = {head.inner}")
    return head, weights["0.v"], W_v, W_c, w


def _scales(W_v: np.ndarray, W_c: np.ndarray | None, inputs: Tokens) -> tuple[float, float]:
    """Powers of two, at least 1, by which W_v and W_c are divided so that Π is idle."""
    norms = certified.norms(W_v)
    reach = norms["op"] * float(inputs.row2inf)
    if inputs.row1inf is not None:
        row = norms["linf" if W_v.shape[1] == 1 else "row2inf"]  # of one column, without rounding
        reach = min(reach, row * float(inputs.row1inf))
    most = 1.0 if W_c is None else certified.norms(W_c)["op"]
    return _power(reach), _power(most)


def _power(size: float) -> float:
    return Grid(2.0).round_up(size)[0] if size > 1 else 1.0


def _encoder(W_QK: np.ndarray, j: int, W_v: np.ndarray, w: np.ndarray, sigma: str) -> PaperMatrices:
    if sigma == "identity":
        W_v, w = np.hstack([W_v, -W_v]), np.vstack([w, -w])
    d, k = W_v.shape
    W_Q, W_K = np.zeros((d, k)), np.zeros((d, k))
    W_Q[j, 0], W_K[:, 0] = 1.0, float(up(math.sqrt(k))) * W_QK[j]
    return {"W_Q": W_Q, "W_K": W_K, "W_QK": W_QK, "W_v": W_v, "w": w}
