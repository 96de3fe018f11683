"""What would lower the number most, computed: each term changed by itself, the others kept."""

from __future__ import annotations

import math

from dudley.certificates.inversion import binomial_upper
from dudley.certificates.methods.norm_cover.sets import name_of
from dudley.certificates.methods.norm_cover.terms import Terms

_MOST = 24  # numbers that are varied


def advice(found: Terms, γ: float, errors: int, n: int, c: float, value: float) -> tuple[str, ...]:
    """Sentences, the largest gain first."""
    if not math.isfinite(c):
        told = f"the margin {γ:.3g} does not exceed twice the rounding error {found.η:.3g}"
        return (told + ", or a block has no cover: larger margins first",)
    log_N = found.cover(γ).log_size

    def at(log_size: float, k: int = errors, m: int = n) -> float:
        return binomial_upper(k, m, c - log_N + log_size)

    gains = [
        (at(log_N, 2 * errors, 2 * n), "twice the examples, at the same share of small margins"),
        (at(found.cover(2 * γ).log_size), "twice the margin at these norms"),
        (at(log_N / 2), f"half the entropy ({log_N / 2:.4g} nats)"),
    ]
    if errors:
        gains.append((at(log_N, 0), f"no example below the margin (now {errors})"))
    numbers = [(path, b.norm) for path, own in found.paid.sets.items() for b in own.balls]
    for path, norm in numbers[:_MOST]:
        log_size = found.cover(γ, found.paid.scaled(path, norm, 0.5)).log_size
        gains.append((at(log_size), f"half the {norm} of {name_of(path)}"))
    told = [f"{what}: {new:.4g} instead of {value:.4g}" for new, what in sorted(gains)]
    if errors == 0:
        told.append(f"no small margins: the number is 1 − e^(−c/n) with c = {c:.4g} nats")
    return tuple(told)
