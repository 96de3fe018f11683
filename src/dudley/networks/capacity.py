"""Capacity: what the calculus says about a network on inputs of a stated radius."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from dudley.calculus import chain
from dudley.calculus.allocate import Allocated
from dudley.calculus.assemble import CoverNames, allocated, compose
from dudley.calculus.augment import augmented, is_silent
from dudley.calculus.deviate import deviation, log10_first
from dudley.calculus.facts import Facts, Signal
from dudley.calculus.fast_rate import expect_share
from dudley.calculus.node import Node
from dudley.calculus.union import Grid, Payment, observed_numbers, pay
from dudley.core.bound import Bound, Sense, Term
from dudley.core.entropy import Entropy, Metric
from dudley.core.errors import InputError, NotYetPaid
from dudley.core.shown import Shown
from dudley.networks.assumptions import assumptions_of
from dudley.networks.chained import (
    Chained,
    CoveredNetwork,
    PeeledNetwork,
    clipped,
    peeled,
    stretched,
)
from dudley.networks.embeddings import Tokens
from dudley.networks.losses import CrossEntropy, Loss, Margin
from dudley.networks.one_scale import OneScale
from dudley.networks.robust import Robust

if TYPE_CHECKING:
    from dudley.networks.elasticity import Elasticities
    from dudley.networks.explain import BlockCost
    from dudley.networks.proof.steps import Proof

AnyLoss = Loss | Margin | CrossEntropy | Robust


def log_sizes(n: ArrayLike) -> np.ndarray:
    """log n for one or many sample sizes, which must be finite and at least 1."""
    n = np.atleast_1d(np.asarray(n, dtype=float))
    if not (np.isfinite(n).all() and (n >= 1).all()):
        raise InputError("n", "finite numbers ≥ 1", n.tolist() if n.size < 5 else "an array")
    return np.log(n)


@dataclass(frozen=True, eq=False)
class Capacity(Shown):
    """Entropy, Rademacher complexity and generalisation gap of a network class.

    Made by :func:`capacity`. Methods that take ``n`` default to the one given there; an array of
    sample sizes gives an array of values.
    """

    network: Node
    inputs: Tokens
    n: float | None = None
    loss: AnyLoss = field(default_factory=Loss)
    covers: CoverNames = None
    shown_as: ClassVar[str] = "capacity"
    _needed: dict = field(default_factory=dict, init=False, repr=False)

    @property
    def signal(self) -> Signal:
        """What the inputs feed to the network."""
        d = self.network.input_width() or self.inputs.d
        if d is None:
            raise InputError("network", "a node that knows its input width, or Tokens(d=…)", "none")
        return self.inputs.signal(d)

    @cached_property
    def _composed(self) -> tuple[Allocated, Facts]:
        return compose(self.network, self.signal, self.covers)

    @property
    def allocated(self) -> Allocated:
        """The entropy of the network, as a function."""
        return self._composed[0]

    @property
    def facts(self) -> Facts:
        """Output radius, Lipschitz constant, and the weights of the blocks."""
        return self._composed[1]

    def entropy(self, ε: ArrayLike, n: float | None = None) -> float | np.ndarray:
        """log N(ε) of the network in sup norm over n examples, explicit constants."""
        return self.allocated(ε, self.n if n is None else n)

    @overload
    def rademacher(self, n: float | None = None, form: str = "best") -> float: ...

    @overload
    def rademacher(self, n: Sequence[float] | np.ndarray, form: str = "best") -> np.ndarray: ...

    def rademacher(self, n: ArrayLike | None = None, form: str = "best") -> float | np.ndarray:
        """An upper bound on the empirical Rademacher complexity of the network, for any sample.

        ``form``: ``"best"``, or one rule by name: ``"dudley"``, ``"tree"``, ``"optimised"``. The
        best may peel a readout; the others cover it.
        """
        if (self.facts.out.rows, self.facts.out.width) != (1, 1):
            raise InputError("rademacher", "a network with one output", self.facts.out.width)
        log_A, log_n = float(self.facts.out.radius.log), self._sizes(n)
        if form == "best":
            way = peeled(self.network, self.signal, self.covers)
            ways = (CoveredNetwork(self.allocated, log_A), way)
            values = np.fmin.reduce([way.complexity(log_n) for way in ways if way])
        else:
            with np.errstate(over="ignore"):
                values = np.exp(log_A) * self._chained(self.allocated, log_A, log_n, form)
        many = np.ndim(self.n if n is None else n) > 0  # pyright: ignore[reportArgumentType]
        return values if many else float(values[0])

    def gap(
        self,
        delta: float,
        n: ArrayLike | None = None,
        union: Grid | None = None,
        *,
        train_error: float | None = None,
    ) -> Bound:
        """risk − training loss, for every network in the class at once, with confidence 1 − δ.

        ``train_error`` is what the trained network has on the sample: with a margin the share of
        examples whose margin is below it, with another loss the mean loss. Then the bound is that
        of one cover at one scale, on risk − training error, and falls with 1/n where the error is
        small (:mod:`dudley.calculus.fast_rate`). Both bounds hold with confidence 1 − δ each: to
        take the smaller one after seeing the error, pass δ/2 to both.
        """
        self._refuse_observed(union)
        self._expect_loss_fits()
        paid, payments = (self, []) if union is None else pay(self, union)
        return paid._gap(delta, n, payments, train_error)

    def gaps(self, n: ArrayLike, delta: float, *, train_error: float | None = None) -> np.ndarray:
        """The values of :meth:`gap` for many sample sizes at once."""
        self._refuse_observed(None)
        self._expect_loss_fits()
        return self._gaps(delta, 0.0, train_error)(log_sizes(n))

    def needed_n(
        self, target: float, delta: float = 0.05, *, train_error: float | None = None
    ) -> float:
        """The number of examples at which the gap falls to ``target`` (infinite past 1e308)."""
        log10 = self.log10_needed_n(target, delta, train_error=train_error)
        return math.ceil(10**log10) if log10 < 300 else math.inf

    def log10_needed_n(
        self,
        target: float,
        delta: float = 0.05,
        union: Grid | None = None,
        *,
        train_error: float | None = None,
    ) -> float:
        """log₁₀ of :meth:`needed_n`: deep networks need it; ``union`` pays as in :meth:`gap`."""
        if not 0 < target < math.inf:
            raise InputError("target", "a number > 0", target)
        self._refuse_observed(union)
        self._expect_loss_fits()
        key = (target, delta, union, train_error)
        if key not in self._needed:
            paid, payments = (self, []) if union is None else pay(self, union)
            nats = sum(p.nats for p in payments)
            gaps = paid._gaps(delta, nats, train_error)
            self._needed[key] = log10_first(gaps, target)
        return self._needed[key]

    def _gaps(
        self, delta: float, nats: float, train_error: float | None
    ) -> Callable[[np.ndarray], np.ndarray]:
        """The gap as a function of log n."""
        if train_error is None:
            return lambda log_n: self._gap_values(log_n, delta, nats)[2]
        rule = self.one_scale(delta, train_error, nats)
        return lambda log_n: np.array([rule.gap(size) for size in log_n.tolist()])

    def one_scale(self, delta: float, train_error: float, nats: float = 0.0) -> OneScale:
        """The rule for a known training error; ``nats`` were paid for numbers read off."""
        if not 0 < delta < 1:
            raise InputError("delta", "a number strictly between 0 and 1", delta)
        if self.alarmed:
            fix = "leave out the levels, or the training error"
            raise InputError("train_error", "norm layers without levels", "levels", fix)
        q = expect_share(train_error, self.loss.range)
        return OneScale(self.allocated, self.loss, q, math.log(1 / delta) + nats)

    def elasticities(self, delta: float = 0.05) -> Elasticities:
        """d log(gap)/d log x for n, every size and every norm."""
        from dudley.networks import elasticity

        return elasticity.of(self, delta)

    @cached_property
    def shares(self) -> tuple[list[BlockCost], float, float]:
        """What each block costs at the dominant scale, and the log ε and log n of that scale."""
        from dudley.networks import explain

        return explain.shares(self)

    def explain(self) -> str:
        """The network as a tree: radii, sensitivities, shares of the entropy, winning covers."""
        from dudley.networks import explain

        return explain.tree(self)

    def prove(
        self, delta: float = 0.05, *, train_error: float | None = None, union: Grid | None = None
    ) -> Proof:
        """The bound lemma by lemma, each with this network's numbers: text, LaTeX and tables."""
        from dudley.networks.proof.prove import prove

        return prove(self, delta, train_error, union)

    def proof(
        self, delta: float = 0.05, *, train_error: float | None = None, union: Grid | None = None
    ) -> str:
        """The text of :meth:`prove`."""
        return self.prove(delta, train_error=train_error, union=union).text()

    def is_trivial(self, log_n: float, delta: float = 0.05) -> bool:
        """Does the gap at this log n say nothing?"""
        return bool(self._gap_values(np.array([log_n]), delta, 0.0)[2][0] >= self.loss.range)

    # -- inside ------------------------------------------------------------------------------

    def _sizes(self, n: ArrayLike | None) -> np.ndarray:
        n = self.n if n is None else n
        if n is None:
            raise InputError("n", "the number of examples", "none", "pass n=…")
        return log_sizes(n)

    def _chained(self, entropy: Entropy, log_A: float, log_n: np.ndarray, form: str) -> np.ndarray:
        if entropy.is_single and form in ("dudley", "tree", "optimised"):
            return np.zeros(len(log_n))
        if form == "dudley":
            return chain.by_integral(entropy, log_A, log_n)
        if form == "tree":
            grid = chain.fixed_scales(log_A, log_n, chain.FINE)
            log_H = chain.entropies(entropy, log_A, log_n, grid)
            return chain.tree(log_H, log_n, grid, proper=False, steps=chain.FINE)
        if form == "optimised":
            grid = chain.scales(log_n)
            log_H = chain.entropies(entropy, log_A, log_n, grid)
            return chain.optimised(log_H, log_n, grid, proper=False)
        raise InputError("form", "best, dudley, tree or optimised", form)

    @property
    def alarmed(self) -> bool:
        """Do norm layers have a level, so that the loss counts in full where a row is below it?"""
        return self.facts.alarm is not None and not is_silent(self.facts.alarm)

    @cached_property
    def loss_class(self) -> tuple[Allocated, float]:
        """The entropy of the centred loss class, and the log of its radius min(b/2, L·A).

        With alarms the loss is ℓ̃ (``dudley.calculus.augment``), of which b/2 is subtracted.
        """
        L = self.loss.lipschitz
        if self.alarmed:
            uses = augmented(self.facts.uses, L, self.loss.range)
            return allocated(uses, self.covers), math.log(self.loss.range / 2)
        log_A = math.log(L) + float(self.facts.out.radius.log)
        return stretched(self.allocated, L), min(math.log(self.loss.range / 2), log_A)

    @cached_property
    def chained(self) -> tuple[Chained, ...]:
        """What bounds the complexity of the loss class: the network covered, or all but w."""
        one_number = (self.facts.out.rows, self.facts.out.width) == (1, 1) and not self.alarmed
        covered, L, b = CoveredNetwork(*self.loss_class), self.loss.lipschitz, self.loss.range
        way = peeled(self.network, self.signal, self.covers, L, b) if one_number else None
        return (covered,) if way is None else (covered, way)

    def leading(self, log_n: float) -> Chained:
        """Of these the one with the smallest bound at this n."""
        size = np.array([log_n])
        return min(self.chained, key=lambda way: np.nan_to_num(way.complexity(size)[0], nan=np.inf))

    def _gap_values(
        self, log_n: np.ndarray, delta: float, nats: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """2R, the deviation, and their sum cut at the trivial bound, for each n."""
        R = np.fmin.reduce([way.complexity(log_n) for way in self.chained])
        with np.errstate(over="ignore"):
            n = np.exp(log_n)
        drift = deviation(n, delta, self.loss.range, "a-priori", nats)
        return 2 * R, drift, np.minimum(2 * R + drift, self.loss.range)

    def _gap(
        self,
        delta: float,
        n: ArrayLike | None,
        payments: list[Payment],
        train_error: float | None,
    ) -> Bound:
        log_n = self._sizes(n)
        if log_n.size != 1:
            raise InputError("n", "one number (gaps takes many)", f"{log_n.size} numbers")
        size = float(np.ravel(self.n if n is None else n)[0])  # pyright: ignore
        nats = sum(p.nats for p in payments)
        details = {"n": size, "delta": delta, "union_nats": nats}
        if train_error is not None:
            rule = self.one_scale(delta, train_error, nats)
            return Bound.of(
                rule.gap(float(log_n[0])),
                quantity=rule.quantity,
                sense=Sense.CONFIDENCE,
                delta=delta,
                terms=rule.terms(float(log_n[0])),
                assumptions=(*assumptions_of(self, payments), rule.assumption()),
                trivial=rule.trivial,
                details=details | {"train_error": rule.q},
            )
        complexity, drift, total = (float(x[0]) for x in self._gap_values(log_n, delta, nats))
        numbers = "1 number" if len(payments) == 1 else f"{len(payments)} numbers"
        note = "2 × Rademacher complexity of the loss class"
        if isinstance(self.leading(float(log_n[0])), PeeledNetwork):
            note += ", the readout peeled"
        note += clipped(self.chained, complexity, float(log_n[0]))
        union_note = f"of which {nats:.3g} nats for reading off {numbers}" if payments else ""
        return Bound.of(
            total,
            quantity="risk − training loss" + (" with alarms" if self.alarmed else ""),
            sense=Sense.CONFIDENCE,
            delta=delta,
            terms=(Term("complexity", complexity, note), Term("deviation", drift, union_note)),
            assumptions=assumptions_of(self, payments),
            trivial=self.loss.range,
            details=details,
        )

    def _refuse_observed(self, union: Grid | None) -> None:
        seen = observed_numbers(self.inputs, "inputs")
        if seen and not self.inputs.clipped:
            raise NotYetPaid(
                f"{seen[0][0]} = {float(seen[0][1]):g} was measured on data, so unseen inputs may "
                "exceed it; declare a radius, or clip inputs to it with Tokens(clipped=True)"
            )
        seen += observed_numbers(self.network, "network") + observed_numbers(self.loss, "loss")
        if seen and union is None:
            others = f" and {len(seen) - 1} more" if len(seen) > 1 else ""
            raise NotYetPaid(
                f"read off after training, and not paid for: {seen[0][0]} = "
                f"{float(seen[0][1]):g}{others}; pass union=Grid() to pay"
            )

    def _expect_loss_fits(self) -> None:
        out = self.facts.out
        if out.metric is Metric.ROWS and (out.rows, out.width) != (1, 1):
            shape = f"{out.rows:g} rows of width {out.width}" if out.width > 1 else "one per token"
            raise InputError("network output", "one number per example, or logits", shape)
        one_margin = isinstance(self.loss, Margin) and not self.loss.multiclass
        if out.metric is Metric.LOGITS and one_margin:
            raise InputError("margin on logits", "multiclass = true", "a margin of one number")


def capacity(
    network: Node,
    inputs: Tokens,
    n: float | None = None,
    loss: AnyLoss | None = None,
    covers: CoverNames = None,
) -> Capacity:
    """What the calculus says about a network.

    ``covers`` names the only covers to use (a paper's own); all of them otherwise.

    >>> import dudley as du
    >>> head = du.Head(d=64, W_QK=du.L11(20.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
    >>> net = head >> du.Readout(w=du.L1(1.0))
    >>> cap = du.capacity(net, du.Tokens(row2inf=1.0, T=128), n=100_000)
    >>> cap.gap(delta=0.05).vacuous
    False
    """
    if not isinstance(network, Node):
        raise InputError("network", "a node or a chain of nodes", type(network).__name__)
    if not isinstance(inputs, Tokens):
        raise InputError("inputs", "Tokens(…) or OneHot(…)", type(inputs).__name__)
    if n is not None:
        log_sizes(n)
    return Capacity(network, inputs, n, Loss() if loss is None else loss, covers)
