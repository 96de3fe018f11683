"""From covers to the bound: the loss, the chain and the deviation, or one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dudley.calculus import fast_rate
from dudley.calculus.augment import ALARM
from dudley.calculus.union import Payment
from dudley.core.bound import Bound
from dudley.networks.chained import Chained, PeeledNetwork
from dudley.networks.losses import Margin
from dudley.networks.proof import covering
from dudley.networks.proof.covering import Covering
from dudley.networks.proof.lemmas import (
    CHAINING,
    CONTRACTION,
    DEVIATION,
    LOSS,
    ONE_SCALE_LOSSES,
    ONE_SCALE_MARGINS,
    PEELING,
    UNION,
)
from dudley.networks.proof.steps import Numbers, ProofStep, power_of, written

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity

LINKS = ("j", "d", "log N(d)", "length", "cost")


def union(payments: Sequence[Payment]) -> list[ProofStep]:
    """What was read off after training, and what that costs."""
    if not payments:
        return []
    rows = tuple((p.where, p.observed, p.used, p.nats) for p in payments)
    total = f"Together they cost {written(math.fsum(p.nats for p in payments))} nats."
    heads = ("number", "read off", "on the grid", "nats")
    return [ProofStep(UNION, (total,), (Numbers("", heads, rows),))]


def chained(capacity: Capacity, bound: Bound) -> list[ProofStep]:
    """Covers, allocation, loss class, chain and deviation."""
    log_n = math.log(bound.details["n"])
    way = capacity.leading(log_n)
    peels = isinstance(way, PeeledNetwork)
    if capacity.alarmed:
        lemma, β = ALARM, "β is the larger of L_ℓ·w and b times the alarm."
    elif peels:
        lemma, β = CONTRACTION, "β = L_ℓ·w; the readout, the last block, is not covered."
    else:
        lemma, β = LOSS, "β = L_ℓ·w; of a shared parameter, the sum over its uses."
    A, b, L = math.exp(way.log_A), float(capacity.loss.range), float(capacity.loss.lipschitz)
    sizes = f"Here L_ℓ = {written(L)} and b = {written(b)}, so A = {written(A)}."
    loss = ProofStep(lemma, (sizes,))
    covers, chain = _chain(way, log_n, β)
    return [*covers, loss, chain, _deviation(capacity, bound)]


def _chain(way: Chained, log_n: float, β: str) -> tuple[list[ProofStep], ProofStep]:
    """The covers with their split at each resolution, and the chain that links these."""
    lemma = PEELING if isinstance(way, PeeledNetwork) else CHAINING
    R = written(float(way.complexity(np.array([log_n]))[0]))
    if way.entropy.is_single or way.log_A == -math.inf:
        return [], ProofStep(lemma, (f"There is one function to cover, and R ≤ {R}.",))
    chain, A = way.chosen(log_n), math.exp(way.log_A)
    if not chain.links:
        return [], ProofStep(lemma, (f"No chain gives less than the radius itself: R ≤ A = {R}.",))
    used = Covering(chain.entropy, chain.log_n)
    tables, rows, above = [], [], A
    for j, (grid, cost) in enumerate(chain.links, 1):
        log_d = way.log_A + grid
        d, log_N = math.exp(log_d), power_of(used.log_log(log_d))
        length = A if j == 1 else above + (0.0 if chain.proper else d)
        rows.append((j, d, log_N, length, cost * A))
        if log_N:
            title = f"resolution d_{j} = {written(d)}: entropy {written(log_N)}"
            tables.append(used.at(title, log_d))
        above = d
    n = written(math.exp(chain.log_n))
    here = (
        "Centres are members of the class." if chain.proper else "Centres need not be members.",
        f"R ≤ {R}: the sum of d_{len(rows)} and the costs, at n = {n}.",
    )
    split = [covering.allocation(tables, β, used.points)] if tables else []
    return [*used.steps(), *split], ProofStep(lemma, here, (Numbers("links", LINKS, tuple(rows)),))


def _deviation(capacity: Capacity, bound: Bound) -> ProofStep:
    """2R, the deviation and their sum."""
    complexity, deviation = (term.value for term in bound.terms)
    d = bound.details
    b, n, nats = float(capacity.loss.range), d["n"], d["union_nats"]
    paid = f" + {written(nats)} nats paid" if nats else ""
    first = f"b·√((ln(1/{d['delta']:g}){paid})/(2n)) = {written(deviation)} at b = {written(b)}"
    total = f"2R + deviation = {written(complexity)} + {written(deviation)}"
    total = f"{total} = {written(complexity + deviation)}"
    cut = "" if complexity + deviation < b else f"; no loss exceeds b, so the bound is {written(b)}"
    return ProofStep(DEVIATION, (f"{first}, n = {written(float(n))}.", f"{total}{cut}."))


def at_one_scale(capacity: Capacity, bound: Bound) -> list[ProofStep]:
    """Covers, allocation and the tail of one centre, summed over all of them."""
    d = bound.details
    rule = capacity.one_scale(d["delta"], d["train_error"], d["union_nats"])
    log_n = math.log(d["n"])
    risk, place = rule.risk(log_n)
    ε = float(rule.resolutions[place])
    used = Covering(rule.entropy, None)
    log_N = power_of(used.log_log(math.log(ε)))
    tables = []
    if log_N:
        title = f"resolution ε = {written(ε)}: entropy {written(log_N)}"
        tables.append(used.at(title, math.log(ε)))
    margins = isinstance(capacity.loss, Margin)
    listed = "" if margins else f" + ln {len(fast_rate.SCALES)}"
    paid = f" + {written(d['union_nats'])} nats paid" if d["union_nats"] else ""
    c = power_of(rule.log_costs[place])
    here = [
        f"c = {written(log_N)} + ln(1/{d['delta']:g}){paid}{listed} = {written(c)} nats, at "
        f"ε = {written(ε)} and n = {written(d['n'])}.",
        f"At the training error {written(rule.q)} the risk is at most {written(risk)}; less the "
        f"training error {written(rule.gap(log_n))}.",
    ]
    if not margins:
        L, b = float(capacity.loss.lipschitz), float(capacity.loss.range)
        here.insert(1, f"L_ℓ = {written(L)} and b = {written(b)}.")
    last = ProofStep(ONE_SCALE_MARGINS if margins else ONE_SCALE_LOSSES, tuple(here))
    β = "β = w (shared weights: the sum over their uses)."
    split = [covering.allocation(tables, β)] if tables else []
    return [*used.steps(), *split, last]


def without_n(capacity: Capacity, delta: float, train_error: float | None) -> list[ProofStep]:
    """The lemmas alone; the covers are those where the gap is half of the loss's range."""
    half = capacity.loss.range / 2
    if train_error is not None:
        last = [ONE_SCALE_MARGINS if isinstance(capacity.loss, Margin) else ONE_SCALE_LOSSES]
        rule = capacity.one_scale(delta, train_error)
        log_n = math.log(10) * capacity.log10_needed_n(half, delta, train_error=train_error)
        log_ε = math.log(rule.resolutions[rule.risk(min(log_n, 1e6))[1]])
        used = Covering(rule.entropy, None)
    else:
        _, log_ε, log_n = capacity.shares
        way = capacity.leading(log_n)
        peels = isinstance(way, PeeledNetwork)
        loss = ALARM if capacity.alarmed else LOSS
        last = [*([CONTRACTION, PEELING] if peels else [loss, CHAINING]), DEVIATION]
        used = Covering(way.entropy, log_n)
    used.at("", log_ε)
    covers = [ProofStep(step.lemma) for step in used.steps()]
    return [*covers, ProofStep(covering.ALLOCATION), *map(ProofStep, last)]
