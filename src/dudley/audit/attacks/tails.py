"""Norms of random matrices: expectations and probabilities by quadrature and special functions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.core.rounding import up
from dudley.theorems.witness.lower import LowerBound

LOST = 1e-9  # relative, for quadrature and special functions


def largest_of(d: int) -> float:
    """E max |g_i| of d standard Gaussians, from below: a lower sum of ∫ P(max > t) dt.

    >>> 0.797 < largest_of(1) < math.sqrt(2 / math.pi)
    True
    """
    from scipy.special import log_ndtr

    t = np.linspace(0, 12, 20_001)[1:]
    with np.errstate(divide="ignore"):
        within = np.log1p(-2 * np.exp(log_ndtr(-t)))
    return float(-np.expm1(d * within).sum() * 12 / 20_000) * (1 - LOST)


@ATTACKS.register("matrix series")
class Series(Attack):
    """A sign, a Gaussian row, a Gaussian diagonal; all of a Gaussian matrix."""

    targets = ("li2026/lemma-6.1", "li2026/assumption-6.2")

    def run(self, rng) -> Iterator[AttackFinding]:
        from scipy.special import gammaln
        from scipy.stats import chi2, norm

        lemma, tail = self.targets
        sign = LowerBound(2.0, "a random sign")
        yield AttackFinding(lemma, {"T": 1, "d": 1, "tail.nu": 2.0}, sign)
        for d in (2, 100):  # a row g of R^d: v = d, E‖g‖ = √2Γ((d+1)/2)/Γ(d/2)
            mean = math.sqrt(2) * math.exp(gammaln((d + 1) / 2) - gammaln(d / 2)) * (1 - LOST)
            values = {"T": 1, "d": d, "tail.nu": float(up(math.sqrt(d)))}
            yield AttackFinding(lemma, values, LowerBound(mean, "a Gaussian row"))
        for d in (4, 64, 10_000):  # diag(g): v = 1
            lower = LowerBound(largest_of(d), "a Gaussian diagonal")
            yield AttackFinding(lemma, {"T": d, "d": d, "tail.nu": 1.0}, lower)
        # ‖X‖_F of a sign times I_T is √T surely; of g·I_T it is √T|g|; ν = 1
        yield AttackFinding(
            tail, self.at(4, 4, 1.0, 2.0), LowerBound(1.0, "a sign times the identity")
        )
        for t in (2.2, 4.0, 8.0):
            p = 2 * float(norm.sf(t / 2)) * (1 - LOST)
            yield AttackFinding(
                tail, self.at(4, 4, 1.0, t), LowerBound(p, "a Gaussian multiple of I")
            )
        for T, d, t in ((20, 20, 20.0), (2, 3, 4.0)):  # all entries: ν = max(T, d)
            p = float(chi2.sf(t * t, T * d)) * (1 - LOST)
            yield AttackFinding(
                tail, self.at(T, d, max(T, d), t), LowerBound(p, "a Gaussian matrix")
            )

    def at(self, T, d, ν, t) -> dict[str, float]:
        return {"T": T, "d": d, "tail.nu": float(ν), "truncation": t}


@ATTACKS.register("heavy entries")
class HeavyEntries(Attack):
    """One Pareto variable in every entry, or in one at a time.

    P(ξ > x) = min(1, Cx^{−β}). All entries ξ: ‖X‖_F = √(Td)·ξ. Or exactly one entry is not 0,
    all equally likely, with P(‖X‖_F > x) = min(1, Td·Cx^{−β}).
    """

    targets = ("li2026/assumption-6.8",)

    def run(self, rng) -> Iterator[AttackFinding]:
        for T, d, C, β, x in (
            (1, 1, 2.0, 3.0, 5.0),
            (64, 64, 1.0, 6.0, 1e4),
            (2, 2, 1.0, 2.5, 10.0),
            (4, 4, 1.0, 8.0, 6.0),
        ):
            logs = (math.log(T * d), β / 2 * math.log(T * d))
            log_p = min(0.0, math.log(C) - β * math.log(x) + max(logs))
            values = {"T": T, "d": d, "tail.C": C, "tail.beta": β, "truncation": x}
            lower = LowerBound(math.exp(log_p) * (1 - LOST), "Pareto entries")
            yield AttackFinding(self.targets[0], values, lower)
