"""Proof: the bound lemma by lemma, with LaTeX and citations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dudley.calculus.augment import ALARM
from dudley.calculus.node import Node
from dudley.classes.covers.base import COVERS
from dudley.core.lemma import Lemma
from dudley.networks.chained import PeeledNetwork

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity

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
DEVIATION = Lemma(
    "Deviation",
    "The complexity bound holds for every sample, so McDiarmid is applied once.",
    r"\text{risk}\le\text{train}+2R+b\sqrt{\ln(1/\delta)/2n}",
    "McDiarmid's inequality",
)


def steps(capacity: Capacity) -> list[Lemma]:
    """The lemmas in the order of the proof: nodes, covers, allocation, loss, chain, deviation."""
    nodes: list[Lemma] = []

    def collect(node: Node) -> None:
        if node.lemma not in nodes:
            nodes.append(node.lemma)
        for inside in {id(part.node): part.node for part in node.parts()}.values():
            collect(inside)

    collect(capacity.network)
    rows = capacity.shares[0]
    names = dict.fromkeys(row.cover for row in rows if row.cover in COVERS)
    covers = [
        Lemma(
            f"Cover: {name}", _first_line(COVERS[name]), COVERS[name].latex, COVERS[name].citation
        )
        for name in names
    ]
    peels = isinstance(capacity.leading(capacity.shares[2]), PeeledNetwork)
    chained = [CONTRACTION, PEELING] if peels else [ALARM if capacity.alarmed else LOSS, CHAINING]
    return [*nodes, *covers, ALLOCATION, *chained, DEVIATION]


def _first_line(unit: object) -> str:
    return (unit.__doc__ or "").strip().splitlines()[0]


def write(capacity: Capacity, delta: float) -> str:
    """The proof as text: each step numbered, its formula in LaTeX, its source."""
    lines = []
    for i, lemma in enumerate(steps(capacity), 1):
        lines.append(f"{i}. {lemma.title}. {lemma.statement}")
        lines.append(f"   $${lemma.latex}$$")
        if lemma.citation:
            lines.append(f"   [{lemma.citation}]")
    if capacity.n is not None:
        lines.append(f"Together, at n = {float(capacity.n):g}:")
        lines += [f"   {line}" for line in str(capacity.gap(delta)).splitlines()]
    return "\n".join(lines)
