"""Checks of pick-to-learn that planted mistakes must turn red (`tests/conformance`)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from certificates.cuts import Cut, Cuts, line
from certificates.validity import allowed
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.beside import hold_out_beside
from dudley.certificates.methods.pick_to_learn.bound import risk_upper
from dudley.certificates.retrained import certify_retrained
from dudley.certificates.training import certify_training


def exact_sum(k: int, N: int, ε: Fraction, δ: Fraction, joined: str = "*") -> Fraction:
    """Σ_m λ_m C(m,k)/C(N,k) (1−ε)^{−(N−m)} with λ_m = δ/N; ``+`` is a published slip."""
    total = Fraction(0)
    for m in range(k, N):
        ratio = Fraction(math.comb(m, k), math.comb(N, k))
        power = (1 - ε) ** (m - N)
        total += δ / N * (ratio * power if joined == "*" else ratio + power)
    return total


def check_root(k: int, N: int, δ: Fraction) -> None:
    """The bound is the root in exact arithmetic, and never below it."""
    ε = risk_upper(k, N, -math.log(float(δ)))
    if k == N:
        assert ε == 1.0
        return
    # e^{−c} and δ differ in the last digits, and so do the roots.
    assert exact_sum(k, N, Fraction(ε) * (1 + Fraction(1, 10**12)), δ) >= 1, (N, k)
    assert exact_sum(k, N, Fraction(ε) * (1 - Fraction(1, 10**9)), δ) < 1, (N, k)


def check_worst_learner(N: int, δ: float) -> None:
    """The worst learner of stages (`test_validity_picks.stage_failure`) fails with at most δ."""
    failing, reached = 0.0, 1.0
    for j in range(N):
        stops = (1 - risk_upper(j, N, -math.log(δ))) ** (N - j)
        failing, reached = failing + reached * stops, reached * (1 - stops)
    assert failing <= δ, (N, failing)


def check_real_runs(δ: float = 0.1, runs: int = 60, **declared) -> None:
    """Certificates of one or a few rounds on a line, whose risks are known, fail rarely enough."""
    failed = 0
    for run in range(runs):
        data = line(40, seed=run)
        result = certify_training(Cuts(), None, data, delta=δ, seed=run, **declared)
        assert isinstance(result.model, Cut)
        failed += result.certificate.value < result.model.at - 0.3
    assert allowed(failed, runs, δ), failed


def check_stops_are_paid() -> None:
    """Of J declared stops each is claimed at δ/J."""
    certificate = certify_training(Cuts(), None, line(60), rounds=(1, 2, 4), seed=0).certificate
    at_share = risk_upper(certificate.facts.k, 60, math.log(3 / 0.05))
    assert certificate.value >= at_share * (1 - 1e-12)


def check_methods_are_paid() -> None:
    """The best of two methods is claimed at δ/2."""
    certificate = certify_training(Cuts(), None, line(60), among=2, seed=0).certificate
    assert certificate.value >= risk_upper(certificate.facts.k, 60, math.log(2 / 0.05)) * (
        1 - 1e-12
    )


def check_the_share_is_not_counted() -> None:
    """N is what the initial share leaves."""
    certificate = certify_training(Cuts(), None, line(60), initial=20, seed=0).certificate
    assert certificate.value >= risk_upper(certificate.facts.k, 40, math.log(20)) * (1 - 1e-12)


def check_splits_are_paid() -> None:
    """Each of three hold-outs is claimed at δ/3."""
    for split in hold_out_beside(Cuts(), line(60), seed=0).splits:
        facts = split.certificate.facts
        least = binomial_upper(facts.errors, facts.n, math.log(3 / 0.05))
        assert split.value >= least * (1 - 1e-12)


def check_both_parts_of_a_retrained_model() -> None:
    """The picks at four fifths of δ, the disagreements at one fifth, and both are added."""
    result = certify_training(Cuts(), None, data := line(60), seed=0)
    certificate = certify_retrained(result, data, line(50, seed=9).X, Cut(0.4)).certificate
    k, d = certificate.facts.k, certificate.facts.disagreements
    least = risk_upper(k, 60, -math.log(0.04)) + binomial_upper(d, 50, -math.log(0.01))
    assert d > 0 and certificate.value >= np.float64(least) * (1 - 1e-12)
