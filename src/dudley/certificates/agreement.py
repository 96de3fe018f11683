"""Agreement: a count that another machine's arithmetic makes differently, and when it is accepted.

**Meaning.** The maker of a certificate counted a *failures*, examples whose slack is at most τ: the
slack is the margin, or how far a loss stays below its level, and τ ≥ 0 was declared beforehand. A
verifier's machine adds in another order, gets slacks that differ in the last digits, and may count
another number. The certificate need not fail for that.

**Rule.** Let own(t) be the number of the same examples whose slack, on the verifier's machine, is
at most t. The claim a is accepted, and the bound is computed from a, if

    own(τ/2) ≤ a ≤ own(3τ/2).

For τ = 0 this is a = own(0). Otherwise the certificate does not hold.

**An accepted claim is a bound.** Let E be the event that an example's slack on the verifier's
machine is at most τ/2. E contains every error that the model makes there, so P[E] bounds its risk.
It is an event of the example and the model alone. (a) For a model that was fixed before the
examples, own(τ/2) is the number of examples in E; the bound for E holds for all words of a code at
once, as that for "margin ≤ τ" does. (b) For pick-to-learn, let κ_E(S) be the picks of
a sample S and the unpicked examples in E. The picks are those of the maker's run, whose candidates
are determined by the example and the maker's model. Properties (i) to (iii) of
`methods.pick_to_learn.bound` hold for κ_E. (i) Between κ_E(S) and S the picks are the same ones, so
the final model is, and the unpicked examples in E lie in κ_E(S). (ii) An example w changes the run
on Z if it would be picked in some round, or be a candidate where no candidate was left; or else if
it is in E at the end. Each depends on w and on the run on Z alone. Where one of them changes the
picks, the best such w of the first such round is picked, and it lies outside Z. (iii) A new example
in E is picked, or it joins κ_E as an example in E: it changes the set. So the proof there gives
P[P(E) > ε(picks + own(τ/2))] ≤ δ. `capped` and `finite` speak of κ, or of an event of the final
model given the picks, in the same way. All these bounds grow with the count. (Each term of f_k has
the factor C(m,k)/C(N,k), which falls as k grows since m < N; for a pool, each term of g at the same
D changes by the factor (m−k)/(N−k) < 1; and P[Bin(n,ρ) ≤ e] grows with e.) So a ≥ own(τ/2) gives a
bound on P(E) that holds on the verifier's machine, whatever arithmetic the maker had, except with
probability δ over the sample. ∎

**An honest claim is accepted.** If the two slacks of every counted example differ by at most τ/2,
then own slack ≤ τ/2 implies the maker's slack ≤ τ, and that implies own slack ≤ 3τ/2. The upper
limit proves nothing: it refuses counts that no such arithmetic gives.

The number of plain errors among the facts enters no bound; it is accepted by the same rule around
0, where it may differ by the examples with own slack in (−τ/2, τ/2].

>>> count = OwnCount.of("failures", np.array([-1.0, 0.4, 0.9, 1.2, 2.0]), 1.0, 1.0)
>>> count.here, count.accepted(2), count.accepted(4), count.accepted(1), count.accepted(5)
(3, 2, 4, 3, 3)
>>> count.remark(2)
"failures: this machine's arithmetic gives 3 instead of 2; it disagrees on 1 example or more, all \
within 0.5 of the limit 1"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class OwnCount:
    """How many slacks a machine finds at most at a limit, and at most half the tolerance off it."""

    name: str
    fewest: int
    here: int
    most: int
    limit: float
    reach: float

    @staticmethod
    def of(name: str, slack: np.ndarray, limit: float, tolerance: float) -> OwnCount:
        """The counts of some slacks; −∞ is always counted."""
        reach = tolerance / 2
        fewest, here, most = (int((slack <= limit + r).sum()) for r in (-reach, 0.0, reach))
        return OwnCount(name, fewest, here, most, limit, reach)

    def accepted(self, claimed: Any) -> int:
        """The claimed count where the rule accepts it, else this machine's own."""
        whole = isinstance(claimed, int) and not isinstance(claimed, bool)
        return claimed if whole and self.fewest <= claimed <= self.most else self.here

    def remark(self, counted: int) -> str:
        """What to say of an accepted count; nothing where it is this machine's own."""
        if (apart := abs(counted - self.here)) == 0:
            return ""
        return (
            f"{self.name}: this machine's arithmetic gives {self.here:,} instead of {counted:,}; "
            f"it disagrees on {apart:,} example{'s' * (apart > 1)} or more, all within "
            f"{self.reach:g} of the limit {self.limit:g}"
        )
