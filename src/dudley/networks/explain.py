"""Explain: the network as a tree, and what each block costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dudley.calculus import chain
from dudley.calculus.compose import (
    Chain,
    Heads,
    Node,
    Parallel,
    Parameter,
    Repeat,
    Residual,
    tie_together,
)
from dudley.classes.best import BestOf

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity


def power(log_x: float) -> str:
    """A magnitude for people: 0.25, 1.3e+04, or 10^1203 past the floats."""
    log10 = log_x / math.log(10)
    if log10 == -math.inf:
        return "0"
    return f"{10**log10:.3g}" if abs(log10) < 30 else f"10^{log10:.0f}"


def dominant_scale(capacity: Capacity) -> tuple[float, float]:
    """log ε of the costliest link of the best chain, and log n at which it was found.

    Where the bound is trivial at the given n, the number of examples needed for half of it.
    """
    n = capacity.n
    if (
        n is None
        or float(capacity._gap_values(np.log([n]), 0.05, 0.0)[2][0]) >= capacity.loss.range
    ):
        log_n = capacity.log10_needed_n(capacity.loss.range / 2) * math.log(10)
    else:
        log_n = math.log(n)
    if not math.isfinite(log_n):
        return capacity.loss_class[1] - math.log(2), 0.0
    entropy, log_A = capacity.loss_class
    grid = chain.scales(log_n)
    log_H = chain.entropies(entropy, log_A, np.array([log_n]), grid)
    links = chain.best_chain(log_H, log_n, grid, proper=False)
    if not links:
        return log_A - math.log(2), log_n
    return log_A + max(links, key=lambda link: link[1])[0], log_n


def shares(capacity: Capacity) -> tuple[list[dict], float, float]:
    """For each block: weight, share of the entropy and winning cover, at the dominant scale."""
    log_ε, log_n = dominant_scale(capacity)
    entropy, _ = capacity.loss_class
    split = entropy.split(log_ε, log_n)
    total = float(np.ravel(entropy.log_log(log_ε, log_n))[0])
    rounded = entropy.rounded(log_n)
    rows = []
    for use, block, (log_x, log_H) in zip(
        tie_together(capacity.facts.uses), entropy.blocks, split, strict=True
    ):
        worst = int(np.argmax(log_H))
        cost = np.exp(np.minimum(log_H - total, 700.0)) * block.copies
        cover = "one point"
        if isinstance(block.entropy, BestOf) and np.isfinite(log_H[worst]):
            cover = block.entropy.winner(block.entropy.log_radius + log_x[worst], rounded)
        elif np.isfinite(log_H[worst]):
            cover = "given"
        weights = np.ravel(use.weight.log)
        shape = use.parameter.shape if isinstance(use.parameter, Parameter) else None
        rows.append(
            {
                "block": use.name,
                "shape": shape,
                "constraint": str(use.parameter.constraint)
                if isinstance(use.parameter, Parameter)
                else "",
                "count": use.count,
                "log10_weight": (
                    float(weights.min() / math.log(10)),
                    float(weights.max() / math.log(10)),
                ),
                "share": float(cost.sum()),
                "cover": cover,
                "worst_layer": worst + 1 if log_H.size > 1 else None,
            }
        )
    return rows, log_ε, log_n


def culprit(capacity: Capacity) -> str:
    """What makes the bound large: the kind of node that contributes most to the Lipschitz product."""
    logs: dict[str, float] = {}
    for node, facts, times in _leaves(capacity.network, capacity.inputs, capacity):
        logs[type(node).__name__] = logs.get(type(node).__name__, 0.0) + times * max(
            float(np.max(facts.lipschitz.log)), 0.0
        )
    rows, _, _ = shares(capacity)
    top = max(rows, key=lambda row: row["share"])
    text = f"{top['block']} holds {top['share']:.0%} of the entropy"
    name = max(logs, key=lambda kind: logs[kind], default=None)
    if name and logs[name] > math.log(10):
        text += (
            f"; the Lipschitz constants multiply to 10^{sum(logs.values()) / math.log(10):.0f}, "
            f"10^{logs[name] / math.log(10):.0f} of it from {name}"
        )
    return text


def _leaves(network: Node, inputs, capacity):
    """(leaf node, facts at its input, how often it is repeated) through the network."""
    from dudley.networks.capacity import input_width

    def walk(node, signal, times):
        if isinstance(node, Chain):
            for child in node.nodes:
                yield from walk(child, signal, times)
                signal = child.facts(signal).out
        elif isinstance(node, Residual | Heads | Repeat):
            more = node.L if isinstance(node, Repeat) else 1
            yield from walk(node.inner, signal, times * more)
        elif isinstance(node, Parallel):
            for child in node.nodes:
                yield from walk(child, signal, times)
        else:
            yield node, node.facts(signal), times

    d = input_width(network) or inputs.d
    yield from walk(network, inputs.signal(d), 1)


def tree(capacity: Capacity, delta: float) -> str:
    """The tree as text."""
    rows, log_ε, log_n = shares(capacity)
    by_name = {row["block"]: row for row in rows}
    lines = [
        f"shares of the entropy at ε = {power(log_ε)}, n = {power(log_n)} (the costliest link of the chain)"
    ]

    def show(node: Node, signal, prefix: str, indent: str, label: str, last: bool):
        facts = node.facts(signal)
        branch = "└─ " if last else "├─ "
        lines.append(
            f"{indent}{branch}{label}{type(node).__name__}   radius {power(float(np.max(signal.radius.log)))}"
            f" → {power(float(np.max(facts.out.radius.log)))},  Lipschitz {power(float(np.max(facts.lipschitz.log)))}"
        )
        below = indent + ("   " if last else "│  ")
        parts = _parts(node)
        if parts:
            for i, (name, child, text) in enumerate(parts):
                show(child, signal, f"{prefix}{name}", below, text, i == len(parts) - 1)
                if isinstance(node, Chain):
                    signal = child.facts(signal).out
            return
        own = [by_name[prefix + u.name] for u in facts.uses if prefix + u.name in by_name]
        for i, row in enumerate(own):
            lines.append(below + ("└─ " if i == len(own) - 1 else "├─ ") + describe(row))

    from dudley.networks.capacity import input_width

    d = input_width(capacity.network) or capacity.inputs.d
    assert d is not None
    show(capacity.network, capacity.inputs.signal(d), "", "", "", True)
    tied = [row for row in rows if "." not in row["block"] and row["block"] not in ("W", "w")]
    lines += [f"shared  {describe(row)}" for row in tied]
    lines.append(f"culprit: {culprit(capacity)}")
    return "\n".join(lines)


def _parts(node: Node) -> list[tuple[str, Node, str]]:
    if isinstance(node, Chain | Parallel):
        return [(f"{i}.", child, "") for i, child in enumerate(node.nodes)]
    if isinstance(node, Repeat):
        return [("*.", node.inner, f"{node.L} × ")]
    if isinstance(node, Heads):
        return [("", node.inner, f"{node.H} heads × ")]
    if isinstance(node, Residual):
        return [("", node.inner, "+ ")]
    return []


def describe(row: dict) -> str:
    """One block in one line."""
    name = row["block"].rpartition(".")[2]
    size = f"{row['shape'][0]}×{row['shape'][1]}" if row["shape"] else ""
    low, high = row["log10_weight"]
    weight = power(high * math.log(10))
    if high - low > 0.01:
        weight = f"{power(low * math.log(10))} … {weight}"
    times = f" ×{row['count']}" if row["count"] > 1 else ""
    return (
        f"{name:<5} {size}{times}  {row['constraint']}   weight {weight}   "
        f"share {row['share']:.1%}   {row['cover']}"
    )
