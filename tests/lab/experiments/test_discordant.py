"""Paired outcomes: exact levels by summing over all tables of small n."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multinomial

from dudley.core.errors import InputError
from dudley.lab.statistics.discordant import DiscordantPairs

N, ALPHA = 14, 0.05
TABLES = [(b, c) for b in range(N + 1) for c in range(N + 1 - b)]


def weights(p_b: float, p_c: float) -> np.ndarray:
    """The probability of every table."""
    counts = np.array([(b, c, N - b - c) for b, c in TABLES])
    return multinomial(N, [p_b, p_c, 1 - p_b - p_c]).pmf(counts)


@pytest.mark.parametrize("margin", [0.2, 0.4])
def test_rates_that_differ_by_the_margin_are_seldom_called_equivalent(margin: float):
    called = np.array([DiscordantPairs(b, c, N).equivalence(margin).equivalent for b, c in TABLES])
    assert called.any()
    for p_c in (0.0, 0.05, 0.2):
        for p_b, p_c_here in ((margin + p_c, p_c), (p_c, margin + p_c)):
            assert weights(p_b, p_c_here)[called].sum() <= ALPHA


def test_the_interval_covers_the_difference():
    ends = [DiscordantPairs(b, c, N).equivalence(0.5) for b, c in TABLES]
    lowest, highest = (np.array([getattr(e, name) for e in ends]) for name in ("lowest", "highest"))
    for p_b, p_c in ((0, 0), (0.1, 0.1), (0.3, 0.05), (0.0, 0.4), (0.5, 0.5)):
        holds = (lowest <= p_c - p_b) & (p_c - p_b <= highest)
        assert weights(p_b, p_c)[holds].sum() >= 1 - 2 * ALPHA
    for table, e in zip(TABLES, ends, strict=True):  # the test and the interval say the same
        for margin in (0.25, 0.45):
            inside = -margin < e.lowest and e.highest < margin
            assert DiscordantPairs(*table, N).equivalence(margin).equivalent == inside


def test_equal_rates_are_seldom_told_apart():
    for share in (0.1, 0.4):
        p = np.array([DiscordantPairs(b, c, N).p for b, c in TABLES])
        assert weights(share, share)[p <= ALPHA].sum() <= ALPHA
    assert DiscordantPairs(0, 6, 6).p == pytest.approx(2 / 64)


def test_outcomes_are_counted_pair_by_pair():
    first, other = [True, True, False, False, True], [True, False, True, True, True]
    assert DiscordantPairs.of(first, other) == DiscordantPairs(1, 2, 5)
    assert DiscordantPairs(1, 2, 5).difference == pytest.approx(0.2)
    for wrong in (lambda: DiscordantPairs(-1, 0, 5), lambda: DiscordantPairs(3, 3, 5),
                  lambda: DiscordantPairs.of([True], [True, False]),
                  lambda: DiscordantPairs(0, 0, 5).equivalence(0.0)):  # fmt: skip
        with pytest.raises(InputError):
            wrong()
