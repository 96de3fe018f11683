"""The terms of the bound for one recipe: sets and prices, log N as a function of γ, and η."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from dudley.calculus.arithmetic import U
from dudley.calculus.compose import Node
from dudley.calculus.union import Grid
from dudley.certificates.clipping import clipping_prices
from dudley.certificates.forward_error import forward_error
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.norm_cover.cover import Covered, cover_of
from dudley.certificates.methods.norm_cover.declared import NormCoverDeclared
from dudley.certificates.methods.norm_cover.reduce import Reduced, reduce_heads
from dudley.certificates.methods.norm_cover.sets import RECIPES, Paid, name_of, pay_for_sets
from dudley.certificates.price import Price
from dudley.core.entropy import Metric
from dudley.core.errors import InputError
from dudley.core.rounding import down, up
from dudley.networks.capacity import Capacity, capacity
from dudley.networks.embeddings import Tokens


@dataclass(frozen=True, eq=False)
class Terms:
    """What the bound needs besides the data."""

    paid: Paid
    inputs: Tokens
    reduced: tuple[str, ...]
    radius: tuple[Price, ...]

    @cached_property
    def capacity(self) -> Capacity:
        return self.of(self.paid.network)

    def of(self, network: Node) -> Capacity:
        """The calculus on a network with these inputs; every weight must be in the cover."""
        cap = capacity(network, self.inputs)
        seen = {use.name for use in cap.facts.uses}
        lost = [name_of(p) for p in self.paid.sets if name_of(p) not in seen]
        if lost:
            raise InputError(f"weight {lost[0]}", "one that the cover counts", "one it does not")
        return cap

    @cached_property
    def slope(self) -> float:
        """How far a margin moves per unit error of the output: L with |m(f) − m(f′)| ≤ L‖f − f′‖.

        One number, margin ±f: L = 1. Several, m(f) = f_y − max_{j≠y} f_j: L = 2 in the largest
        coordinate, which is how logits are measured, and L = √2 in ℓ2, for any number of outputs.
        For let j ≠ y attain the maximum of f′, and Δ = f − f′. Then m(f) ≤ f_y − f_j, so

            m(f) − m(f′) ≤ (f_y − f_j) − (f′_y − f′_j) = Δ_y − Δ_j ≤ min(2‖Δ‖_∞, √2‖Δ‖₂),

        the last by Cauchy and Schwarz with (1, −1); the same holds with f and f′ exchanged. Both
        are attained, by Δ_y = −Δ_j.
        """
        out = self.capacity.facts.out
        if out.metric is Metric.LOGITS:
            return 2.0
        return 1.0 if out.width == 1 else float(up(math.sqrt(2)))

    @cached_property
    def η(self) -> float:
        """A bound on the rounding error of a margin, the last subtraction included."""
        e = forward_error(self.paid.network, self.inputs)
        if self.slope == 1:
            return e
        return float(up(2 * e + 4 * U * (float(self.capacity.facts.out.radius) + e)))

    def resolution(self, γ: float) -> float:
        """ε of the outputs with slope·ε + η ≤ γ/2; not positive where γ is too small."""
        return float(down((γ / 2 - self.η) / self.slope, 8))

    def cover(self, γ: float, network: Node | None = None) -> Covered:
        """The cover at that resolution, of this network or of one with other radii."""
        ε = self.resolution(γ)
        if not (math.isfinite(ε) and ε > 0):
            return Covered(math.inf, ())
        return cover_of(self.capacity if network is None else self.of(network), ε)


def terms(model: Hypothesis, declared: NormCoverDeclared, recipe: str) -> Terms:
    """The terms for a model: reduce, read off, pay."""
    inputs = model.encoding.inputs
    assert inputs.d is not None
    if model.encoding.ragged:
        got = f"encoding {model.encoding.name}, which cuts padding"
        raise InputError("inputs for norm-cover", "examples of one length", got)
    less: Reduced = reduce_heads(model.network, model.weights, model.encoding)
    grid = Grid(declared.ratio)
    made = pay_for_sets(less.network, less.weights, RECIPES[recipe], grid, inputs.d)
    return Terms(made, inputs, less.heads, clipping_prices(model.encoding, declared.radius))
