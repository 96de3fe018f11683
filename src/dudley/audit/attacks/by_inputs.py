"""Attacks chosen by quantity and inputs: linear maps, functionals and heads of any statement.

Each builds the class from the inputs alone (``constraint_on``), on the statement's own example and
on a few instances with unit norms, coarse and fine. A matrix with a single entry has that entry as
every norm, so classes hold all products of single entries, whichever norms a statement bounds.

A covering number is meant in the sup metric over inputs, of the ℓ2 norm of outputs; a quantity that
names another metric is not attacked. Identical inputs are a sample and a population; orthogonal
ones are a sample.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from dudley.audit.aims import Aim, constraint_on, filled
from dudley.audit.attacks.linear_covers import Maps
from dudley.audit.attacks.network_covers import strongest
from dudley.audit.base import ATTACKS, Attack, AttackFinding, reach
from dudley.audit.instances import mean_sign
from dudley.core.constraint import L11, Constraint
from dudley.core.errors import InputError
from dudley.core.rounding import down
from dudley.core.statement import Statement
from dudley.theorems import registry
from dudley.theorems.witness.inside_networks import NetworkClass, entry
from dudley.theorems.witness.lower import LowerBound

Values = Mapping[str, float]
TOKENS = ("X.row2inf", "X.row1inf")
SHAPES = ((1, 1), (4, 4), (1, 64), (64, 1), (32, 32))  # d and k
RESOLUTIONS = (0.9, 0.5, 0.1, 1e-3)
SAMPLES = (1, 10, 1000, 10**6)
EUCLIDEAN = ("l2", "fro", "op", "nuc")  # of a vector, all the same
OTHER_METRICS = ("average", "mean", "empirical", "ℓ∞", "ℓ1 outputs", "ℓq")
OTHER_COMPLEXITIES = ("offset", "local", "loss", "entropy", "excess")
HEADS = ("W_QK", "W_Q", "W_K", "W_v", "W_c", "w")


def instances(s: Statement, *grids: Mapping[str, tuple[float, ...]]) -> Iterator[Values]:
    """The example, then every choice from the grids with all norms 1; where the formulas exist."""
    names = [i.name for i in s.inputs]
    every: list[Values] = [s.example]
    for grid in grids:
        axes = {name: choices for name, choices in grid.items() if name in names}
        ones = {i.name: 1.0 for i in s.inputs if i.default is None and i.name not in axes}
        chosen = itertools.product(*axes.values())
        every += [ones | dict(zip(axes, point, strict=True)) for point in chosen]
    for values in every:
        if all(_defined(s, values, form) for form in s.forms):
            yield values


def _defined(s: Statement, values: Values, form: str) -> bool:
    """Has the formula a value here, be it past the floats?"""
    try:
        return not math.isnan(s.evaluate_on(values, form).log_value)
    except InputError as refusal:
        return "stays below 1e308" in str(refusal)
    except (ValueError, ArithmeticError):
        return False


def radius(v: Values) -> float:
    return min(v[name] for name in TOKENS if name in v)


@ATTACKS.register("linear maps by their norms")
class AnyLinearMaps(Attack):
    """Codes, crowds and volumes in any norm balls, for all inputs or for n of them."""

    aim = Aim(
        "covering number",
        words=("linear maps", "x ↦ xW", "x ↦ x·w"),
        matrices=("W", "w"),
        takes=("d", "k", "n", "epsilon", *TOKENS),
        needs=("d", "epsilon", "X"),
        without=("scores", "logits", *OTHER_METRICS),
        rank=True,
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for id in reach(type(self)):
            s = registry.load()[id]
            shapes = [{"d": (d,), "k": (k,), "n": (1, d)} for d, k in SHAPES]
            for values in instances(s, *(shape | {"epsilon": RESOLUTIONS} for shape in shapes)):
                v = filled(s, values)
                W, w = constraint_on("W", v), constraint_on("w", v)
                if W is None or w is None:  # both would be another class
                    yield AttackFinding(id, values, self.below(v, W or w or L11(0.0)))

    def below(self, v: Values, W: Constraint) -> LowerBound:
        shape, l1 = (v["d"], v.get("k", 1)), "X.row1inf" in v
        return Maps(shape, W, radius(v), v.get("n"), l1).below(v["epsilon"])


@ATTACKS.register("functionals by their norms")
class AnyFunctionals(Attack):
    """x ↦ x·w: n identical inputs; orthogonal ones, if w lies in an ℓ2 ball and there is room."""

    aim = Aim(
        "Rademacher complexity",
        words=("x ↦ x·w", "linear functionals"),
        matrices=("w",),
        takes=("n", "d", *TOKENS),
        needs=("n", "w", "X"),
        without=OTHER_COMPLEXITIES,
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for id in reach(type(self)):
            s = registry.load()[id]
            for values in instances(s, {"n": SAMPLES, "d": (1, 64)}):
                v = filled(s, values)
                w = constraint_on("w", v)
                if w is not None:
                    yield AttackFinding(
                        id, values, self.below(v, entry(w) * radius(v), "sample" in s.quantity)
                    )

    def below(self, v: Values, size: float, sample: bool) -> LowerBound:
        n = int(v["n"])
        norms = [name.partition(".")[2] for name in v if name.startswith("w.")]
        if sample and n <= v.get("d", n) and set(norms) <= set(EUCLIDEAN):
            return LowerBound(float(down(size / math.sqrt(n), 8)), f"{n} orthogonal inputs, exact")
        return LowerBound(float(down(size * mean_sign(n), 8)), f"{n} identical inputs, exact")


@ATTACKS.register("heads by their norms")
class AnyHeads(Attack):
    """Inputs of equal tokens Re_1 to a head read out by w, and single entries in every matrix.

    Predictions range over ±B_wB_cB_vL_σR, whatever the scores; σ(x) = L_σx for x ≥ 0 (L_σ = 1
    where it is no input), and a matrix that has no norm among the inputs is not there.
    """

    aim = Aim(
        "Rademacher complexity",
        words=("head",),
        matrices=HEADS,
        takes=("n", "d", "k", "T", "H", "sigma.lipschitz", *TOKENS),
        needs=("n", "w", "W_v", "X"),
        without=OTHER_COMPLEXITIES,
        rank=True,
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for id in reach(type(self)):
            s = registry.load()[id]
            for values in instances(s, {"n": SAMPLES, "d": (4,), "k": (4,), "T": (2,), "H": (1,)}):
                v, n = filled(s, values), int(values["n"])
                sets = [constraint_on(W, v) for W in ("w", "W_c", "W_v")]
                size = math.prod(entry(W) for W in sets if W is not None)
                value = size * v.get("sigma.lipschitz", 1.0) * radius(v) * mean_sign(n)
                lower = LowerBound(float(down(value, 32)), f"{n} identical inputs, exact")
                yield AttackFinding(id, values, lower)


@ATTACKS.register("covers of heads by their norms")
class AnyHeadCovers(Attack):
    """Linear classes and sign patterns inside a head, with a readout or without."""

    aim = Aim(
        "covering number",
        words=("head",),
        matrices=("W_QK", "W_v", "W_c", "w"),
        takes=("n", "d", "k", "T", "H", "epsilon", "sigma.lipschitz", *TOKENS),
        needs=("d", "W_v", "X", "epsilon"),
        without=("entropy", "loss", *OTHER_METRICS),
    )

    def run(self, rng) -> Iterator[AttackFinding]:
        for id in reach(type(self)):
            s = registry.load()[id]
            grid = {"n": (64,), "d": (1, 17), "k": (1, 17), "T": (3,), "H": (1,)}
            for values in instances(s, grid | {"epsilon": RESOLUTIONS}):
                v = filled(s, values)
                yield AttackFinding(id, values, strongest((self.members(v),), v["epsilon"]))

    def members(self, v: Values) -> NetworkClass:
        QK, W_v, W_c, w = (constraint_on(W, v) for W in ("W_QK", "W_v", "W_c", "w"))
        assert W_v is not None
        return NetworkClass(
            int(v["d"]), int(v.get("k", v["d"])), radius(v), QK or L11(0.0), W_v, W_c, w,
            slope=v.get("sigma.lipschitz", 1.0), H=int(v.get("H", 1)), T=v.get("T", math.inf),
            n=v.get("n"), ell1="X.row1inf" in v,
        )  # fmt: skip
