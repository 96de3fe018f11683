"""Beside pick-to-learn: the hold-out that the same examples would have bought.

Whoever has n examples can also train on some of them in the ordinary way and hold the rest out. The
splits are declared before the data: shares q₁, …, q_J of the n examples are held out, in the
canonical order permuted by a seed drawn at random, and the learner's ordinary training
(`Learner.prepare`) has the examples before them. Every split has a hold-out certificate at δ/J, so
that the best of them may be shown: with probability 1 − δ all J numbers hold together.

For a pool of M items from which the n were drawn without replacement, the t examples for training
belong to the pool, too. Given them, the m held out are drawn without replacement from the other
M − t items. So the share of the pool on which the model errs is at most

    (errors on the t examples + hypergeometric bound for M − t items) / M.

The hold-out and pick-to-learn hold at 1 − δ *each*. Whoever deploys the model with the smaller of
both numbers has chosen among two: `among=2` is then declared for both.

>>> import numpy as np
>>> from dudley.certificates.learners.base import Learner
>>> from dudley.certificates.predictor import Predictor
>>> class Sign(Predictor):
...     sha256 = "0" * 64
...     def outputs(self, X):
...         return X[:, :1].astype(float)
>>> class Signs(Learner):
...     def table(self): return {"name": "signs"}
...     def start(self): return Sign()
...     def train(self, X, y, step, previous): return previous
>>> X = np.random.default_rng(0).standard_normal((1000, 1))
>>> beside = hold_out_beside(Signs(), Dataset(X, (X[:, 0] > 0) * 1), seed=0)
>>> [(split.trained, split.certificate.facts.n, round(split.value, 4)) for split in beside.splits]
[(900, 100, 0.0401), (800, 200, 0.0203), (600, 400, 0.0102)]
>>> print(beside)
hold-out: at most 0.01019 (no error on the 400 examples held out of 1,000; the best of 3 splits)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dudley.certificates import digits
from dudley.certificates.certificate import Certificate
from dudley.certificates.comparison.cost import cost_of, counted
from dudley.certificates.comparison.winner import HOLD_OUT, Contender, winner
from dudley.certificates.data import Dataset
from dudley.certificates.learners.base import Learner
from dudley.certificates.methods.hold_out.method import HoldOut
from dudley.certificates.order import declared_seed
from dudley.certificates.pool import share_up
from dudley.certificates.predictor import Predictor
from dudley.certificates.shares import in_order
from dudley.core.errors import InputError, UnknownName
from dudley.core.rounding import ceiling

SHARES = (0.1, 0.2, 0.4)
FURTHER = ("population", "among", "repeats")


@dataclass(frozen=True, eq=False)
class HoldOutSplit:
    """One split: what was trained on the first part, and the certificate of the second.

    ``value`` is what the certificate says, or for a pool the share of all its items.
    """

    share: float
    trained: int
    model: Predictor
    certificate: Certificate
    value: float

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the whole certificate."""
        table = {"share": self.share, "trained": self.trained, "value": digits.up(self.value)}
        return table | {"certificate": self.certificate.to_json()}


@dataclass(frozen=True, eq=False)
class HoldOutBeside:
    """All splits, each at δ over their number."""

    n: int
    seed: int
    splits: tuple[HoldOutSplit, ...]

    @property
    def best(self) -> HoldOutSplit:
        """The split with the least number; of equal ones the first."""
        return min(self.splits, key=lambda split: split.value)

    @property
    def value(self) -> float:
        """The number of the best split."""
        return self.best.value

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        splits = [split.to_json() for split in self.splits]
        return {"n": self.n, "seed": self.seed, "value": digits.up(self.value), "splits": splits}

    def __str__(self) -> str:
        many = f"; the best of {len(self.splits)} splits" if len(self.splits) > 1 else ""
        value = ceiling(Decimal(repr(self.value)), 4)
        return f"hold-out: at most {value} ({_spent(self.best)} of {self.n:,}{many})"

    def against(self, certificate: Certificate) -> str:
        """Which of both numbers is smaller, and what each of them costs."""
        item, best = certificate.to_json(), self.best
        fresh = Contender(HOLD_OUT, self.value, _spent(best), best.certificate.vacuous)
        words = cost_of(item).words
        return winner((fresh, Contender(item["method"], item["value"], words, item["vacuous"])))


def hold_out_beside(
    learner: Learner,
    data: Dataset,
    *,
    delta: float = 0.05,
    seed: int | None = None,
    shares: Sequence[float] = SHARES,
    pool: int | None = None,
    say: Callable[[str], None] | None = None,
    **declared: Any,
) -> HoldOutBeside:
    """Train on each split in the ordinary way, and certify each model on what was held out.

    ``declared`` are further declarations of the hold-out: population, among, repeats. The number of
    looks is that of the splits, and the loss is the error. Without a ``seed`` one is drawn.
    """
    for name in declared:
        if name not in FURTHER:
            raise UnknownName("declaration of the hold-out beside", name, FURTHER)
    sizes = held_out_sizes(data.n, shares)
    if pool is not None and pool < data.n:
        raise InputError("pool", f"at least the {data.n:,} examples drawn", pool)
    seed = declared_seed(seed)
    ordered = in_order(data, 0, seed)
    splits: list[HoldOutSplit] = []
    for share, size in zip(shares, sizes, strict=True):
        first, rest = ordered.part(slice(0, -size)), ordered.part(slice(-size, None))
        model = learner.prepare(first.X, first.y)
        fields = {"delta": delta, "looks": len(sizes), "split": seed, **declared}
        if pool is not None:
            fields["pool"] = pool - first.n
        certificate = HoldOut()(model, rest, **fields)
        value = certificate.value
        if pool is not None:
            errors = int((model.margins(first) <= 0).sum())
            value = share_up(errors + certificate.facts.pool_errors_at_most, pool)
        splits.append(HoldOutSplit(float(share), first.n, model, certificate, value))
        if say is not None:
            say(f"trained on {first.n:,}, held out {size:,}: at most {ceiling(value)}")
    return HoldOutBeside(data.n, seed, tuple(splits))


def held_out_sizes(n: int, shares: Sequence[float]) -> list[int]:
    """How many examples each split holds out: at least one, and not all."""
    shares = list(shares)
    if not shares or len(set(shares)) < len(shares) or not all(0 < q < 1 for q in shares):
        raise InputError("shares held out", "different numbers in (0, 1)", shares)
    sizes = [round(q * n) for q in shares]
    if not 1 <= min(sizes) <= max(sizes) < n:
        fix = "take more examples, or other shares"
        raise InputError("shares held out", f"parts of the {n:,} examples", sizes, fix)
    return sizes


def _spent(split: HoldOutSplit) -> str:
    facts = split.certificate.facts
    return f"{counted(facts.errors, 'error')} on the {facts.n:,} examples held out"
