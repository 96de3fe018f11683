"""Leaky twins of the rule of pick-to-learn: how often their numbers fail, where no proof holds.

Each rule below looks at what the proof forbids: at counts, means or losses over the sample, or at
names that copies share. `test_validity_picks` shows by brute force that such rules break property
(i); here an adversary uses the leak, and the number fails more often than δ = .1.

A *region* is a part of the inputs on which a model is wrong; regions of different models are
independent. Beside each twin stands its honest counterpart, where there is one.

Tags that copies share fail only if copies share the *count*, too. If copies are examples of their
own and only their tags tie, any way to settle ties that does not look at the sample is as good as
random tags, for the copies of an example are alike: the key is then (shared tag, own tag), a
function of the example. There is no failure to show. For batches of half of the wrong examples no
failure rate is known either: there the brute force is all.
"""

from __future__ import annotations

import math

import numpy as np

from dudley.certificates.methods.pick_to_learn.bound import UNIFORM, PickWeights, risk_upper

RUNS, δ = 2000, 0.1


def most_allowed(N: int, risk: float, weights: PickWeights = UNIFORM) -> int:
    """The largest k whose bound is below the risk; −1 if there is none."""
    low, high = -1, N
    while high - low > 1:
        middle = (low + high) // 2
        below = risk_upper(middle, N, -math.log(δ), weights) < risk
        low, high = (middle, high) if below else (low, middle)
    return low


def test_keys_relative_to_a_mean_fail():
    """Pick the example farthest from the mean of the sample, once.

    Inputs are J = 300 unit vectors, all equally likely: the farthest is the one that came least
    often. A model that is wrong on the vector that it picked has k = its count.
    """
    N, J, rng = 30_000, 300, np.random.default_rng(1)
    counts = rng.multinomial(N, [1 / J] * J, RUNS)
    k = most_allowed(N, 1 / J)
    assert (counts.min(axis=1) <= k).mean() > 2 * δ
    by_tag = [row[rng.choice(J, p=row / N)] for row in counts]  # the honest key
    assert (np.array(by_tag) <= k).mean() <= δ


def test_a_stop_by_earlier_counts_fails():
    """Stop as soon as failures fall .4 percent below the mean of the rounds before.

    Each round picks one example and has a region of its own, of mass .3, and the weights are
    concentrated around so many failures. Stopping after the last round, whatever was counted, is
    honest.
    """
    N, rounds, risk, rng = 1_000_000, 200, 0.3, np.random.default_rng(2)
    counts = rng.binomial(N, risk, (RUNS, rounds))
    earlier = counts.cumsum(axis=1)[:, :-1] / np.arange(1, rounds)
    low = counts[:, 1:] < 0.996 * earlier
    stop = np.where(low.any(axis=1), low.argmax(axis=1) + 1, rounds - 1)
    k = most_allowed(N, risk, PickWeights(300_000))
    stopped = counts[np.arange(RUNS), stop] + stop
    assert (stopped <= k).mean() > 1.5 * δ
    assert (counts[:, -1] + rounds <= k).mean() <= δ


def test_picks_by_their_loss_on_the_rest_fail():
    """Of all examples pick the one after which fewest of the others are wrong, once.

    Each of N possible picks gives a model with a region of its own, of mass .2. A pick by tag,
    before the others are looked at, has one region.
    """
    N, risk, rng = 400, 0.2, np.random.default_rng(3)
    k, least = most_allowed(N, risk), np.empty(RUNS)
    for run in range(RUNS):
        least[run] = rng.binomial(N - 1, risk, N).min()
    assert (least + 1 <= k).mean() > 2 * δ
    assert (rng.binomial(N - 1, risk, RUNS) + 1 <= k).mean() <= δ


def test_copies_that_share_a_name_fail():
    """Picks are kept by content alone, so that a pick takes all its copies out of the count.

    Half of all draws are one item; a model is wrong on it, even after it was picked. By names that
    number the copies, all of them are counted.
    """
    N, rng = 60, np.random.default_rng(4)
    copies = rng.binomial(N, 0.5, RUNS)
    by_content = np.where(copies > 0, 1, 0)
    assert (by_content <= most_allowed(N, 0.5)).mean() > 0.9
    assert (copies <= most_allowed(N, 0.5)).mean() <= δ
