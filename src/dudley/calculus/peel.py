"""Peel: a linear functional of a class of vectors costs a norm, and no entropy.

Let F = {x ↦ ⟨w, y(x)⟩ : y ∈ Y, ‖w‖₂ ≤ B}, and ‖y(x)‖₂ ≤ R. With the means v_y = (1/n)Σ τ_i y(x_i),

    R̂(F) = E sup_y sup_w ⟨w, v_y⟩ = B·E sup_y ‖v_y‖₂,

and the vectors are chained: with centres of Y at d_1 > … > d_J (ℓ2 norm of a row, largest over the
examples), parents chosen between levels as in ``chain``, and d_0 = R around the function 0,

    R̂(F) ≤ B·(d_J + Σ_j ℓ_j·price(H_j)),   ℓ_1 = R,  ℓ_j = d_{j−1} (by members) or d_{j−1} + d_j,
    price(H) = √(2 log(2N)/n) for N = e^H functions,  1/√n for one.

*The price.* Take N fixed functions u with ‖u(x_i)‖₂ ≤ ℓ, and λ > 0. For vectors a and b

    (cosh ‖a + b‖ + cosh ‖a − b‖)/2 ≤ cosh ‖a‖ cosh ‖b‖:

cosh √s = Σ s^k/(2k)! is convex in s, and ‖a ± b‖² = ‖a‖² + ‖b‖² ± 2⟨a, b⟩, so the left side grows
with |⟨a, b⟩|, and at ‖a‖‖b‖ it is the right one. One sign after the other is averaged in this way:

    E cosh λ‖v_u‖ ≤ Π_i cosh(λ‖u(x_i)‖/n) ≤ exp(λ²ℓ²/2n).

Let M = E max_u ‖v_u‖. By convexity e^{λM}/2 ≤ cosh λM ≤ E max_u cosh λ‖v_u‖ ≤ N·exp(λ²ℓ²/2n), and
λ = √(2n log(2N))/ℓ gives M ≤ ℓ√(2 log(2N)/n). For one function, M ≤ (E‖v_u‖²)^{1/2} ≤ ℓ/√n, which
is attained where the u(x_i) are orthogonal and of length ℓ: a single y is not free, for w varies.

*Losses.* Let ℓ_i be L-Lipschitz with |ℓ_i − c_i| ≤ b/2, and R̂(ℓ∘F) the complexity of all
x_i ↦ ℓ_i(f(x_i)). By contraction it is at most L·R̂(F). Better, part Y by the centres û at d_1 from
which the tree of parents comes to y. In each part the supremum of (1/n)Σ τ_iℓ_i(f(x_i)) moves by at
most b/n with one sign, and its mean is at most LB·(R/√n + d_J + Σ_{j>1} ℓ_j·price(H_j)), by
contraction in that part. The mean of the largest of N(d_1) such variables is at most
(b/2)·√(2H_1/n) more (bounded differences). So a first link may cost as well

    min(b/2, LBR)·√(2H_1/n) + LBR/√n   in place of   LBR·price(H_1).

No dimension enters. A bound on ‖w‖₁ is one on ‖w‖₂, and as ‖v‖_∞ ≤ ‖v‖₂ it gives nothing more
here. No centre of w is subtracted: B bounds ‖w‖₂ itself. Where w shares its weights with y it is
let free, which only enlarges the class.

Pinelis (1994), Annals of Probability 22, Theorem 3.5, has the inequality for martingales;
contraction: Ledoux and Talagrand (1991), equation 4.20, and Meir and Zhang (2003), Theorem 7.

>>> from dudley.core.entropy import PowerLaw
>>> complexity(PowerLaw(0.0), 0.0, np.log([100.0, 10_000.0]))  # a single y: R̂ ≤ B·R/√n
array([0.1 , 0.01])
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dudley.calculus import chain
from dudley.calculus.memory import along
from dudley.core.entropy import Entropy


def price(log_H: np.ndarray, log_n: np.ndarray) -> np.ndarray:
    """What a link costs per unit of its length and of B."""
    single = np.exp(-0.5 * np.asarray(log_n))
    doubled = np.logaddexp(log_H, math.log(math.log(2)))
    return np.where(log_H == -math.inf, single, chain.massart(doubled, log_n))


def first(log_H: np.ndarray, log_n: np.ndarray, reach: float) -> np.ndarray:
    """What a link from the top costs, in units of A, for losses within reach·A of their centre."""
    with np.errstate(invalid="ignore"):  # 0·∞ is unknown
        apart = reach * chain.massart(log_H, log_n) + np.exp(-0.5 * np.asarray(log_n))
    return np.fmin(price(log_H, log_n), apart)


@along
def complexity(entropy: Entropy, log_A: float, log_n: np.ndarray, reach: float = 1.0) -> np.ndarray:
    """A bound on R̂(ℓ∘F)/A for A = L·B·R, for each n; the entropy is that of Y at ε/(L·B).

    ``reach`` = min(b/2, A)/A; at 1, and L = 1, it is also a bound on R̂(F).
    """
    if log_A == -math.inf:
        return np.zeros(len(log_n))
    if entropy.is_single:
        return np.minimum(1.0, price(np.array(-math.inf), log_n))
    return chain.cheapest(entropy, log_A, log_n, price, partial(first, reach=reach))
