"""Tests of slices: for which slices is it proved that the risk is below a declared level?

Claim. For the S slices of a column and a declared level x, Holm's rule proves, one slice after the
other, that the risk of a slice is below x; with probability at least 1 − δ′ all that it proves is
true.

**Rule.** While some slice is left whose upper bound at δ′/r is at most x, r being the number of
those that are left, it is proved and leaves.

**Proof** (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6 (1979), 65–70). Let T be the slices whose risk is x or more, t = |T|. Suppose the rule
proves one of T, and look at the first. All that were proved before are not in T, so r ≥ t there,
and the bound of that slice at δ′/t, which is no higher than that at δ′/r, is at most x and so at
most its risk. Each of the t bounds falls so low with probability at most δ′/t, one of them with
probability at most δ′. (The bound is at most the risk with probability at most δ′/t: for Clopper
and Pearson P[Bin(n, p) ≤ k] < δ′/t at every p from the bound on; for fixed bets the bound itself is
refuted.) ∎

It proves at least as many slices as the bounds at δ′/S do. It gives no bounds: those are another
part of the certificate, at a share of δ of its own.

>>> import math
>>> question = LossQuestion(np.r_[np.zeros(100), 1, np.zeros(48)], True, math.log(20))
>>> slices = [np.arange(50), np.arange(50, 100), np.arange(100, 149)]
>>> proved_below(question, slices, 0.1)
(True, True, True)
>>> [question.upper(rows, math.log(3)) <= 0.1 for rows in slices]
[True, True, False]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dudley.certificates.outcomes.question import LossQuestion, share_nats


def proved_below(
    question: LossQuestion, slices: Sequence[np.ndarray], level: float, nats: float = 0.0
) -> tuple[bool, ...]:
    """For the rows of each slice, whether their risk is proved to be below the level.

    ``nats`` is what a part of δ for each of several columns costs.
    """
    left, proved = set(range(len(slices))), [False] * len(slices)
    while left:
        paid = nats + share_nats(len(left))
        done = {i for i in left if question.upper(slices[i], paid) <= level}
        if not done:
            break
        left -= done
        for i in done:
            proved[i] = True
    return tuple(proved)
