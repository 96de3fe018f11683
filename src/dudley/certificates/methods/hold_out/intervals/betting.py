"""Betting: a mean is refuted once a fair game against it has made 1/δ out of 1.

Claim. Let z_1, …, z_n be losses in [0, 1] with E[z_i | z_1 … z_{i−1}] = μ, and for m ∈ [0, 1) let

    K_t(m) = ∏_{i≤t} (1 + λ_i(m) (m − z_i)),   λ_i(m) = min(b_i, κ/(1 − m)),   0 < κ < 1,

where the bet b_i ≥ 0 is a function of z_1, …, z_{i−1}, n and δ alone. Then any m with
max_t K_t(m) ≥ 1/δ is an upper bound on μ with probability at least 1 − δ.

Proof. (1) m − z_i ≥ −(1 − m), so each factor is at least 1 − κ > 0. At m = μ a factor has mean 1
given the past, so K_t(μ) is a non-negative martingale that starts at 1, and by Ville's inequality
max_t K_t(μ) ≥ 1/δ has probability at most δ. (2) Each factor is non-decreasing in m. Where
λ_i(m) = b_i, it is affine with slope b_i. Where λ_i(m) = κ/(1 − m), the derivative of
κ(m − z)/(1 − m) is κ(1 − z)/(1 − m)² ≥ 0. The two meet continuously. So K_t and its maximum are
non-decreasing in m: whatever refutes m refutes every larger mean, and a bound below μ would mean
that μ itself is refuted. ∎

The bets follow Waudby-Smith and Ramdas (2024, the predictable plug-in for a fixed n), with averages
and variances of what came before:

    b_i = √(2 c/(n v_{i−1})),
    v_t = (1/4 + Σ_{j≤t} (z_j − a_j)²)/(t + 1),   a_t = (1/2 + Σ_{j≤t} z_j)/(t + 1).

The order must not depend on the losses: zeros first, say, would break (1). Neither the order of a
file nor a fixed permutation of sorted examples is such an order, so a hold-out refuses this
interval (`fixed_bets` needs none). It bounds draws of the weights of a posterior, whose order is
the number of the draw (`dudley.certificates.around.draws`).

>>> round(betting(np.array([0.0, 0.25, 0.5, 0.25] * 25), 3.0), 4)
0.2927
"""

from __future__ import annotations

import numpy as np

from dudley.certificates.methods.hold_out.interval import INTERVALS, mean_up

κ = 0.9
STEPS, NEAR = 90, 1e-12  # halvings of [0, 1], until its ends are that near


@INTERVALS.register("betting")
def betting(losses: np.ndarray, c: float) -> float:
    """The least mean refuted that halving finds, 1 if none is; never below the average.

    (Refuted at some moment, though not in the end, may be a mean below the average of all n.)
    """
    bets = plug_in(losses, c)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if high - low <= NEAR * high:
            break
        if log_capital(losses, bets, middle) >= c:
            high = middle
        else:
            low = middle
    return max(high, mean_up(losses))


def plug_in(losses: np.ndarray, c: float) -> np.ndarray:
    """The bets b_1, …, b_n; each sees only what came before it."""
    n = len(losses)
    count = np.arange(1, n + 1)
    averages = (0.5 + np.cumsum(losses)) / (count + 1)
    spread = np.cumsum((losses - averages) ** 2)
    before = np.concatenate([[0.0], spread[:-1]])
    return np.sqrt(2 * c / (n * ((0.25 + before) / count)))


def log_capital(losses: np.ndarray, bets: np.ndarray, m: float) -> float:
    """max_t ln K_t(m), from below.

    x_i = λ_i(m)(m − z_i) is made by four rounded operations. ln(1 + x_i) then errs by less than
    (5/(1 − κ) + 2) units of 2^{−53} relative to itself, and a running sum of t terms by t more,
    relative to the sum of their absolute values.
    """
    x = np.minimum(bets, κ / (1 - m)) * (m - losses)
    terms = np.log1p(x)
    lost = (len(x) + 64 / (1 - κ)) * 2.0**-53
    return float(np.max(np.cumsum(terms) - lost * np.cumsum(np.abs(terms)) * (1 + 2.0**-20)))
