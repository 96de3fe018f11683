"""The covers of the blocks, and how a resolution of the network is split between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from dudley.calculus.allocate import Allocated, WeightBlock
from dudley.classes.best import BestOf
from dudley.classes.covers.base import COVERS, Cover
from dudley.classes.covers.perceptron import points
from dudley.core.entropy import Entropy, Scope
from dudley.core.lemma import Lemma
from dudley.networks.proof.lemmas import ALLOCATION
from dudley.networks.proof.local import layered
from dudley.networks.proof.steps import Numbers, ProofStep, ProofValue, power_of, written

HEADS = ("block", "times", "β", "ε", "cover", "log N")
COUNTED = "D(p, K) counts the vectors of p whole numbers with ℓ1 norm at most K."
SYMBOLS = {"dim": "p", "rank": "r", "count": "s", "columns": "b", "together": "J"}  # of formulas


@dataclass
class Covering:
    """The entropy of a network where a proof evaluates it; it notes which covers were used."""

    entropy: Entropy
    log_n: float | None  # of the examples whose points are covered
    used: dict[str, dict[str, Cover]] = field(default_factory=dict)

    @property
    def rounded(self) -> float | None:
        """The same, rounded up to a power of two where covers need it."""
        return self.entropy.rounded(self.log_n) if isinstance(self.entropy, Allocated) else None

    @property
    def points(self) -> float | None:
        """The examples whose points were covered, if any cover that was used is one on points."""
        covers = (cover for used in self.used.values() for cover in used.values())
        on_points = any(cover.scope is not Scope.UNIFORM for cover in covers)
        return math.exp(self.rounded) if on_points and self.rounded is not None else None

    def log_log(self, log_ε: float) -> float:
        """log log N at a resolution."""
        return float(self.entropy.log_log(np.array([log_ε]), self.log_n)[0])

    def at(self, title: str, log_ε: float) -> Numbers:
        """The split at a resolution: a row for each block, alike ones together."""
        rows: dict[tuple[ProofValue, ...], float] = {}
        for block, log_x, log_H in self._split(log_ε):
            for i, count in enumerate(np.exp(block.log_counts).tolist()):
                row = self._row(block, i, float(log_x[i]), float(log_H[i]))
                rows[row] = rows.get(row, 0.0) + count
        counted = tuple((row[0], round(times), *row[1:]) for row, times in rows.items())
        return Numbers(title, HEADS, counted)

    def _split(self, log_ε: float) -> list[tuple[WeightBlock, np.ndarray, np.ndarray]]:
        """Each block with its relative resolutions and prices; none if one point is enough."""
        entropy = self.entropy
        if not isinstance(entropy, Allocated) or self.log_log(log_ε) == -math.inf:
            return []
        parts = entropy.bought(log_ε, self.log_n)
        return [(block, *part) for block, part in zip(entropy.blocks, parts, strict=True)]

    def _row(
        self, block: WeightBlock, i: int, log_x: float, log_H: float
    ) -> tuple[ProofValue, ...]:
        log_ε = block.entropy.log_radius + log_x
        index, weight = int(block.places[i]), block.weight.log
        name = layered(block.name, index, np.shape(weight))
        cover = "one point" if log_H == -math.inf else "given"
        if isinstance(block.entropy, BestOf) and log_H > -math.inf:
            cheapest = block.entropy.cheapest(log_ε, self.rounded)
            cover = "one point" if cheapest is None else cheapest.name
            if cheapest is not None:
                self.used.setdefault(cover, {})[block.name] = cheapest
        β = power_of(np.ravel(weight)[index])
        return name, β, power_of(log_ε), cover, power_of(log_H)

    def steps(self) -> list[ProofStep]:
        """The covers that were used, in the order of their names: what each is of each block."""
        return [self._step(name, self.used[name]) for name in COVERS if name in self.used]

    def _step(self, name: str, used: dict[str, Cover]) -> ProofStep:
        scales = {
            b.name: b.entropy.scale
            for b in (self.entropy.blocks if isinstance(self.entropy, Allocated) else ())
            if isinstance(b.entropy, BestOf)
        }
        rows = [(b, cover.bound * scales[b], self._sizes(cover)) for b, cover in used.items()]
        lemma = lemma_of(name)
        here = (COUNTED,) if r"\log D" in lemma.latex else ()
        return ProofStep(lemma, here, (Numbers("", ("block", "B", "sizes"), tuple(rows)),))

    def _sizes(self, cover: Cover) -> str:
        """What stands in the formula beside B and ε; N are the points that are covered."""
        values: dict[str, Any] = {each.name: getattr(cover, each.name) for each in fields(cover)}
        sizes = [f"{SYMBOLS[name]} = {values[name]}" for name in values if name in SYMBOLS]
        if "shape" in values:
            sizes.append("a × b = {} × {}".format(*values["shape"]))
        per_example = values.get("rows", values.get("evaluations"))
        if cover.scope is not Scope.UNIFORM and per_example is not None and self.rounded:
            sizes.append(f"N = {written(points(self.rounded, per_example))}")
        return ", ".join(sizes)


def lemma_of(name: str) -> Lemma:
    """A cover as a lemma."""
    cover = COVERS[name]
    says = (cover.__doc__ or "").strip().splitlines()[0]
    return Lemma(f"Cover: {name}", says, cover.latex, cover.citation)


def allocation(tables: list[Numbers], β: str, points: float | None = None) -> ProofStep:
    """The step that splits resolutions; ``β`` says how it comes from w."""
    here = [
        f"{β} ε is the error of a block's map on unit inputs: in each table the sum of "
        "times·β·ε is at most the resolution, and that of times·log N is the entropy."
    ]
    if points is not None:
        size = f"those of {written(points)} examples: n rounded up to a power of 2"
        here.append(f"Covers on points are {size}.")
    return ProofStep(ALLOCATION, tuple(here), tuple(tables))
