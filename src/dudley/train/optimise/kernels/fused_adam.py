"""Adam and AdamW of E members, clipped or not, as three Triton kernels.

With g the gradient of one member, over all its weights, c = min(1, limit/(‖g‖ + 10⁻⁶)) or 1
without a limit, and t the member's own number of steps, every entry of it takes the step of `adam`:

    g ← c g  (Adam: + λW)      m ← m + (1−β₁)(g − m)        v ← β₂v + (1−β₂)g²
    W ← (AdamW: 1 − rate · λ) W − rate/(1−β₁ᵗ) · m / (√v/√(1−β₂ᵗ) + eps)

λ is 0 where a weight does not decay. By torch's operations that is some twenty passes over the
weights; here it is one over the gradients for their squares, and one in which W, g, m, v are read
once and W, m, v are written once. Gradients are read where autograd left them, weight by weight:
nothing lays them side by side.

A program owns one block of one weight of one member, and a table says which. The sum of squares of
a block goes to a place of its own, and these are added up in the order of the blocks: the same bits
every run, whoever the neighbours are. Of a member that is not alive nothing is read or written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import triton
import triton.language as tl

from dudley.core.backend import torch
from dudley.train.flat import DECAYS, groups
from dudley.train.optimise.adam import Adam, AdamW
from dudley.train.optimise.clip import SMALL

BLOCK, WARPS = 1024, 4  # entries of a program, and its warps
LANES = 128  # blocks whose squares are added at a time
FIELDS = tl.constexpr(8)  # numbers in a row of the table of blocks, see `_table`
NUMBERS = tl.constexpr(4)  # of a member: c, rate/(1−β₁ᵗ), √(1−β₂ᵗ), 1 − rate · λ


@triton.jit
def _one_of(pointers, which, COUNT: tl.constexpr):
    """Number ``which`` of some pointers."""
    chosen = pointers[0]
    for k in tl.static_range(1, COUNT):
        chosen = tl.where(which == k, pointers[k], chosen)
    return chosen


@triton.jit
def _gradient(gradients, row, e, alive, BLOCK: tl.constexpr, EVEN: tl.constexpr, G: tl.constexpr):
    """A block of a gradient, where its entries stand in the weight, and which there are."""
    size = tl.multiple_of(tl.load(row + 2), EVEN)
    i = tl.load(row + 1) * BLOCK + tl.arange(0, BLOCK)
    inside = i < size
    if alive is not None:
        inside = i < size * tl.load(alive + e).to(tl.int32)
    pointer = _one_of(gradients, tl.load(row), G)
    return tl.load(pointer + e * size + i, mask=inside, other=0.0), i, inside


@triton.jit
def _kernel_squares(
    gradients, blocks, alive, sums, count,
    BLOCK: tl.constexpr, EVEN: tl.constexpr, G: tl.constexpr,
):  # fmt: skip
    e, b = (tl.program_id(0) // count).to(tl.int64), tl.program_id(0) % count
    g, _, _ = _gradient(gradients, blocks + b * FIELDS, e, alive, BLOCK, EVEN, G)
    tl.store(sums + e * count + b, tl.sum(g * g, 0))


@triton.jit
def _kernel_numbers(
    sums, rate, steps, numbers, count, limit, small, log_first, log_second, decay,
    CLIPS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    e, lane = tl.program_id(0).to(tl.int64), tl.arange(0, LANES)
    clip = 1.0
    if CLIPS:
        squares = tl.zeros((LANES,), tl.float32)
        for first in range(0, count, LANES):
            b = first + lane
            squares += tl.load(sums + e * count + b, mask=b < count, other=0.0)
        clip = limit / (tl.sqrt(tl.sum(squares, 0)) + small)
        clip = tl.where(clip > 1.0, 1.0, clip)  # what is no number stays none
    # 1 − βᵗ in float64: near 1 a float32 has lost it.
    at, t = tl.load(rate + e), tl.load(steps + e).to(tl.float64)
    row = numbers + e * NUMBERS
    tl.store(row, clip)
    tl.store(row + 1, (at / (1.0 - tl.exp(t * log_first))).to(tl.float32))
    tl.store(row + 2, tl.sqrt(1.0 - tl.exp(t * log_second)).to(tl.float32))
    tl.store(row + 3, (1.0 - at * decay).to(tl.float32))


@triton.jit
def _kernel_move(
    gradients, weights, firsts, seconds, blocks, numbers, alive, count,
    new_first, keep_second, new_second, eps, decay,
    BLOCK: tl.constexpr, EVEN: tl.constexpr, G: tl.constexpr, F: tl.constexpr,
    PENALTY: tl.constexpr,
):  # fmt: skip
    e, b = (tl.program_id(0) // count).to(tl.int64), tl.program_id(0) % count
    row = blocks + b * FIELDS
    g, i, inside = _gradient(gradients, row, e, alive, BLOCK, EVEN, G)
    flat, decays = tl.load(row + 3), tl.load(row + 6)
    start, N = tl.multiple_of(tl.load(row + 4), EVEN), tl.multiple_of(tl.load(row + 5), EVEN)
    at = e * N + start + i
    W_at, m_at = _one_of(weights, flat, F) + at, _one_of(firsts, flat, F) + at
    v_at = _one_of(seconds, flat, F) + at
    W = tl.load(W_at, mask=inside, other=0.0)
    m = tl.load(m_at, mask=inside, other=0.0)
    v = tl.load(v_at, mask=inside, other=0.0)
    number = numbers + e * NUMBERS
    clip, size, root = tl.load(number), tl.load(number + 1), tl.load(number + 2)
    g *= clip
    if PENALTY:
        g += tl.where(decays != 0, decay, 0.0) * W
    else:
        W *= tl.where(decays != 0, tl.load(number + 3), 1.0)
    m += new_first * (g - m)
    v = keep_second * v + new_second * g * g
    W -= size * (m / (tl.sqrt(v) / root + eps))
    tl.store(W_at, W, mask=inside)
    tl.store(m_at, m, mask=inside)
    tl.store(v_at, v, mask=inside)


class FusedAdam:
    """The update of some weights that lie in rows (`flat`), laid out once: it can be recorded."""

    def __init__(
        self,
        rule: Adam | AdamW,
        limit: float | None,
        weights: Mapping[str, torch.Tensor],
        decayed: Mapping[str, bool],
    ):
        """``weights``: E times float32, by name; ``limit``: of a gradient's norm, or None."""
        self.rule, self.limit, self.like = rule, limit, dict(weights)
        first = next(iter(weights.values()))
        self.flats = list(groups(weights, decayed))
        rows = _table(weights, decayed)
        sizes = [W[0].numel() for W in weights.values()]
        self.even = 4 if all(size % 4 == 0 for size in sizes) else 1  # entries read at a time
        self.blocks = torch.tensor(rows, dtype=torch.int32, device=first.device)
        self.sums = torch.empty(len(first), len(rows), device=first.device)
        self.numbers = torch.empty(len(first), NUMBERS.value, device=first.device)

    @torch.no_grad()
    def update(
        self,
        flats: Mapping[str, torch.Tensor],
        grads: Sequence[torch.Tensor | None],
        state: Mapping[str, torch.Tensor],
        rate: torch.Tensor,
        alive: torch.Tensor | None,
    ) -> None:
        """As `Optimiser.update` of the rows, from the gradients of the weights by their order.

        A weight without a gradient has a gradient of zeros.
        """
        rule, (E, count) = self.rule, self.sums.shape
        state["step"].add_(1 if alive is None else alive)
        gradients = tuple(
            (torch.zeros_like(W) if G is None else G).contiguous()
            for W, G in zip(self.like.values(), grads, strict=True)
        )
        cut = {"BLOCK": BLOCK, "EVEN": self.even, "G": len(gradients), "num_warps": WARPS}
        if self.limit is not None:
            _kernel_squares[(E * count,)](gradients, self.blocks, alive, self.sums, count, **cut)
        (β1, β2), logs = rule.betas, [math.log(β) if β else -math.inf for β in rule.betas]
        _kernel_numbers[(E,)](
            self.sums, rate.double(), state["step"], self.numbers, count,
            float(self.limit or 0), SMALL, *logs, float(rule.weight_decay),
            CLIPS=self.limit is not None, LANES=LANES, num_warps=1,
        )  # fmt: skip
        rows = (
            tuple(names[f"{slot}{flat}"] for flat in self.flats)
            for names, slot in ((flats, ""), (state, "first."), (state, "second."))
        )
        _kernel_move[(E * count,)](
            gradients, *rows, self.blocks, self.numbers, alive, count,
            *(float(x) for x in (1 - β1, β2, 1 - β2, rule.eps, rule.weight_decay)),
            F=len(self.flats), PENALTY=isinstance(rule, Adam), **cut,
        )  # fmt: skip


def _table(
    weights: Mapping[str, torch.Tensor], decayed: Mapping[str, bool]
) -> list[tuple[int, ...]]:
    """A row for each block: number of the weight, of the block in it, size of the weight, row that
    it lies in, where in the row it starts, size of the row, does it decay, and 0."""
    rows, order = [], list(weights)
    for flat, (kind, names) in enumerate(groups(weights, decayed).items()):
        sizes = [weights[name][0].numel() for name in names]
        start, N = 0, sum(sizes)
        for name, size in zip(names, sizes, strict=True):
            rows += [
                (order.index(name), part, size, flat, start, N, int(DECAYS[kind]), 0)
                for part in range(triton.cdiv(size, BLOCK))
            ]
            start += size
    return rows
