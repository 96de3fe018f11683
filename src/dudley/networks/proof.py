"""Proof: the bound lemma by lemma, with LaTeX and citations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dudley.calculus.augment import ALARM
from dudley.calculus.fast_rate import SCALES
from dudley.calculus.node import Node
from dudley.classes.covers.base import COVERS
from dudley.core.lemma import Lemma
from dudley.networks import explain
from dudley.networks.chained import PeeledNetwork
from dudley.networks.losses import Margin

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity
    from dudley.networks.explain import BlockCost

ALLOCATION = Lemma(
    "Allocation",
    "Covers of the blocks at errors ε_i make a cover of the network; the split is the best one.",
    r"\log N(\varepsilon)\le\sum_i\log N_i(\varepsilon_i),"
    r"\qquad\sum_i\beta_i\varepsilon_i\le\varepsilon",
    "trauger2024, Lemma E.1 (for C/ε²); any feasible split is valid",
)
CHAINING = Lemma(
    "Chaining",
    "Parents are chosen between covers, so level j has N(d_j) increments.",
    r"\hat R\le d_J+\sum_j\ell_j\sqrt{2\log N(d_j)/n},"
    r"\qquad\ell_1=d_0,\ \ell_j=d_{j-1}+d_j,\ A=d_0>\dots>d_J",
    "tree form of Dudley's integral; d_j is dropped for covers by members, and at the top",
)
LOSS = Lemma(
    "Loss class",
    "A fixed function may be subtracted; a cover of the network is a cover of the loss.",
    r"|\ell-c|\le\min(b/2,L_\ell A),\qquad N(\varepsilon,\ell\circ F)\le N(\varepsilon/L_\ell,F)",
    "Rademacher averages of a fixed function vanish",
)
CONTRACTION = Lemma(
    "Contraction",
    "Losses that are Lipschitz in one number may be left out, in each part of the class.",
    r"\hat R(\ell\circ F)\le L_\ell\,\hat R(F)",
    "Ledoux and Talagrand (1991), equation 4.20; Meir and Zhang (2003), Theorem 7",
)
PEELING = Lemma(
    "Peeling and chaining",
    "The readout costs its norm: the vectors y before it are chained, and to the first covers the "
    "losses themselves, with A = L_ℓBR.",
    r"\hat R(F)=B\,\mathbb E\sup_y\bigl\|\tfrac1n\sum_i\tau_iy(x_i)\bigr\|_2,\qquad"
    r"\hat R(\ell\circ F)\le\min\Bigl\{A\sqrt{\tfrac{2\log2N(d_1)}n},"
    r"\min\bigl(\tfrac b2,A\bigr)\sqrt{\tfrac{2\log N(d_1)}n}+\tfrac A{\sqrt n}\Bigr\}"
    r"+L_\ell B\Bigl(d_J+\sum_{j>1}(d_{j-1}+d_j)\sqrt{\tfrac{2\log2N(d_j)}n}\Bigr)",
    "Pinelis (1994), Theorem 3.5: E cosh λ‖v‖ ≤ exp(λ²ℓ²/2n); a single y costs A/√n",
)
ONE_SCALE_MARGINS = Lemma(
    "One scale, margins",
    "Half the margin apart, a margin at most 0 is one below γ/2 of a centre, and that one below γ "
    "of the network; of the N centres, fixed functions, each has a binomial tail.",
    r"P(\text{margin}\le0)\le\max\{p:P[\mathrm{Bin}(n,p)\le k]\ge e^{-c}\},\quad "
    r"c=\log N(\gamma/2)+\ln(1/\delta),\quad k=\#\{i:\text{margin}_i<\gamma\}",
    "union bound; a margin between logits moves by twice their error, so that ε = γ/4 there",
)
ONE_SCALE_LOSSES = Lemma(
    "One scale, losses",
    "A loss of the network and of its centre differ by L_ℓε at most, on the sample and in the "
    "mean; of the N centres, fixed functions, each obeys Hoeffding's inequality.",
    r"\text{risk}\le b\max\{p:\mathrm{kl}((q+L_\ell\varepsilon)/b\,\|\,p)\le c/n\}"
    r"+L_\ell\varepsilon,\qquad c=\log N(\varepsilon)+\ln(1/\delta)+\ln " + f"{len(SCALES)}",
    "Hoeffding (1963), Theorem 1; so many resolutions are tried, and paid for",
)
DEVIATION = Lemma(
    "Deviation",
    "The complexity bound holds for every sample, so McDiarmid is applied once.",
    r"\text{risk}\le\text{train}+2R+b\sqrt{\ln(1/\delta)/2n}",
    "McDiarmid's inequality",
)


def steps(capacity: Capacity, delta: float = 0.05, train_error: float | None = None) -> list[Lemma]:
    """The lemmas in the order of the proof: nodes, covers, allocation, loss, chain, deviation.

    Where a training error is given, one scale stands for the last three.
    """
    nodes: list[Lemma] = []

    def collect(node: Node) -> None:
        if node.lemma not in nodes:
            nodes.append(node.lemma)
        for inside in {id(part.node): part.node for part in node.parts()}.values():
            collect(inside)

    collect(capacity.network)
    if train_error is None:
        rows, _, log_n = capacity.shares
        peels = isinstance(capacity.leading(log_n), PeeledNetwork)
        loss = ALARM if capacity.alarmed else LOSS
        last = [*([CONTRACTION, PEELING] if peels else [loss, CHAINING]), DEVIATION]
    else:
        rows = _at_one_scale(capacity, delta, train_error)
        last = [ONE_SCALE_MARGINS if isinstance(capacity.loss, Margin) else ONE_SCALE_LOSSES]
    names = dict.fromkeys(row.cover for row in rows if row.cover in COVERS)
    covers = [
        Lemma(
            f"Cover: {name}", _first_line(COVERS[name]), COVERS[name].latex, COVERS[name].citation
        )
        for name in names
    ]
    return [*nodes, *covers, ALLOCATION, *last]


def _at_one_scale(capacity: Capacity, delta: float, train_error: float) -> list[BlockCost]:
    """The blocks at the one resolution, at n or where the gap is half of the loss's range."""
    rule, half = capacity.one_scale(delta, train_error), capacity.loss.range / 2
    log_n = math.log(10) * capacity.log10_needed_n(half, delta, train_error=train_error)
    log_n = min(log_n, 1e6) if capacity.n is None else math.log(capacity.n)
    log_ε = math.log(rule.resolutions[rule.risk(log_n)[1]])
    return explain.costs(capacity, capacity.allocated, log_ε, None)


def _first_line(unit: object) -> str:
    return (unit.__doc__ or "").strip().splitlines()[0]


def write(capacity: Capacity, delta: float, train_error: float | None = None) -> str:
    """The proof as text: each step numbered, its formula in LaTeX, its source."""
    lines = []
    for i, lemma in enumerate(steps(capacity, delta, train_error), 1):
        lines.append(f"{i}. {lemma.title}. {lemma.statement}")
        lines.append(f"   $${lemma.latex}$$")
        if lemma.citation:
            lines.append(f"   [{lemma.citation}]")
    if capacity.n is not None:
        bound = capacity.gap(delta, train_error=train_error)
        lines.append(f"Together, at n = {float(capacity.n):g}:")
        lines += [f"   {line}" for line in str(bound).splitlines()]
    return "\n".join(lines)
