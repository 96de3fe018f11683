"""One scale: by hand, on classes whose risks are known, and with planted mistakes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dudley as du
from dudley.calculus import fast_rate
from dudley.core.entropy import Entropy
from dudley.networks.losses import Margin
from dudley.networks.one_scale import OneScale
from each import each
from planting import changed, goes_red

δ, REPEATED = 0.1, 2000


class Balls(Entropy):
    """All functions within ``radius`` of one of N: N centres there, none below, one from 2·radius.

    A cover of uniform scope, so it refuses to be asked for a number of examples.
    """

    uses_points, log_radius = False, 700.0

    def __init__(self, N: int, radius: float):
        self.N, self.radius = N, radius

    def log_log(self, log_ε, log_n=None):
        assert log_n is None, "asked for a cover of so many points"
        ε, log_N = np.exp(np.asarray(log_ε)) * (1 + 1e-9), math.log(math.log(self.N))
        large = np.where(ε < 2 * self.radius, log_N, -math.inf)
        return np.where(ε < self.radius, math.inf, large)

    def proper(self):
        return self


def claims(entropy: Entropy, loss, q: np.ndarray, n: int) -> np.ndarray:
    """The bound on the risk at each training error."""
    values = {
        x: x + OneScale(entropy, loss, x, math.log(1 / δ)).gap(math.log(n)) for x in set(q.tolist())
    }
    return np.array([values[x] for x in q.tolist()])


# -- margins ------------------

n_margins, N, γ, p = 80, 60, 0.5, 0.24
HALF = γ / 2 * (1 - 2.0**-30)


def check_margins():
    """Margins of the centres are γ/2 with probability p, and large otherwise, independently.

    After the sample, the member that is γ/2 above a centre on the sample and γ/2 below it elsewhere
    is taken: its error is p, and its training margins are below γ where the centre's are γ/2. (Both
    are a little less than γ/2.) The centre with the fewest of them is the worst for the bound.
    """
    rng = np.random.default_rng(7)
    fewest = rng.binomial(n_margins, p, size=(REPEATED, N)).min(axis=1)
    entropy = Balls(N, HALF)
    failures = claims(entropy, Margin(γ), fewest / n_margins, n_margins) < p
    assert failures.mean() <= δ, f"wrong in {failures.mean():.0%} of the samples"


def test_margins_keep_their_confidence():
    check_margins()


def test_the_instance_uses_up_the_confidence():
    """With a tenth of the nats less, it would fail too often."""
    worst = stats.binom.ppf(δ ** (9 / 10) / N ** (9 / 10), n_margins, p)
    assert 1 - (1 - stats.binom.cdf(worst, n_margins, p)) ** N > δ


def test_a_cover_at_the_margin_itself_is_seen():
    """One centre would do there; its bound fails for the best of N members."""
    with pytest.MonkeyPatch.context() as plant:
        plant.setattr(fast_rate, "STEP", 2.0)
        goes_red(check_margins)


def test_planted_factors_are_seen():
    with pytest.MonkeyPatch.context() as plant:
        plant.setattr(fast_rate, "margins", changed(fast_rate.margins, lambda p: p / 1.2))
        goes_red(check_margins)


def test_logits_are_covered_at_a_quarter_of_the_margin():
    entropy = Balls(N, γ / 2)
    for multiclass, share in ((False, 2), (True, 4)):
        rule = OneScale(entropy, Margin(γ, multiclass), 0.0, 3.0)
        assert rule.resolutions.tolist() == pytest.approx([γ / share], rel=1e-8)
        assert rule.resolutions[0] < γ / share


def test_margins_by_hand():
    assert fast_rate.margins(0.0, 0.05, 2000.0) == pytest.approx(1 - math.exp(-0.05), rel=1e-9)
    upper = fast_rate.margins(3 / 500, 0.03, 500.0)
    assert stats.binom.cdf(3, 500, upper) == pytest.approx(math.exp(-15), rel=1e-6)
    assert upper == fast_rate.margins(2.1 / 500, 0.03, 500.0)  # a share of errors that is no count
    assert upper == fast_rate.margins(3 / 500 + 1e-12, 0.03, 500.0)
    huge = fast_rate.margins(0.006, 0.03, 1e12)  # kl, which is larger
    assert upper < huge
    kl = 0.006 * math.log(0.006 / huge) + 0.994 * math.log(0.994 / (1 - huge))
    assert kl == pytest.approx(0.03, rel=1e-9)
    for share in (701.0, math.inf, math.nan):
        assert fast_rate.margins(0.0, share, 100.0) == 1.0


# -- losses ------------------

n_losses, scale, mean = 3000, float(fast_rate.SCALES[6]), 0.3


def check_losses():
    """Losses of the centres are ``scale`` or 1 − ``scale``, of a fixed mean, independently.

    The member that has ``scale`` less on the sample, and as much more elsewhere, is taken.
    """
    rng = np.random.default_rng(8)
    p = (mean - scale) / (1 - 2 * scale)
    fewest = rng.binomial(n_losses, p, size=(REPEATED, N)).min(axis=1)
    q = fewest / n_losses * (1 - 2 * scale)  # of the member, on the sample
    failures = claims(Balls(N, scale), du.Loss(), q, n_losses) < mean + scale
    assert failures.mean() <= δ, f"wrong in {failures.mean():.0%} of the samples"


def test_losses_keep_their_confidence():
    check_losses()


def shifted(by: float):
    """The rule with the risk moved by so many resolutions."""
    return lambda risk: (risk[0] - by * scale, risk[1])


@each("change", [lambda risk: (risk[0] / 1.2, risk[1]), shifted(1.0), shifted(2.0)])
def test_planted_losses_are_seen(change):
    with pytest.MonkeyPatch.context() as plant:
        plant.setattr(fast_rate, "losses", changed(fast_rate.losses, change))
        goes_red(check_losses)


def check_list(q: float, b: float, L: float):
    """The least over all 40 resolutions, each with ln 40 in the nats, written out."""
    entropy, n = du.LinearMap((3, 1), du.L2(1.0)).entropy(), 400
    best = math.inf
    for k in range(1, 41):
        ε = b / L * 2 ** (-k / 2)
        nats = float(entropy(ε)) + math.log(1 / δ) + math.log(40)
        best = min(best, b * kl_inverse((q + L * ε) / b, nats / n) + L * ε)
    loss = du.Loss(L, b, "any")
    assert q + OneScale(entropy, loss, q, math.log(1 / δ)).gap(math.log(n)) == pytest.approx(
        min(best, b), rel=1e-9
    )


def kl_inverse(q: float, c: float) -> float:
    """max{p : kl(q‖p) ≤ c}, by bisection."""
    low, high = min(q, 1.0), 1.0
    for _ in range(100):
        p = (low + high) / 2
        kl = (
            (q * math.log(q / p) if q else 0.0) + (1 - q) * math.log((1 - q) / (1 - p))
            if p < 1
            else 99
        )
        low, high = (p, high) if kl < c and q < 1 else (low, p)
    return high if q < 1 else 1.0


@each(("q", "b", "L"), [(0.0, 1.0, 1.0), (0.1, 1.0, 1.0), (0.5, 4.0, 0.5), (0.9, 1.0, 20.0)])
def test_the_list_of_resolutions_by_hand(q, b, L):
    check_list(q, b, L)


def test_a_list_that_is_not_paid_for_is_seen():
    with pytest.MonkeyPatch.context() as plant:
        plant.setattr(fast_rate, "LISTED", 0.0)
        goes_red(check_list, 0.1, 1.0, 1.0)
