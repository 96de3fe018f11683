"""What would lower the number most, computed: each term changed by itself, the others kept."""

from __future__ import annotations

import math

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.methods.norm_cover.sets import name_of
from dudley.certificates.methods.norm_cover.terms import Terms

_MOST = 24  # numbers that are varied


def advice(at: Terms, γ: float, errors: int, n: int, c: float, value: float) -> tuple[str, ...]:
    """Sentences, the largest gain first."""
    if not math.isfinite(c):
        why = f"the margin {γ:.3g} does not exceed twice the rounding error {at.η:.3g}"
        return (why + ", or a block has no cover: larger margins first",)
    log_N = at.cover(γ).log_size

    def bound(log_size: float, k: int = errors, m: int = n) -> float:
        return binomial_upper(k, m, c - log_N + log_size)

    gains = [
        (bound(log_N, 2 * errors, 2 * n), "twice the examples, at the same share of small margins"),
        (bound(at.cover(2 * γ).log_size), "twice the margin at these norms"),
        (bound(log_N / 2), f"half the entropy ({log_N / 2:.4g} nats)"),
    ]
    if errors:
        gains.append((bound(log_N, 0), f"no example below the margin (now {errors})"))
    numbers = [(path, ball.norm) for path, set_ in at.paid.sets.items() for ball in set_.balls]
    for path, norm in numbers[:_MOST]:
        log_size = at.cover(γ, at.paid.scaled(path, norm, 0.5)).log_size
        gains.append((bound(log_size), f"half the {norm} of {name_of(path)}"))
    lines = [f"{what}: {new:.4g} instead of {value:.4g}" for new, what in sorted(gains)]
    if errors == 0:
        lines.append(f"no small margins: the number is 1 − e^(−c/n) with c = {c:.4g} nats")
    return tuple(lines)
