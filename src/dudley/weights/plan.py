"""The plan of a measurement: every tensor of a checkpoint with its role, or why it is left out.

Nothing is loaded here: names and shapes decide. A missing matrix, a shape that does not fit, or a
layer that is not there is refused with the tensor's name.
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.core.boundary.text import line
from dudley.core.errors import InputError
from dudley.weights.architecture import Architecture
from dudley.weights.expression import Matrix, Piece, shape_of
from dudley.weights.layout import ATTENTION, Layout, Match, Slot
from dudley.weights.named_tensors import TensorInfo, Weights

UNKNOWN = "no role in this layout; name it in a mapping file"
# Reasons of a reader for what is no weight of its own.
HARMLESS = ("scales of ", "added to ", "stands beside ", "not a tensor, ")


@dataclass(frozen=True)
class TensorUse:
    """A tensor of the checkpoint: used as something, or skipped for a reason."""

    name: str
    used: bool
    why: str  # its roles, or the reason
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    file: str
    vital: bool = False  # skipped, but the network does not run without it

    def to_json(self) -> dict:
        return vars(self) | {"shape": list(self.shape)}


@dataclass(frozen=True)
class TensorPlan:
    """Which matrices there are, and what happens to each tensor."""

    layout: str
    architecture: Architecture
    matrices: dict[tuple[str, int | None], Matrix]
    tensors: tuple[TensorUse, ...]
    assumed: str = ""  # which family, where no config names it

    @property
    def layers(self) -> int:
        return 1 + max((layer for _, layer in self.matrices if layer is not None), default=-1)

    def of(self, layer: int | None) -> list[Matrix]:
        """The matrices of one layer, or those outside the layers."""
        return [m for (_, at), m in self.matrices.items() if at == layer]


def plan(weights: Weights, layout: Layout, architecture: Architecture) -> TensorPlan:
    """Match every name against a layout."""
    names = weights.names()
    prefix = layout.prefix(names, weights.source)
    if prefix is None:
        raise InputError(
            f"{weights.source}: layout {layout.name}", f"a tensor named …{layout.anchor}", "none"
        )
    twins = _twins(weights, layout)
    pieces: dict[tuple[str, int | None], list[tuple[int | None, Piece, tuple[int, int], str]]] = {}
    uses = []
    for name in names:
        info = weights.info(name)
        match = _match(layout, prefix, name)
        if name in twins:
            uses.append(_use(info, False, f"the same values as {twins[name]}"))
            continue
        if match is None:
            skip = layout.skip(name.removeprefix(prefix)) or layout.skip(name)
            reason = UNKNOWN if skip is None else skip.reason
            headless = architecture.head in (None, "rows")  # the config names no head
            vital = skip is None or skip.vital or (skip.head and headless)
            uses.append(_use(info, False, reason, vital))
            continue
        pieces_here = _pieces(info, match.slot, architecture)
        for role, (_, piece, shape) in zip(match.roles, pieces_here, strict=True):
            key = (role, match.layer)
            clash = [p.tensor for h, p, _, _ in pieces.get(key, []) if h == match.head]
            if clash:
                raise InputError(f"{weights.source}: {role}", f"one tensor, {clash[0]}", name)
            pieces.setdefault(key, []).append((match.head, piece, shape, info.dtype))
        where = "" if match.layer is None else f" of layer {match.layer}"
        where += "" if match.head is None else f", head {match.head}"
        uses.append(_use(info, True, ", ".join(match.roles) + where))
    if not pieces:
        known = f"a tensor with a role in {layout.name}"
        raise InputError(weights.source, known, f"{len(names)} tensors without")
    matrices = {key: _matrix(key, parts, weights.source) for key, parts in pieces.items()}
    uses += _withheld_tensors(weights, layout, prefix)
    made = TensorPlan(layout.name, architecture, matrices, tuple(uses))
    _check(made, weights.source)
    return made


def _twins(weights: Weights, layout: Layout) -> dict[str, str]:
    """Names under which a tensor is stored a second time ↦ the first; refused if they differ."""
    import torch

    names = set(weights.names())
    twins = {second: first for second, first in layout.twins if {first, second} <= names}
    for second, first in twins.items():
        if not torch.equal(weights.load(first), weights.load(second)):
            expected = f"the values of {first}, which it is by another name"
            raise InputError(f"{weights.source}: tensor {second}", expected, "others")
    return twins


def _match(layout: Layout, prefix: str, name: str) -> Match | None:
    """The slot of a whole name."""
    match = layout.match(name.removeprefix(prefix)) if name.startswith(prefix) else None
    return layout.match(name) if match is None and name in layout.outside else match


def _withheld_tensors(weights: Weights, layout: Layout, prefix: str) -> list[TensorUse]:
    """Tensors that the reader does not hand out, with its reason.

    The network does not run without those that have a role, or that nobody knows: a gain that
    cannot be read is not a gain of one.
    """
    uses = []
    for name, why in dict(weights.skipped or {}).items():
        idle = layout.skip(name.removeprefix(prefix)) or layout.skip(name)
        vital = not (why.startswith(HARMLESS) or (idle and not idle.vital))
        vital |= _match(layout, prefix, name) is not None
        why = why if idle is None or vital else idle.reason
        uses.append(TensorUse(name, False, why, (), "", 0, weights.source, vital))
    return uses


def _use(info: TensorInfo, used: bool, why: str, vital: bool = False) -> TensorUse:
    return TensorUse(
        info.name, used, why, tuple(info.shape), info.dtype, info.nbytes, str(info.file), vital
    )


def _pieces(info: TensorInfo, slot: Slot, architecture: Architecture):
    """A tensor cut along its outputs: (role, piece, shape) for each role."""
    stored, roles, split = slot.stored, slot.roles, slot.split
    a, b = shape_of(stored, tuple(info.shape), f"{line(info.name)} in {info.file}")
    if len(roles) == 1:
        start = architecture.first_position if roles[0] == "P" else 0
        if start >= a:
            expected = f"more than the {start} rows before the first position"
            raise InputError(f"tensor {info.name}", expected, a)
        yield roles[0], Piece(info.name, stored, plus=slot.plus, start=start), (a - start, b)
        return
    if slot.interleaved != "none":
        yield from _interleaved(info.name, slot, a, b, architecture)
        return
    widths = split or _widths(roles, a, b, architecture)
    if sum(widths) != b or len(widths) != len(roles):
        expected = f"{len(roles)} parts of its {b} outputs"
        raise InputError(f"tensor {info.name}", expected, f"parts {list(widths)}")
    start = 0
    for role, width in zip(roles, widths, strict=True):
        yield role, Piece(info.name, stored, (start, start + width)), (a, width)
        start += width


def _widths(roles: tuple[str, ...], a: int, b: int, architecture: Architecture) -> tuple[int, ...]:
    """How wide the parts are: as the heads say for queries, keys and values, else alike."""
    heads = architecture.heads(architecture.d or a) if architecture.groups is not None else None
    if heads is None or tuple(role[2:] for role in roles) != ("Q", "K", "v"):
        return (b // len(roles),) * len(roles)
    H, groups, k = heads
    return H * k, groups * k, groups * k


def _interleaved(name: str, slot: Slot, a: int, b: int, architecture: Architecture):
    """Queries, keys and values that take turns, head by head or group by group."""
    split = architecture.heads(architecture.d or a)
    if split is None:
        fix = "give [network] H = …, or --heads"
        raise InputError(f"tensor {name}, interleaved", "the number of heads", "none", fix)
    H, groups, k = split
    if slot.interleaved == "heads" and groups != H:
        expected = f'as many keys as heads, or interleaved = "groups", for {groups} of {H}'
        raise InputError(f"tensor {name}", expected, 'interleaved = "heads"')
    ends = (0, H // groups * k, (H // groups + 1) * k, (H // groups + 2) * k)
    if b != groups * ends[-1]:
        raise InputError(f"tensor {name}", f"{groups} parts of {ends[-1]} outputs", b)
    for role, start, stop in zip(slot.roles, ends, ends[1:], strict=False):
        yield role, Piece(name, slot.stored, (start, stop), ends[-1]), (a, groups * (stop - start))


def _matrix(key, parts, source: str) -> Matrix:
    role, layer = key
    parts = sorted(parts, key=lambda part: -1 if part[0] is None else part[0])
    heads = [head for head, *_ in parts]
    if heads != [None] and heads != list(range(len(heads))):
        raise InputError(f"{source}: {role} of layer {layer}", "heads 0, 1, …", heads)
    shapes = [shape for *_, shape, _ in parts]
    across = 0 if role == "W_c" else 1
    if len({shape[1 - across] for shape in shapes}) > 1:
        raise InputError(f"{source}: {role} of layer {layer}", "heads of one shape", shapes)
    total = sum(shape[across] for shape in shapes)
    shape = (total, shapes[0][1]) if across == 0 else (shapes[0][0], total)
    return Matrix(role, layer, None, tuple(p for _, p, _, _ in parts), shape, parts[0][3])


def _check(made: TensorPlan, source: str) -> None:
    """Every layer has its matrices, and their shapes fit together and to the config."""
    arch, L = made.architecture, made.layers
    for name in ("map", "pool", "pre", "cls", "out"):
        W, b = (made.matrices.get((f"{letter}_{name}", None)) for letter in "Wb")
        if W is not None and b is not None and b.shape != (1, W.shape[1]):
            expected = f"b_{name} of width {W.shape[1]}"
            raise InputError(f"{source}: tensor {b.tensors[0]}", expected, b.shape[1])
    if arch.shared and (arch.L is None or L != 1):
        raise InputError(f"{source}: layers", "one block, and how often it is used", L)
    if arch.L is not None and not arch.shared and arch.L != L:
        raise InputError(f"{source}: layers", f"{arch.L}, as the config says", L)
    for layer in range(L):
        roles = {m.role: m for m in made.of(layer)}
        if all("[" in role for role in roles):  # of another part, which has more layers
            continue
        for role in ATTENTION:
            if role not in roles:
                raise InputError(f"{source}: layer {layer}", f"a tensor for {role}", "none")
        d, wide = roles["W_Q"].shape
        narrow = roles["W_K"].shape[1]
        d = arch.d or d
        heads = arch.heads(d)
        if heads is not None:
            H, groups, k = heads
            wide, narrow = H * k, groups * k
        wanted = {"W_Q": (d, wide), "W_K": (d, narrow), "W_v": (d, narrow), "W_c": (wide, d)}
        if "W_1" in roles and "W_2" in roles:
            hidden = roles["W_1"].shape[1]
            wanted |= {"W_1": (d, hidden), "W_3": (d, hidden), "W_2": (hidden, d)}
            wanted |= {"b_1": (1, hidden), "b_3": (1, hidden), "b_2": (1, d)}
        wanted |= {"b_Q": (1, wide), "b_K": (1, narrow), "b_v": (1, narrow), "b_c": (1, d)}
        wanted |= {f"ln_{i}.gain": (d, 1) for i in (1, 2, 3, 4)}
        wanted |= {f"ln_{i}.bias": (1, d) for i in (1, 2, 3, 4)}
        wanted |= {f"s_{i}": (d, 1) for i in (1, 2)}
        if heads is not None:
            wanted |= {"g_q": (heads[2], 1), "g_k": (heads[2], 1)}
        for role, matrix in roles.items():
            if role in wanted and matrix.shape != wanted[role]:
                a, b = wanted[role]
                raise InputError(
                    f"{source}: tensor {matrix.tensors[0]}",
                    f"{role} of shape {a}×{b} (in×out)",
                    "×".join(map(str, matrix.shape)),
                )
