"""From a checkpoint and what it does not say to a plan: the role of every tensor, none left over.

Families, names and shapes are those of ``dudley measure`` (`dudley.weights`). What is refused there
where a network gets no bound is refused here too: a setting that changes the computation, a tensor
without a role, a head with a part missing. So is what the tables of a network file do not say:
rotations other than the usual ones, factors, caps, and blocks in another order than before or
behind the norms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dudley.certificates.checkpoints.unstored import Unstored
from dudley.core.boundary.text import line
from dudley.core.errors import InputError
from dudley.weights.architecture import Architecture
from dudley.weights.family import choose
from dudley.weights.interval import Interval
from dudley.weights.measurement import MatrixRow, Measurement
from dudley.weights.named_tensors import Weights
from dudley.weights.network import describe
from dudley.weights.output import Output, output_of
from dudley.weights.plan import TensorPlan, plan

# What the tables of ``checkpoints.layers`` say of an architecture; the rest must be its default.
WRITTEN = (
    "d", "L", "H", "groups", "k", "T", "order", "rms", "eps", "sigma", "gated", "causal", "rope",
    "qk_norm", "bias", "scales", "window", "tied", "head", "outputs", "inputs", "odd",
    "first_position",
)  # fmt: skip
NORMS = ("op", "fro", "l11", "col21", "col2inf", "row2inf", "linf")


@dataclass(frozen=True)
class CheckpointPlan:
    """The roles, the output, the source, and the padding."""

    tensors: TensorPlan
    output: Output
    source: str
    pad: int | None = None  # as the config names it

    @property
    def architecture(self):
        return self.tensors.architecture

    def shape(self, role: str, layer: int | None = None) -> tuple[int, int] | None:
        """The shape of a matrix, in×out; None where it is not stored."""
        matrix = self.tensors.matrices.get((role, layer))
        return None if matrix is None else matrix.shape

    def stored(self, *roles: str, layer: int | None = None) -> list[str]:
        """Those of the roles that are stored."""
        return [role for role in roles if (role, layer) in self.tensors.matrices]


def plan_of(weights: Weights, unstored: Unstored) -> CheckpointPlan:
    """Every tensor with its role, and the network that they are; refused where it is not known."""
    config, names = dict(weights.config or {}), weights.names()
    layout, architecture, assumed = choose(weights, config, unstored.layout)
    slots = unstored.slots(names)
    roles = {slot.roles[0] for slot in slots}
    if slots:
        outside = (*layout.outside, *(slot.pattern for slot in slots))
        layout = replace(layout, slots=(*slots, *layout.slots), outside=outside)
    if layout.name.startswith("torch-"):
        architecture = _around(architecture, roles, unstored, weights.source)
    made = plan(weights, layout, architecture)
    _expect_roles(made, weights.source)
    mlp = ("W_1", 0) in made.matrices
    whole = unstored.completed(architecture, weights.source, mlp)
    made = replace(made, architecture=whole, assumed=assumed)
    measurement = _unmeasured(made, weights.source)
    describe(measurement, {"T": 1, "X.row2inf": 1.0} if whole.inputs != "tokens" else {"T": 1})
    output = output_of(measurement)
    if output.kind == "rows" or output.row == "any":
        what = "no logits" if output.kind == "rows" else "logits of masked tokens"
        fix = "name its module: --role NAME=readout --row first|last|mean"
        raise InputError(f"{weights.source}: output", "logits of classes", what, fix)
    _expect_plain_rotations(config, whole.rope, weights.source)
    _expect_written(made, weights.source)
    pad = config.get("pad_token_id")
    return CheckpointPlan(made, output, weights.source, pad if isinstance(pad, int) else None)


def _expect_written(made: TensorPlan, source: str) -> None:
    """Refuse a network that the tables do not describe, whatever distinguishes it."""
    arch, usual = made.architecture, Architecture()
    more = [name for name in vars(arch) if name not in WRITTEN]
    other = [name for name in more if getattr(arch, name) != getattr(usual, name)]
    other += [role for role, _ in made.matrices if role in ("s_1", "s_2", "W_map", "dist")]
    other += ["order"] if arch.order not in ("pre", "post", None) else []
    if other:
        expected = "a network that a network file can describe"
        got = f"{made.layout} with {other[0]}"
        raise InputError(f"{source}: architecture", expected, got)


def _around(architecture, roles: set[str], unstored: Unstored, source: str):
    """What stands before and behind torch's encoder, as the roles say."""
    inputs = "tokens" if "W_E" in roles else "patches" if "W_patch" in roles else "rows"
    if {"W_E", "W_patch"} <= roles:
        raise InputError("--role", "an embedding or a projection", "both")
    if "W_cls" in roles and unstored.row is None:
        expected = "--row first, last or mean, the row that the readout reads"
        raise InputError(f"{source}: what its weights do not say", expected, "none")
    outputs = (Output("classes", unstored.row or "last"),) if "W_cls" in roles else ()
    return replace(architecture, inputs=inputs, outputs=outputs)


def _expect_roles(made: TensorPlan, source: str) -> None:
    """Refuse tensors without a role, all of them in one line, with the option that gives one."""
    left = [use for use in made.tensors if use.vital]
    if not left:
        return
    shown = ", ".join(f"{line(use.name)} {'×'.join(map(str, use.shape))}" for use in left[:6])
    more = f" and {len(left) - 6} more" if len(left) > 6 else ""
    fix = "--role NAME=embedding|projection|positions|norm|readout gives a role to a module"
    raise InputError(f"{source}: tensors", "a role for each", f"none for {shown}{more}", fix)


def _unmeasured(made: TensorPlan, source: str) -> Measurement:
    """The matrices without their norms, for checks that look at roles and shapes alone."""
    matrices = [(role, layer, m.shape) for (role, layer), m in made.matrices.items()]
    if ("W_patch", None) in made.matrices and ("P", None) not in made.matrices:
        d = made.matrices["W_patch", None].shape[1]  # a projection may stand without positions
        matrices.append(("P", None, (1, d)))
    norms: Any = dict.fromkeys(NORMS, 1.0)
    rest = norms, Interval(0.0, 1.0), Interval(0.0, 1.0), None, "", "a matrix"
    rows = [MatrixRow(role, layer, None, shape, *rest) for role, layer, shape in matrices]
    return Measurement(source, made.layout, made.architecture, tuple(rows), made.tensors, None)


def _expect_plain_rotations(config: Mapping[str, Any], rope: bool, source: str) -> None:
    """Refuse rotary positions of another base or scaling than the network's own."""
    if not rope:
        return
    tables = [config, config.get("rope_scaling"), config.get("rope_parameters")]
    for table in filter(None, tables):
        base = table.get("rope_theta", 10000)
        kind = table.get("rope_type", table.get("type", "default"))
        if base != 10000 or kind != "default":
            got = f"base {base}, type {kind!r}"
            expected = "rotations of base 10000, not scaled"
            raise InputError(f"{source}: rotary positions", expected, got)
