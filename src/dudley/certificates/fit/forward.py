"""Forward passes of one network on one data set, many times, with torch.

On T bits a token is one of 2T + 1 kinds (bit and place, or [CLS]), so what a first attention layer
does for the [CLS] row is closed: with B ∈ {0,1}^{n×(2T+1)} the kinds that an example has, s the
score and u the value of every kind,

    Σ_t a_t u_t = B (e^s ⊙ u) / B e^s,

two matrix products and no one-hot rows. That covers one head with a fixed query, and an embedding
with one block of layer norm, attention and whatever acts on the [CLS] row alone after it. On blocks
of a picture the row of block t is m_t e_t, so a head with a fixed query is Σ_t a_t m_t u_t with
a = softmax(m ⊙ v). Other networks run their own ``apply``. Numbers from here guide a search, in
float32; what is certified is counted anew by the reference forward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dudley.calculus.compose import Chain, Node
from dudley.calculus.nest import filled
from dudley.certificates.data import Dataset
from dudley.certificates.encodings import Blocks, encoding_of
from dudley.certificates.hypothesis import Hypothesis
from dudley.core.backend import torch
from dudley.networks.activations import activation
from dudley.networks.files import build
from dudley.networks.head import Head
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.outputs import Logits, Readout
from dudley.networks.pointwise import Activate, Dense, LayerNorm, ProjectRows

TOGETHER = 1 << 23  # numbers in the rows of a chunk
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True, eq=False)
class FitExamples:
    """A network (the weights of ``model`` are not read) and data."""

    model: Hypothesis
    data: Dataset

    @property
    def n(self) -> int:
        return self.data.n

    @cached_property
    def y(self) -> torch.Tensor:
        return torch.from_numpy(self.data.y.astype(np.int64))

    @cached_property
    def closed(self) -> Callable[[Any, torch.Tensor], torch.Tensor] | None:
        """The closed form for (weights, B), where there is one."""
        nodes = self.model.network.nodes
        single_head = len(nodes) == 1 and _plain_head(nodes[0])
        if isinstance(self.model.encoding, Blocks):
            return (lambda params, m: _on_blocks(nodes[0], params[0], m)) if single_head else None
        if self.model.encoding_table.get("name") != "bits":
            return None
        if single_head:
            return lambda params, B: _head(nodes[0], params[0], B)
        first = len(nodes) > 2 and _embedding(nodes[0]) and _mixing(nodes[1])
        if first and all(map(_on_rows, nodes[2:])):
            return lambda params, B: _block(nodes, params, B)
        return None

    @cached_property
    def X(self) -> torch.Tensor:
        """B or m where a closed form serves, rows (n, T, d) where they are given, else as it is."""
        if self.closed is not None and isinstance(self.model.encoding, Blocks):
            return torch.from_numpy(self.model.encoding.means(self.data.X)).float()
        if self.closed is not None:
            X = torch.tensor(self.data.X).float()
            return torch.cat([1 - X, X, torch.ones(len(X), 1)], 1)
        if self.model.encoding_table["name"] == "rows":
            return torch.from_numpy(self.model.encoding.rows(self.data.X)).float()
        X = self.data.X
        return torch.tensor(X if X.dtype.kind == "f" else X.astype(np.int64))

    def outputs(self, weights: Tensors, chosen: Any = slice(None)) -> torch.Tensor:
        """The last row of some examples, (m, outputs)."""
        X, params = self.X[chosen], self._nest(weights)
        if self.closed is not None:
            return self.closed(params, X)
        if self.model.encoding_table["name"] != "rows":
            X = torch.from_numpy(self.model.encoding.rows(X.numpy())).float()
        return self.model.network.apply(params, X)[..., -1, :]

    def loss(self, weights: Tensors, chosen, size: float = 1.0) -> torch.Tensor:
        """Mean cross-entropy of size·outputs."""
        f, y = size * self.outputs(weights, chosen), self.y[chosen]
        if f.shape[1] == 1:
            return torch.nn.functional.softplus(-f[:, 0] * (2 * y - 1)).mean()
        return torch.nn.functional.cross_entropy(f, y)

    def errors(self, weights: dict[str, np.ndarray]) -> int:
        """Margins that are not clearly above 0."""
        tensors = {name: torch.tensor(W).float() for name, W in weights.items()}
        step = self.n if self.closed is not None else max(1, TOGETHER // self._size)
        wrong = 0
        with torch.no_grad():
            for i in range(0, self.n, step):
                f, y = self.outputs(tensors, slice(i, i + step)), self.y[i : i + step]
                if f.shape[1] == 1:
                    margin = f[:, 0] * (2 * y - 1)
                else:
                    right = f.gather(1, y[:, None])[:, 0]
                    margin = right - f.scatter(1, y[:, None], -torch.inf).amax(1)
                clear = margin > 1e-6 * f.abs().amax().clamp_min(1e-30)  # false for NaN
                wrong += len(y) - int(clear.sum())
        return wrong

    def part(self, rows) -> FitExamples:
        """Some of the examples."""
        return FitExamples(self.model, self.data.part(rows))

    @property
    def _size(self) -> int:
        inputs = self.model.encoding.inputs
        return inputs.T * (inputs.d or 1)

    def _nest(self, weights: Tensors):
        return filled(self.model.network.parameters(_width(self.model.encoding_table))[0], weights)


def blank(tables: dict[str, Any], encoding: dict[str, Any]) -> Hypothesis:
    """The network with zeros for weights."""
    chain = Chain(tuple(part.node for part in build(tables, {}).network.stages()))
    weights: dict[str, np.ndarray] = {}

    def fill(nest, path: str):
        if isinstance(nest, dict):
            weights.update((path + name, np.zeros(p.shape)) for name, p in nest.items())
        else:
            for i, part in enumerate(nest):
                fill(part, f"{path}{i}.")

    fill(chain.parameters(_width(encoding))[0], "")
    return Hypothesis(tables, encoding, weights)


def _width(encoding: dict[str, Any]) -> int:
    d = encoding_of(encoding).inputs.d
    assert d is not None
    return d


# -- the closed form --------------------------------------------------------------------------


def _plain_head(node: Node) -> bool:
    return (
        isinstance(node, Head)
        and (node.query, node.attention, node.scale) == ("fixed", "softmax", 1)
        and node.W_c is None
    )


def _embedding(node: Node) -> bool:
    return isinstance(node, Dense) and node.b is None


def _mixing(node: Node) -> bool:
    stages = _branch(node)
    if len(stages) != 2:
        return False
    first, last = stages
    return (
        isinstance(first, LayerNorm)
        and isinstance(last, MultiHeadAttention)
        and last.attention == "softmax"
        and last.groups in (None, last.H)
        and not (last.causal or last.rope or last.qk_norm or last.cap)
        and all(b is None for b in (last.b_Q, last.b_K, last.b_v, last.b_c))
    )


def _branch(node: Node) -> tuple[Node, ...]:
    """The nodes inside a residual connection, in order; none where ``node`` is something else."""
    inside = node.parts() if node.adds_input else ()
    return tuple(stage.node for part in inside for stage in part.node.stages())


def _on_rows(node: Node) -> bool:
    if isinstance(node, Readout):
        return node.pool == "cls"
    if isinstance(node, Logits):
        return node.rows == 0
    stages = _branch(node) or tuple(stage.node for stage in node.stages())
    if stages != (node,):
        return all(map(_on_rows, stages))
    return isinstance(node, Dense | LayerNorm | Activate | ProjectRows)


def _mix(s: torch.Tensor, u: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    e = torch.exp(s - s.amax().detach())[:, None]
    return (B @ (e * u)) / (B @ e)


def _head(node: Any, params, B: torch.Tensor) -> torch.Tensor:
    return activation(node.sigma).apply(_mix(params["v"][:, 0], params["W_v"], B))


def _on_blocks(node: Any, params, m: torch.Tensor) -> torch.Tensor:
    v, sigma = params["v"], activation(node.sigma)
    if not (v.requires_grad or v.any()):  # all attend alike
        return sigma.apply(m @ params["W_v"] / m.shape[1])
    return sigma.apply((torch.softmax(m * v[:, 0], 1) * m) @ params["W_v"])


def _block(nodes: tuple[Any, ...], params, B: torch.Tensor) -> torch.Tensor:
    kinds = nodes[0].apply(params[0], torch.eye(B.shape[1]))  # (2T+1, d), [CLS] last
    norm, mixing = _branch(nodes[1])
    assert isinstance(mixing, MultiHeadAttention)
    of_mixing, Z = params[1][1], norm.apply(params[1][0], kinds)
    q, K, V = (Z[-1:] @ of_mixing["W_Q"], Z @ of_mixing["W_K"], Z @ of_mixing["W_v"])
    k = mixing.slice
    cuts = [slice(h * k, (h + 1) * k) for h in range(mixing.H)]
    heads = [_mix((K[:, c] @ q[0, c]) * mixing.s, V[:, c], B) for c in cuts]
    rows = (kinds[-1] + torch.cat(heads, 1) @ of_mixing["W_c"])[:, None, :]  # (m, 1, d)
    for node, of_node in zip(nodes[2:], params[2:], strict=True):
        rows = node.apply(of_node, rows)
    return rows[..., -1, :]
