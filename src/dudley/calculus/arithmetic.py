"""Float64 arithmetic: how far a program may be from the function it stands for.

Model of arithmetic (Higham 2002, §2.2 and §3.1): u = 2^−53, fl(x ∘ y) = (x ∘ y)(1 + δ), |δ| ≤ u,
and a sum of m products in any order, fused or not, satisfies |fl(x·y) − x·y| ≤ γ_m |x|·|y| with
γ_m = mu/(1 − mu). Hence ‖fl(xW) − xW‖₂ ≤ γ_a ‖x‖₂‖W‖_F for W ∈ R^{a×b}. Further assumed: products
of matrices are computed as sums of products (no Strassen), ``exp``, ``tanh`` and ``erf`` are within
4 units in the last place. Underflow adds less than 2^−500 at each node.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dudley.calculus.facts import Signal
from dudley.calculus.node import Node

U = 2.0**-53
ULPS = 4  # of exp, tanh, erf
UNDERFLOW = 2.0**-500
OUTWARD = 1 + 2.0**-20  # for the rounding of these bounds themselves


def γ(m: float) -> float:
    """γ_m = mu/(1 − mu)."""
    return m * U / (1 - m * U) if m * U < 0.5 else math.inf


def wider(signal: Signal, e: float) -> Signal:
    """The same rows, each moved by at most e."""
    return signal if e == 0 else replace(signal, radius=signal.radius + e, l1=None)


def through(node: Node, signal: Signal, e: float) -> float:
    """The error after a node that was given rows with error e."""
    there = wider(signal, e)
    slope = float(node.facts(there).lipschitz) if e > 0 else 0.0
    return node.rounding(there) + slope * e + UNDERFLOW


def softmax_error(ρ: float, T: float) -> float:
    """‖fl(softmax)(s) − softmax(s)‖₁ for T float scores |s| ≤ ρ.

    s − max s is off by a factor 1 ± u, so its exponential by e^{2uρ}, and by ULPS more: r in all.
    T such terms are added (γ_T) and one divides (u): relative error 2r + γ_{T+1} + u, and 1 % of
    that for products of errors while all of it is below 1/250.
    """
    r = (4 * ρ + 2 * ULPS + 2) * U
    total = 2 * r + γ(T + 1) + U
    return 1.01 * total if total < 0.004 else math.inf
