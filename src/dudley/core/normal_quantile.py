"""The normal quantile of 32-bit words, the same to the last bit on every device.

A word w stands for the probability (w + ½)/2^32. Its quantile is ∓ that of the smaller tail
q = n/2^33, n odd. The binary digits of n choose a piece (an octave of q cut in eight), where the
quantile is its Taylor polynomial of degree 7 about the middle, summed by Horner's rule in float64
with a product and a sum rounded one after the other: no logarithm or cosine, whose last bit
differs between devices.

    Φ⁻¹ = x,   x' = g = √(2π)·e^{x²/2},   g' = x·g²,

so the coefficients follow by recursion; they are computed in decimal arithmetic of 50 digits,
whose rounding to float64 does not depend on the machine.

Accuracy: within 1e-11 of the quantile before rounding to float32.
Reach: the words 0 and 2^32 − 1 give ∓6.338.

>>> from dudley.core.backend import torch
>>> normal_quantile(torch.tensor([0, 2**31, 2**32 - 1]))
tensor([-6.3380e+00,  2.9179e-10,  6.3380e+00])
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from statistics import NormalDist

from dudley.core.backend import torch

DEGREE, CUT = 7, 3  # an octave is cut into 2^CUT pieces
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


def normal_quantile(word: torch.Tensor) -> torch.Tensor:
    """Φ⁻¹((w + ½)/2^32) for int64 words w in [0, 2^32), as float32."""
    upper = word >= 1 << 31
    tail = torch.where(upper, 0xFFFFFFFF - word, word)
    binary = (2 * tail + 1).double().view(torch.int64)  # exponent, then 52 bits of fraction
    rest = 52 - CUT
    piece = (binary >> rest) - (1023 << CUT)
    t = (binary & ((1 << rest) - 1)).double() * 2.0 ** (1 - rest) - 1.0
    table = _table_on(word.device)
    total = table[DEGREE][piece]
    for k in reversed(range(DEGREE)):
        total = total * t
        total = total + table[k][piece]
    return torch.where(upper, -total, total).float()


@cache
def _table_on(device: torch.device) -> torch.Tensor:
    return torch.tensor(coefficients(), dtype=torch.float64).T.contiguous().to(device)


@cache
def coefficients() -> tuple[tuple[float, ...], ...]:
    """For each of the 32 · 2^CUT pieces, DEGREE + 1 coefficients in t ∈ [−1, 1)."""
    with localcontext() as context:
        context.prec = 50
        halves = 2 << CUT
        return tuple(
            _taylor(
                Decimal((halves + 2 * j + 1) << octave) / (halves << 33),
                Decimal(1 << octave) / (halves << 33),
            )
            for octave in range(32)
            for j in range(1 << CUT)
        )


def _taylor(q: Decimal, radius: Decimal) -> tuple[float, ...]:
    """Coefficients of t ↦ Φ⁻¹(q + radius · t)."""
    root = (2 * PI).sqrt()
    x = Decimal(NormalDist().inv_cdf(float(q)))
    for _ in range(3):  # Newton: each doubles the digits
        x -= (_lower_tail(x) - q) * root * (x * x / 2).exp()
    a, g = [x], [root * (x * x / 2).exp()]
    for k in range(DEGREE):
        a.append(g[k] / (k + 1))
        square = [sum(g[i] * g[j - i] for i in range(j + 1)) for j in range(k + 1)]
        g.append(sum((a[i] * square[k - i] for i in range(k + 1)), Decimal(0)) / (k + 1))
    return tuple(float(c * radius**k) for k, c in enumerate(a))


def _lower_tail(x: Decimal) -> Decimal:
    """Φ(x) = ½ + φ(x)·(x + x³/3 + x⁵/(3·5) + …)."""
    total = term = x
    k = 1
    while abs(term) > Decimal("1e-48"):
        k += 2
        term = term * x * x / k
        total += term
    return Decimal("0.5") + total / ((2 * PI).sqrt() * (x * x / 2).exp())
