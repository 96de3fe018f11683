"""Selection by simulation: near-tight with its price, and each leak is seen.

The candidates are bits that copy the label and are wrong with known probabilities (`validity`).
"""

import math

import numpy as np

from certificates.validity import NoisyCopies, allowed, failures, leaks, tight
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.methods.selection.prior import weights_prior
from dudley.certificates.selection import certify_selection

δ, N, TIMES = 0.1, 150, 600
C = -math.log(δ)


def names(count: int) -> list[str]:
    return [str(i) for i in range(count)]


def chosen(data, **declared) -> float:
    """The number of the method itself."""
    predictions = data.X.astype(np.int64)
    result = certify_selection(names(data.X.shape[1]), predictions, data.y, delta=δ, **declared)
    return result.certificate.value


def test_the_best_of_eight_is_near_tight_and_without_its_price_it_leaks():
    risk = tight(10, N, δ / 8)
    toy = NoisyCopies((risk,) * 8, N)
    failed = failures(toy, chosen, risk, TIMES, seed=1)
    assert allowed(failed, TIMES, δ) and failed >= 0.4 * δ * TIMES
    risk = tight(16, N, δ)
    toy = NoisyCopies((risk,) * 8, N)

    def unpaid(data):
        return binomial_upper(int(toy.errors(data).min()), N, C)

    assert leaks(failures(toy, unpaid, risk, TIMES, seed=2), TIMES, δ)
    assert allowed(failures(toy, chosen, risk, TIMES, seed=2), TIMES, δ)


def test_weights_chosen_after_looking_leak():
    """All weight but a little goes to the candidate that turned out best."""
    risk = tight(16, N, δ)
    toy = NoisyCopies((risk,) * 8, N)
    before = weights_prior([93, 1, 1, 1, 1, 1, 1, 1])

    def priced(order):
        def certify(data):
            nats = np.array(before)[order(toy.errors(data))]
            return min(
                binomial_upper(int(k), N, round(C + float(x), 9))
                for k, x in zip(toy.errors(data), nats, strict=True)
            )

        return certify

    honest, after = priced(lambda errors: np.arange(8)), priced(lambda e: e.argsort().argsort())
    assert allowed(failures(toy, honest, risk, TIMES, seed=3), TIMES, δ)
    assert leaks(failures(toy, after, risk, TIMES, seed=3), TIMES, δ)


def test_a_list_shortened_after_looking_leaks():
    risk = tight(16, N, δ)
    toy = NoisyCopies((risk,) * 16, N)

    def shortened(data):
        best = np.sort(toy.errors(data))[:2]
        return binomial_upper(int(best[0]), N, C + math.log(2))

    assert leaks(failures(toy, shortened, risk, TIMES, seed=4), TIMES, δ)
    assert allowed(failures(toy, chosen, risk, TIMES, seed=4), TIMES, δ)


def test_a_threshold_read_off_the_scores_leaks_and_one_of_the_grid_does_not():
    """Scores and labels are independent, so every threshold errs on half of all examples."""
    rng, n, grid = np.random.default_rng(5), 40, np.linspace(0, 1, 9)
    at_grid = at_scores = 0
    for _ in range(TIMES):
        scores, y = rng.random(n), rng.integers(0, 2, n)
        result = certify_selection([f"{t:g}" for t in grid], scores[:, None] * 1.0, y, delta=δ)
        at_grid += result.certificate.value < 0.5
        wrong = ((scores[None] > np.r_[scores, 1.0][:, None]) != y).sum(1)
        at_scores += binomial_upper(int(wrong.min()), n, C) < 0.5
    assert allowed(at_grid, TIMES, δ)
    assert leaks(at_scores, TIMES, δ)
