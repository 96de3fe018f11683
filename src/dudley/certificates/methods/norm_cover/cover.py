"""log N of a network at one resolution, by covers that serve every input.

The entropy is that of :func:`dudley.networks.capacity.capacity`, asked without a number of
examples, so that only covers of uniform scope answer; a block without one is refused. Its split of
ε between blocks is then improved by moving budget between pairs of blocks: every feasible split is
valid.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from dudley.calculus.allocate import WeightBlock
from dudley.classes.best import BestOf
from dudley.core.entropy import Scope
from dudley.core.errors import InputError
from dudley.core.rounding import down, up
from dudley.networks.capacity import Capacity

_ROOM = 1 - 1e-8  # of a split that spends its budget, for rounding
_FEW = 12  # blocks, up to which budget is moved between pairs
_SHARES = np.concatenate([np.geomspace(1e-3, 0.05, 40), np.linspace(0.05, 1, 192)[1:-1]])


@dataclass(frozen=True)
class BlockCover:
    """The cover of one block: its size, its resolution, and which of the covers it is."""

    block: str
    log_size: float
    resolution: float
    cover: str


@dataclass(frozen=True)
class Covered:
    """log N, from above, and each block's part of it."""

    log_size: float
    blocks: tuple[BlockCover, ...]


def expect_uniform(capacity: Capacity) -> None:
    """Refuse a capacity that knows n, and blocks that only a sample-dependent cover serves."""
    if capacity.n is not None:
        raise InputError(
            "cover", "one for every input, so a capacity without n", f"n = {capacity.n}"
        )
    for block in capacity.allocated.blocks:
        entropy = block.entropy
        serves = not entropy.uses_points
        if isinstance(entropy, BestOf):
            serves = any(c.scope is Scope.UNIFORM for c in entropy.covers)
        if not serves:
            raise InputError(
                f"cover of {block.name}", "one for every input", "covers of the sample's points"
            )


def cover_of(capacity: Capacity, ε: float) -> Covered:
    """A cover of the network at sup-norm resolution ε over all inputs."""
    expect_uniform(capacity)
    blocks = capacity.allocated.blocks
    total = float(capacity.allocated(ε))
    if not math.isfinite(total):
        return Covered(math.inf, ())
    split = capacity.allocated.split(math.log(ε))
    if len(blocks) > _FEW or any(b.copies * b.log_reach.size > 1 for b in blocks):
        return Covered(total, ())
    parts = [
        float(down(_ROOM * math.exp(min(b.entropy.log_radius + float(x[0]), 700.0)), 1 << 12))
        for b, (x, _) in zip(blocks, split, strict=True)
    ]
    sizes = [float(_entropy(b, np.array([e]))[0]) for b, e in zip(blocks, parts, strict=True)]
    parts, sizes = _improve(blocks, parts, sizes, ε)
    split_anew = float(up(math.fsum(sizes), 64))
    covers = tuple(_block_cover(b, e, H) for b, e, H in zip(blocks, parts, sizes, strict=True))
    return Covered(min(split_anew, total), covers)


def _entropy(block: WeightBlock, ε: np.ndarray) -> np.ndarray:
    """log N of a block's map at each ε; 0 where the block does not matter."""
    if float(block.log_reach[0]) == -math.inf:
        return np.zeros(len(ε))
    return np.asarray(block.entropy(ε))


def _weight(block: WeightBlock) -> float:
    return float(up(math.exp(float(np.ravel(block.weight.log)[0])), 1 << 12))


def _improve(blocks, parts, sizes, ε):
    """Two sweeps over the pairs of blocks: what both may spend is split anew."""
    weights = [_weight(b) for b in blocks]
    live = [i for i, b in enumerate(blocks) if float(b.log_reach[0]) > -math.inf]
    parts, sizes, budget = list(parts), list(sizes), ε * (1 - 1e-9)

    def spent(*without) -> float:
        return math.fsum(weights[i] * parts[i] for i in live if i not in without)

    if spent() > budget:
        return parts, [math.inf] * len(sizes)
    if len(live) == 1:
        (i,) = live
        parts[i] = budget / weights[i]
        sizes[i] = float(_entropy(blocks[i], np.array([parts[i]]))[0])
    for _ in range(2):
        for i, j in itertools.combinations(live, 2):
            free = budget - spent(i, j)
            ε_i = _SHARES * free / weights[i]
            ε_j = np.maximum((free - weights[i] * ε_i) * (1 - 1e-12) / weights[j], 1e-300)
            H_i, H_j = _entropy(blocks[i], ε_i), _entropy(blocks[j], ε_j)
            k = int(np.argmin(H_i + H_j))
            if H_i[k] + H_j[k] < sizes[i] + sizes[j]:
                parts[i], parts[j] = float(ε_i[k]), float(ε_j[k])
                sizes[i], sizes[j] = float(H_i[k]), float(H_j[k])
    return parts, sizes


def _block_cover(block: WeightBlock, ε: float, H: float) -> BlockCover:
    entropy = block.entropy
    cover = "one point" if H == 0 else "its own"
    if H > 0 and isinstance(entropy, BestOf):
        cover = entropy.winner(math.log(ε))
    return BlockCover(block.name, H, ε, cover)
