"""Layouts: which tensor of a checkpoint is which matrix of the mathematics.

A family is a list of *slots* (names of tensors with ``{layer}`` for the layer's number, the role
each one plays, how it is stored) and a list of *skips* (names that are no weights of the network,
with the reason). Nothing else is known about a family but how its ``config.json`` names sizes.
Matrices come out in the orientation of ``core.norms``: x ↦ xW with W ∈ R^{in×out}, whatever the
checkpoint does.

Roles of a layer: ``W_Q W_K W_v W_c`` and ``b_…`` (attention), ``W_1 W_3 W_2`` and ``b_…`` (MLP;
W_1 is the gate and W_3 the other factor where there are two), ``ln_1.gain``, ``ln_1.bias``,
``ln_2.…`` to ``ln_4.…`` (in the order of use), ``g_q``, ``g_k`` (norms of queries and keys),
``s_1``, ``s_2`` (factors of what attention and MLP add). Roles outside the layers: ``W_E``
(vocabulary), ``P`` (positions), ``W_S`` (segments), ``ln_E.…``, ``W_map`` (from the width of the
vocabulary's rows to that of the network), ``ln_f.…``, ``W_patch``, ``b_patch``, ``cls`` and
``dist`` (trained first rows). Roles of the output: ``W_pool`` (pooler), ``W_pre`` and ``ln_pre.…``
(what stands before the logits otherwise), ``W_cls`` (logits of classes), ``W_out`` (logits of the
vocabulary), each with ``b_…``. ``R``: a table of relative positions; ``W_g``: which experts are
chosen. A part of a network that is no chain of blocks stands in brackets: ``W_1[3]`` of expert 3,
``W_Q[decoder]``, ``W_K[cross]``.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["bert"].match("encoder.layer.3.attention.self.query.weight").roles
('W_Q',)
>>> LAYOUTS["bort"]
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown model type 'bort'; did you mean bert or ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from dudley.core.errors import InputError, UnknownName
from dudley.core.registry import Registry
from dudley.weights import output
from dudley.weights.architecture import Architecture

ATTENTION = ("W_Q", "W_K", "W_v", "W_c")
STORED = ("out-in", "in-out", "row", "column", "patches")
LAYER = (
    *ATTENTION, "b_Q", "b_K", "b_v", "b_c", "W_1", "b_1", "W_3", "b_3", "W_2", "b_2",
    *(f"ln_{j}.{part}" for j in (1, 2, 3, 4) for part in ("gain", "bias")),
    "g_q", "g_k", "s_1", "s_2", "W_g",
)  # fmt: skip
OUTSIDE = (
    "W_E", "P", "W_S", "W_patch", "b_patch", "cls", "dist", "ln_E.gain", "ln_E.bias",
    "W_map", "b_map", "R",
    "ln_f.gain", "ln_f.bias", *output.STORED,
)  # fmt: skip
INTERLEAVED = ("none", "heads", "groups")


@dataclass(frozen=True)
class Slot:
    """One name of a family: the role of its tensor, and how the tensor is stored.

    Several roles mean a fused tensor. ``interleaved`` says how its outputs are ordered: ``none``
    (all of the first role, then all of the second; queries, keys and values as wide as the heads
    are, others in equal parts, or all in those of ``split``),
    ``heads`` (the query, key and value of head 0, then those of head 1) or ``groups`` (the queries
    of group 0, its key and value, then group 1).
    ``stored``: ``out-in`` (torch's linear layers), ``in-out`` (Conv1D, tables of rows), ``row``
    (a bias, 1×k), ``column`` (a gain, d×1), ``patches`` (a convolution that cuts an image).
    """

    pattern: str
    roles: tuple[str, ...]
    stored: str = "out-in"
    split: tuple[int, ...] | None = None
    interleaved: str | None = None
    plus: float = 0.0  # what the network adds to every entry of a gain
    part: str = ""  # which part of the network it belongs to, where there are several

    def __post_init__(self):
        several = len(self.roles) > 1
        if (several or self.interleaved is not None) and self.interleaved not in INTERLEAVED:
            wanted = " or ".join(f'interleaved = "{how}"' for how in INTERLEAVED)
            raise InputError(f"order of {self.pattern}", wanted, self.interleaved)
        turns = self.interleaved in ("heads", "groups")
        if turns and (tuple(r[2:] for r in self.roles) != ("Q", "K", "v") or self.split):
            expected = "queries, keys and values without a split"
            raise InputError(f"interleaved {self.pattern}", expected, ", ".join(self.roles))
        if self.stored not in STORED:
            raise InputError(f"storage of {self.pattern}", " or ".join(STORED), self.stored)
        for role in self.roles:
            if role not in LAYER + OUTSIDE:
                raise UnknownName(f"role of {self.pattern}", role, LAYER + OUTSIDE)

    @cached_property
    def regex(self) -> re.Pattern:
        parts = re.split(r"\{layer\}|\{head\}|\{expert\}", self.pattern)
        keys = re.findall(r"\{(layer|head|expert)\}", self.pattern)
        text = re.escape(parts[0])
        for key, part in zip(keys, parts[1:], strict=True):
            text += rf"(?P<{key}>[0-9]{{1,9}})" + re.escape(part)
        return re.compile(text)


@dataclass(frozen=True)
class Skip:
    """Tensors that are no part of the measured network, and why."""

    pattern: str  # a regular expression on the name below the prefix, or on the whole name
    reason: str
    vital: bool = False  # the network does not run without them, so no bound may leave them out
    head: bool = False  # another output: vital unless the config names a head


@dataclass(frozen=True)
class Match:
    """What a name means: roles, layer, head."""

    roles: tuple[str, ...]
    layer: int | None
    head: int | None
    slot: Slot


@dataclass(frozen=True)
class Layout:
    """A family of checkpoints."""

    name: str
    slots: tuple[Slot, ...]
    skips: tuple[Skip, ...]
    architecture: Callable[[dict], Architecture]
    anchor: str  # the name whose prefix is the family's prefix
    outside: tuple[str, ...] = field(default=())  # names that never carry the prefix
    twins: tuple[tuple[str, str], ...] = ()  # names of one tensor, which a file may hold twice
    refused: str = ""  # why no network of the family gets a bound, if none does
    assumable: bool = True  # may be assumed where no config names the family
    live_anchor: str = ""  # the anchor in a live module, whose names a file may not have
    honours: tuple[str, ...] = ()  # settings of ``weights.computation`` that its reader describes

    def match(self, name: str) -> Match | None:
        """The slot of a name below the prefix, if there is one."""
        for slot in self.slots:
            fitting = slot.regex.fullmatch(name)
            if fitting:
                keys = {key: int(value) for key, value in fitting.groupdict().items()}
                inside = slot.roles[0] in LAYER
                part = slot.part or str(keys.get("expert", ""))
                roles = tuple(f"{role}[{part}]" if part else role for role in slot.roles)
                return Match(
                    roles, keys.get("layer", 0 if inside else None), keys.get("head"), slot
                )
        return None

    def skip(self, name: str) -> Skip | None:
        """Why a name is left out on purpose, if it is."""
        return next((s for s in self.skips if re.search(s.pattern, name)), None)

    def prefix(self, names: Iterable[str], source: str) -> str | None:
        """What stands before every name of the family: ``bert.``, ``model.``, or nothing.

        None if the family's anchor is absent; two networks in one file are refused. A mapping
        file has no anchor: its names are whole.
        """
        if not self.anchor:
            return ""
        anchors = "|".join(re.escape(name) for name in (self.anchor, self.live_anchor) if name)
        regex = re.compile(rf"(?P<prefix>(?:.*\.)?)(?:{anchors})")
        prefixes = {m["prefix"] for m in map(regex.fullmatch, names) if m}
        if len(prefixes) > 1:
            raise InputError(
                f"{source}: layout {self.name}",
                "one network in the checkpoint",
                f"{len(prefixes)}, below {', '.join(sorted(map(repr, prefixes)))}",
                "name the tensors of one in a mapping file",
            )
        return prefixes.pop() if prefixes else None


def names_of(slots: Iterable[Slot]) -> tuple[str, ...]:
    """The names of slots outside the layers."""
    return tuple(slot.pattern for slot in slots)


LAYOUTS: Registry[Layout] = Registry("model type", "dudley.weights.layouts.*")


def linear(name: str, role: str, stored: str = "out-in") -> tuple[Slot, Slot]:
    """``NAME.weight`` as W_role and ``NAME.bias`` as b_role."""
    return Slot(f"{name}.weight", (f"W_{role}",), stored), Slot(
        f"{name}.bias", (f"b_{role}",), "row"
    )


def norm(name: str, role: str, plus: float = 0.0) -> tuple[Slot, ...]:
    """A LayerNorm or RMSNorm: gain, to which ``plus`` is added, and bias (gamma, beta of old)."""
    pairs = (("weight", "gain"), ("gamma", "gain"), ("bias", "bias"), ("beta", "bias"))
    stored = {"gain": ("column", None, None, plus), "bias": ("row",)}
    return tuple(
        Slot(f"{name}.{there}", (f"{role}.{here}",), *stored[here]) for there, here in pairs
    )


def table(name: str, role: str) -> tuple[Slot]:
    """An embedding: one row per token, position or segment."""
    return (Slot(name, (role,), "in-out"),)
