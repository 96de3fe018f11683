"""Explain: the network as a tree, and what each block costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dudley.calculus.allocate import Allocated, WeightBlock
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.node import Node, entering
from dudley.calculus.tie import tie_together
from dudley.classes.best import BestOf
from dudley.core.entropy import Entropy

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity

_LOG10 = math.log(10)


def power(log_x: float | np.ndarray) -> str:
    """A magnitude for people, the largest of several: 0.25, 1.3e+04, or 10^1203."""
    log10 = float(np.max(log_x)) / _LOG10
    if log10 == -math.inf:
        return "0"
    return f"{10**log10:.3g}" if abs(log10) < 30 else f"10^{log10:.0f}"


@dataclass(frozen=True)
class BlockCost:
    """What one block (or many alike) costs at the dominant scale."""

    block: str
    shape: tuple[int, int] | None
    constraint: str
    count: int
    log10_weight: tuple[float, float]  # smallest and largest over the layers
    share: float = 0.0
    cover: str = ""
    layer: int | None = None  # the costliest one, where there are several

    @property
    def name(self) -> str:
        """The block's name without its path, with the costliest layer."""
        leaf = self.block.rpartition(".")[2]
        return leaf if self.layer is None else f"{leaf} (layer {self.layer} most)"

    def __str__(self) -> str:
        size = f"{self.shape[0]}×{self.shape[1]}" if self.shape else ""
        low, high = self.log10_weight
        weight = power(high * _LOG10)
        if high - low > 0.01:
            weight = f"{power(low * _LOG10)} … {weight}"
        times = f" ×{self.count}" if self.count > 1 else ""
        leaf = self.block.rpartition(".")[2]
        return (
            f"{leaf:<5} {size}{times}  {self.constraint}   weight {weight}   "
            f"share {self.share:.1%}   {self.cover}"
        )


def dominant_scale(capacity: Capacity) -> tuple[float, float]:
    """log ε of the costliest link of the best chain, and the log n at which it was found.

    A link to a single centre holds no entropy, and is passed over where there are others.
    Where the bound is trivial at the given n (or none is given), n is the number of examples
    needed for half the trivial bound.
    """
    log_n = math.log(capacity.n) if capacity.n is not None else None
    if log_n is None or capacity.is_trivial(log_n):
        log_n = capacity.log10_needed_n(capacity.loss.range / 2) * _LOG10
    if math.isfinite(log_n):
        chained = capacity.leading(log_n)
        links, radius = chained.links(log_n), chained.entropy.log_radius
        if links:
            links = [link for link in links if chained.log_A + link[0] < radius] or links
            return chained.log_A + max(links, key=lambda link: link[1])[0], log_n
    return capacity.loss_class[1] - math.log(2), min(log_n, 0.0)


def moved(capacity: Capacity, log_n: float) -> str:
    """Why this is not at the n that was given; empty where it is, or none was given."""
    if capacity.n is None or math.isclose(log_n, math.log(capacity.n), abs_tol=1e-9):
        return ""
    half = capacity.loss.range / 2
    there = f": the gap is {half:g} at n = {power(log_n)}" if log_n > 0 else ", as at any other n"
    return f"not at n = {float(capacity.n):g}, where the bound says nothing{there}"


def shares(capacity: Capacity) -> tuple[list[BlockCost], float, float]:
    """For each block its weight, share of the entropy and winning cover; log ε and log n.

    A readout that is peeled is covered by nothing and has no share.
    """
    log_ε, log_n = dominant_scale(capacity)
    return costs(capacity, capacity.leading(log_n).entropy, log_ε, log_n), log_ε, log_n


def costs(
    capacity: Capacity, entropy: Entropy, log_ε: float, log_n: float | None
) -> list[BlockCost]:
    """Each block of a network where an entropy of it is evaluated."""
    total, split, rounded = -math.inf, {}, None
    if isinstance(entropy, Allocated):
        total = float(entropy.log_log(np.array([log_ε]), log_n)[0])
        rounded = entropy.rounded(log_n)
        parts = entropy.split(log_ε, log_n)
        split = {b.name: (b, *part) for b, part in zip(entropy.blocks, parts, strict=True)}
    return [
        _cost(use, *split[use.name], total, rounded) if use.name in split else _peeled(use)
        for use in tie_together(capacity.facts.uses)
    ]


def _peeled(use: Use) -> BlockCost:
    """The readout, of which only a norm counts."""
    return replace(_described(use), cover="peeled")


def _cost(
    use: Use,
    block: WeightBlock,
    log_x: np.ndarray,
    log_H: np.ndarray,
    total: float,
    log_n: float | None,
) -> BlockCost:
    worst = int(np.argmax(log_H))
    cover = "one point"
    if np.isfinite(log_H[worst]):
        log_ε = float(block.entropy.log_radius + log_x[worst])
        cover = "given"
        if isinstance(block.entropy, BestOf):
            cover = block.entropy.winner(log_ε, log_n)
    some = math.isfinite(total)
    cost = np.exp(log_H - total + block.log_counts) if some else np.zeros(log_H.shape)
    layer = int(block.places[worst]) + 1 if np.size(use.weight.log) > 1 else None
    return replace(_described(use), share=float(cost.sum()), cover=cover, layer=layer)


def _described(use: Use) -> BlockCost:
    """A block without what it costs."""
    parameter = use.parameter if isinstance(use.parameter, Parameter) else None
    weights = np.ravel(use.weight.log) / _LOG10
    return BlockCost(
        use.name,
        parameter.shape if parameter else None,
        str(parameter.constraint) if parameter else "",
        use.count,
        (float(weights.min()), float(weights.max())),
    )


def lipschitz_budget(capacity: Capacity) -> dict[str, float]:
    """log₁₀ of the product of the Lipschitz constants above 1, by kind of node."""
    logs: dict[str, float] = {}
    for node, facts in _leaves(capacity.network, capacity.signal):
        kind = type(node).__name__
        part = max(float(np.max(facts.lipschitz.log)), 0.0) / _LOG10
        logs[kind] = logs.get(kind, 0.0) + part
    return logs


def culprit(capacity: Capacity) -> str:
    """Who makes the bound large: the costliest block, and the steepest kind of node."""
    rows = capacity.shares[0]
    top = max(rows, key=lambda row: row.share)
    text = f"{top.name} holds {top.share:.0%} of the entropy"
    if top.share == 0 and any(row.cover == "peeled" for row in rows):
        text = "no block holds entropy: the readout is peeled, and its norm is all that costs"
    logs = lipschitz_budget(capacity)
    if sum(logs.values()) > 3:
        kind = max(logs, key=lambda name: logs[name])
        text += (
            f"; Lipschitz constants multiply to 10^{sum(logs.values()):.0f}, "
            f"10^{logs[kind]:.0f} of it in {kind}"
        )
    return text


def _leaves(node: Node, signal: Signal) -> Iterator[tuple[Node, Facts]]:
    """Every leaf node with its facts where it stands, through the network; of equal heads one."""
    inside = {(part.prefix, part.layer): (part.node, into) for part, into in entering(node, signal)}
    if not inside:
        yield node, node.facts(signal)
    for child, into in inside.values():
        yield from _leaves(child, into)


@dataclass(frozen=True)
class Branch:
    """A node of the network where it stands: its facts, the blocks it holds, what is inside it."""

    label: str  # such as "12 × "
    kind: str
    radius: tuple[str, str]
    lipschitz: str
    rows: tuple[BlockCost, ...]
    inside: tuple[Branch, ...]

    def __str__(self) -> str:
        into, out = self.radius
        return f"{self.label}{self.kind}   radius {into} → {out},  Lipschitz {self.lipschitz}"


def branches(capacity: Capacity) -> Branch:
    """The network as a tree, each block with its share."""
    by_name = {row.block: row for row in capacity.shares[0]}
    return _branch(capacity.network, capacity.signal, by_name, "", "")


def shared(capacity: Capacity) -> list[BlockCost]:
    """Blocks that several nodes use: they stand in no branch."""
    ties = {use.tie for use in capacity.facts.uses} - {None}
    return [row for row in capacity.shares[0] if row.block in ties]


def tree(capacity: Capacity) -> str:
    """The tree as text."""
    _, log_ε, log_n = capacity.shares
    head = f"shares of the entropy at ε = {power(log_ε)}, n = {power(log_n)}"
    lines = [f"{head} (the costliest link of the chain)"]
    lines += [f"({note})" for note in [moved(capacity, log_n)] if note]
    lines += _lines(branches(capacity), "", True)
    lines += [f"shared: {row}" for row in shared(capacity)]
    return "\n".join([*lines, f"culprit: {culprit(capacity)}"])


def _branch(
    node: Node, signal: Signal, by_name: dict[str, BlockCost], prefix: str, label: str
) -> Branch:
    facts = node.facts(signal)
    radius = power(signal.radius.log), power(facts.out.radius.log)
    inside: dict[str, Branch] = {}
    names_inside: set[str] = set()
    for part, into in entering(node, signal):
        if part.prefix not in inside:  # layers and heads alike stand there once
            inside[part.prefix] = _branch(
                part.node, into, by_name, prefix + part.prefix, node.introduction()
            )
            names_inside |= {part.prefix + use.name for use in part.node.facts(into).uses}
    names = [prefix + use.name for use in facts.uses if use.name not in names_inside]
    rows = tuple(by_name[name] for name in names if name in by_name)
    kind, lipschitz = type(node).__name__, power(facts.lipschitz.log)
    return Branch(label, kind, radius, lipschitz, rows, tuple(inside.values()))


def _lines(branch: Branch, indent: str, last: bool) -> Iterator[str]:
    yield f"{indent}{'└─ ' if last else '├─ '}{branch}"
    below = indent + ("   " if last else "│  ")
    for i, inner in enumerate(branch.inside, 1):
        yield from _lines(inner, below, i == len(branch.inside))
    for i, row in enumerate(branch.rows, 1):
        yield f"{below}{'└─ ' if i == len(branch.rows) else '├─ '}{row}"
