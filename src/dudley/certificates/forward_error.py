"""Forward error: how far the float64 program may be from the function it stands for.

``forward_error(network, inputs)`` is η with ‖fl(f)(X) − f(X)‖₂ ≤ η in every output row, for every
input of the stated radius and every weight in the network's sets: f is the network in real
arithmetic with the same float weights, fl(f) its ``apply`` in numpy float64.

Model of arithmetic (Higham 2002, §2.2 and §3.1): u = 2^−53, fl(x ∘ y) = (x ∘ y)(1 + δ), |δ| ≤ u,
and a sum of m products in any order, fused or not, satisfies |fl(x·y) − x·y| ≤ γ_m |x|·|y| with
γ_m = mu/(1 − mu). Hence ‖fl(xW) − xW‖₂ ≤ γ_a ‖x‖₂‖W‖_F for W ∈ R^{a×b}. Further assumed: products
of matrices are computed as sums of products (no Strassen), ``exp``, ``tanh`` and ``erf`` are within
4 units in the last place. Underflow adds less than 2^−500 at each node.

For a chain, e_i = local_i + L_i e_{i−1}: what node i adds on rows of radius R + e_{i−1}, and its
Lipschitz constant there times what it was given (:func:`local`). A node without a rule is refused.

>>> import dudley as du
>>> head = du.Head(d=9, v=du.LInf(4.0), W_v=du.LInf(1.0), k=1, sigma="identity", query="fixed")
>>> 1e-16 < forward_error(head, du.Tokens(1.0, T=5, row1inf=1.0)) < 1e-12
True
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch

from dudley.calculus.compose import Chain, Heads, Node, Parallel, Repeat, Residual
from dudley.calculus.facts import Signal
from dudley.core.errors import InputError
from dudley.core.magnitude import Magnitude
from dudley.networks.activations import ACTIVATIONS, Activation, activation
from dudley.networks.capacity import input_width
from dudley.networks.embeddings import Positions, Tokens
from dudley.networks.head import Head
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.normalisers import Softmax, normaliser
from dudley.networks.outputs import Logits, Readout
from dudley.networks.pointwise import Activate, Dense, LayerNorm, Pool, ProjectRows

U = 2.0**-53
ULPS = 4  # of exp, tanh, erf
UNDERFLOW = 2.0**-500
OUTWARD = 1 + 2.0**-20  # for the rounding of these bounds themselves


def γ(m: float) -> float:
    """γ_m = mu/(1 − mu)."""
    return m * U / (1 - m * U) if m * U < 0.5 else math.inf


def forward_error(network: Node, inputs: Tokens) -> float:
    """η: the largest ℓ2 distance between an output row and its float64 value."""
    width = input_width(network) or inputs.d
    if width is None:
        raise InputError("network", "a node that knows its input width, or Tokens(d=…)", "none")
    return local(network, inputs.signal(width)) * OUTWARD + UNDERFLOW


@singledispatch
def local(node: Node, signal: Signal) -> float:
    """What the node's own arithmetic adds, on float rows like ``signal``."""
    raise InputError(
        "node with a proven rounding error",
        "a head, attention, dense layer, activation, layer norm, pooling, readout or logits",
        type(node).__name__,
    )


# -- compositions -----------------------------------------------------------------------------


def wider(signal: Signal, e: float) -> Signal:
    """The same rows, each moved by at most e."""
    return signal if e == 0 else replace(signal, radius=signal.radius + e, l1=None)


def through(node: Node, signal: Signal, e: float) -> float:
    """The error after a node that was given rows with error e."""
    there = wider(signal, e)
    slope = float(node.facts(there).lipschitz) if e > 0 else 0.0
    return local(node, there) + slope * e + UNDERFLOW


@local.register
def _(node: Chain, signal: Signal) -> float:
    e = 0.0
    for part in node.nodes:
        e = through(part, signal, e)
        signal = part.facts(signal).out
    return e


@local.register
def _(node: Repeat, signal: Signal) -> float:
    return local(Chain((node.inner,) * node.L), signal)


@local.register
def _(node: Parallel, signal: Signal) -> float:
    errors = [local(part, signal) for part in node.nodes]
    sizes = [
        float(part.facts(signal).out.radius) + e for part, e in zip(node.nodes, errors, strict=True)
    ]
    return sum(errors) + γ(len(errors)) * sum(sizes)


@local.register
def _(node: Heads, signal: Signal) -> float:
    return local(Parallel((node.inner,) * node.H), signal)


@local.register
def _(node: Residual, signal: Signal) -> float:
    inner = local(node.inner, signal)
    return inner + U * (float(node.facts(signal).out.radius) + inner)


# -- attention --------------------------------------------------------------------------------


def softmax_error(ρ: float, T: float) -> float:
    """‖fl(softmax)(s) − softmax(s)‖₁ for T float scores |s| ≤ ρ.

    s − max s is off by a factor 1 ± u, so its exponential by e^{2uρ}, and by ULPS more: r in all.
    T such terms are added (γ_T) and one divides (u): relative error 2r + γ_{T+1} + u, and 1 % of
    that for products of errors while all of it is below 1/250.
    """
    r = (4 * ρ + 2 * ULPS + 2) * U
    total = 2 * r + γ(T + 1) + U
    return 1.01 * total if total < 0.004 else math.inf


def _softmax_only(node: Node, attention) -> None:
    if not isinstance(normaliser(attention), Softmax):
        told = f"{type(node).__name__} with attention {attention!r}"
        raise InputError("node with a proven rounding error", "softmax attention", told)


@local.register
def _(node: Head, signal: Signal) -> float:
    """Scores, then weights, then the average of values, then σ and the output matrix.

    |s| ≤ R‖v‖·scale (or R²‖W_QK‖_F, R²‖W_Q‖_F‖W_K‖_F), computed within γ_m of that. The weights are
    off by α in ℓ1: the softmax's own error and, by its Lipschitz constant 1, that of the scores.
    """
    _softmax_only(node, node.attention)
    p, R, T, d = node.parameters(node.d)[0], float(signal.radius), signal.rows, node.d
    size = {name: float(p[name].norm("fro")) for name in p}
    if node.query == "fixed":
        s, m = R * size["v"], d + 1
    elif "W_QK" in p:
        s, m = R * R * size["W_QK"], 2 * d + 1
    else:
        s, m = R * R * size["W_Q"] * size["W_K"], 2 * d + node.inner + 1
    s = s * node.scale
    off = γ(m) * s
    α = softmax_error(s + off, T) + off
    values = R * size["W_v"]
    e = (γ(T + d) * (1 + α) + α) * values
    σ = activation(node.sigma)
    e, values = _activated(σ, e, values, node.inner)
    if "W_c" not in p:
        return e
    return size["W_c"] * (e + γ(node.inner) * (values + e))


@local.register
def _(node: MultiHeadAttention, signal: Signal) -> float:
    """As for a head; the errors of queries and keys reach the scores through each other's size.

    Each of H heads averages values of size r_v, so the joined row is off by √H times one head.
    """
    _softmax_only(node, node.attention)
    for name in ("rope", "qk_norm"):
        if getattr(node, name):
            raise InputError("node with a proven rounding error", f"no {name}", f"{name} attention")
    p, R, T, d = node.parameters(node.d)[0], float(signal.radius), signal.rows, node.d
    size = {name: float(p[name].norm("fro")) for name in p}

    def linear(W: str, b: str) -> tuple[float, float]:
        largest = R * size[W] + size.get(b, 0.0)
        return largest, γ(d + 1) * largest

    (q, e_q), (k, e_k), (v, e_v) = linear("W_Q", "b_Q"), linear("W_K", "b_K"), linear("W_v", "b_v")
    s = (q + e_q) * (k + e_k) * node.s
    off = γ(node.slice + 2) * s + (e_q * (k + e_k) + q * e_k) * node.s
    α = softmax_error(s + off, T) + off
    one = γ(T) * (1 + α) * (v + e_v) + α * (v + e_v) + e_v
    root, wide = math.sqrt(node.H), node.H * node.slice
    mixed = root * (v + one)
    return size["W_c"] * root * one + γ(wide + 1) * (size["W_c"] * mixed + size.get("b_c", 0.0))


# -- one row at a time ------------------------------------------------------------------------


def _activated(σ: Activation, e: float, size: float, width: int) -> tuple[float, float]:
    """Error and size after σ, of rows of that size that are off by e.

    identity and relu are exact. The others are an entry times a gate in [0, 1], a gate, or a sum
    of two terms below |x| + 1, each within a few operations of ``tanh``, ``erf`` or ``exp``:
    |fl(σ(x)) − σ(x)| ≤ 64u(|x| + 1), the 1 only where σ(0) ≠ 0.
    """
    if σ.name not in ACTIVATIONS or ACTIVATIONS[σ.name] is not σ:
        raise InputError("activation with a proven rounding error", "a registered one", σ.name)
    there = size + e
    own = 0.0
    if σ.name not in ("identity", "relu"):
        own = 64 * U * (there + (math.sqrt(width) if σ.at0 > 0 else 0.0))
    return σ.lipschitz * e + own, float(σ.radius(Magnitude.of(there), width))


@local.register
def _(node: Dense, signal: Signal) -> float:
    p = node.parameters(node.d)[0]
    size = {name: float(p[name].norm("fro")) for name in p}
    weight, bias = node.names
    largest = float(signal.radius) * size[weight] + size.get(bias, 0.0)
    return _activated(activation(node.sigma), γ(node.d + 1) * largest, largest, node.out)[0]


@local.register
def _(node: Activate, signal: Signal) -> float:
    return _activated(activation(node.sigma), 0.0, float(signal.radius), signal.width)[0]


@local.register
def _(node: LayerNorm, signal: Signal) -> float:
    """c = x − mean is off by 2γ_{d+4}R; c ↦ c/√(‖c‖²/d + ε) has slope 1/√ε and its own γ_{d+6}√d.

    The mean is off by γ_d R/√d, the same for d entries; mean square, ε, root and quotient by
    relative errors γ_{d+1}, u, u, u; gain and bias by u each.
    """
    d, R = node.d, float(signal.radius)
    p = node.parameters(d)[0]
    g = float(p["gain"].norm("linf")) if "gain" in p else 1.0
    b = float(p["bias"].norm("fro")) if "bias" in p else 0.0
    off = 2 * γ(d + 4) * R if node.centered else 0.0
    return g * off / math.sqrt(node.eps) + 2 * γ(d + 8) * (g * math.sqrt(d) + b)


@local.register
def _(node: ProjectRows, signal: Signal) -> float:
    return 2 * γ(signal.width + 6) * min(float(signal.radius), 1.0)


@local.register
def _(node: Pool, signal: Signal) -> float:
    return 0.0 if node.how == "cls" else γ(signal.rows + 1) * float(signal.radius)


@local.register
def _(node: Positions, signal: Signal) -> float:
    return U * float(node.facts(signal).out.radius)


@local.register
def _(node: Readout, signal: Signal) -> float:
    w = float(node.parameters(signal.width)[0]["w"].norm("fro"))
    pooled = local(Pool(node.pool), signal)
    return w * (pooled + γ(signal.width) * (float(signal.radius) + pooled))


@local.register
def _(node: Logits, signal: Signal) -> float:
    """In the largest coordinate, so column by column."""
    p = node.parameters(signal.width)[0]
    b = float(p["b"].norm("linf")) if "b" in p else 0.0
    return γ(signal.width + 1) * (float(signal.radius) * float(p["W"].norm("col2inf")) + b)
