"""From counts to a number: which form of the bound was declared, and what its choices cost."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.certificates.methods.pick_to_learn.bound import UNIFORM, PickWeights, risk_upper
from dudley.certificates.methods.pick_to_learn.capped import capped_upper
from dudley.certificates.methods.pick_to_learn.declared import PickDeclared
from dudley.certificates.methods.pick_to_learn.finite import pool_errors_upper
from dudley.certificates.methods.pick_to_learn.sample import PickSample
from dudley.certificates.pool import share_up
from dudley.certificates.price import Bill, Price, one_of


@dataclass(frozen=True, eq=False)
class PickPlan:
    """What was declared, and the sample it was declared for."""

    declared: PickDeclared
    sample: PickSample

    @property
    def bill(self) -> Bill:
        """The choice of a stop and of a method."""
        lists = (
            ("stop", len(self.declared.rounds), "the best of several declared rounds"),
            ("method", self.declared.among, "the best of several"),
        )
        paid: list[Price] = [
            one_of(name, count, f"one of {count}: {why}") for name, count, why in lists if count > 1
        ]
        return Bill(self.declared.delta, tuple(paid))

    @property
    def weights(self) -> PickWeights:
        expected = self.declared.expected
        return UNIFORM if expected is None else PickWeights(expected)

    def undrawn(self, k: int) -> int:
        """How many items of the pool that were not drawn fail at most."""
        assert self.declared.pool is not None
        pool = self.declared.pool - self.declared.initial
        return pool_errors_upper(
            k, self.sample.N, pool, self.bill.log_confidence, weights=self.weights
        )

    def least(self, picks: int, failures: int) -> float:
        """The bound; for a pool, the share of those that were not drawn."""
        N, c, k = self.sample.N, self.bill.log_confidence, picks + failures
        if self.declared.most is not None:
            return capped_upper(picks, failures, N, self.declared.most, c)
        if self.declared.pool is not None:
            rest = self.declared.pool - self.sample.whole.n
            return share_up(min(self.undrawn(k), rest), rest) if rest else 0.0
        return risk_upper(k, N, c, self.weights)

    def forecast(self, picks: int, share: float) -> float:
        """About what the bound would be if the unpicked examples failed at this share."""
        failures = round(share * (self.sample.N - picks))
        k = min(picks + failures, self.sample.N)
        return risk_upper(k, self.sample.N, self.bill.log_confidence, self.weights)
