"""Training for a code word around a start: quantised while it is trained, on any device.

What moves are real numbers z: D hashed coordinates (`around.hashed`), factors A and B of every
matrix, or every weight of a small part. First z is free; then each group of z gets a step such that
most of it lies within the grid, and z is rounded in every forward pass while gradients pass
straight through (Bengio, Léonard, Courville 2013). The grid points that training goes through are
written as words and counted on a part of the training examples; the best few are counted on all of
them, and the one with the least bound is given, the start itself (two bits) among them.

Nothing here needs to be paid for but the word: the bound holds for all words at once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.certificates.around.coded import CodedAround
from dudley.certificates.around.flat import FlatAround
from dudley.certificates.around.hashed import HashedPoint, hashes
from dudley.certificates.around.words import WordSpace
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.codes.kinds.low_rank import Product
from dudley.certificates.codes.kinds.sparse import SparsePart
from dudley.certificates.data import Dataset
from dudley.certificates.fit.quantised import relaxed_bound
from dudley.certificates.predictor import failures
from dudley.core.backend import torch
from dudley.core.errors import DudleyError, InputError
from dudley.core.watch import Watch

FINAL = 3  # words that are counted on all examples
FASTEST = 0.1  # of a level, in a step of Adam once z is rounded


@dataclass(frozen=True)
class WordTraining:
    """One training of a word: its kind, what moves, and how.

    ``rate`` is Adam's, for z in units of c·√(weights a coordinate) or of c. ``penalty`` weighs Σ|z|
    of sparse words.
    """

    kind: str = "hashed"
    part: str = "*"
    D: int = 100
    L: int = 7
    rank: int = 1
    steps: int = 600
    batch: int = 64
    rate: float = 0.2
    penalty: float = 0.0
    looks: int = 12
    counted: int = 2000  # examples on which words are compared
    seed: int = 0

    def __post_init__(self):
        if self.kind not in MOVERS:
            raise InputError("kind of a word", ", ".join(MOVERS), self.kind)
        for name in ("D", "rank", "steps", "batch", "rate", "looks", "counted"):
            if not getattr(self, name) > 0:
                raise InputError(name, "a number > 0", getattr(self, name))
        if self.L < 3 or not self.L % 2:
            raise InputError("L", "an odd number ≥ 3", self.L)


class Mover(ABC):
    """Abstract: real numbers z in groups, the difference they make, and its description."""

    def __init__(self, flat: FlatAround, space: WordSpace, plan: WordTraining):
        self.flat, self.space, self.plan = flat, space, plan
        self.c = flat.spread(space.scales).float()
        self.source = torch.Generator().manual_seed(plan.seed)
        self.z: list[torch.Tensor] = []
        self.steps: list[float] | None = None

    @property
    def units(self) -> list[float]:
        """How far z moves when it counts one step, in units of what it was at first."""
        assert self.steps is not None
        return self.steps

    @property
    def q(self) -> int:
        """The largest level."""
        return self.plan.L // 2

    def quantise(self) -> None:
        """From now on z counts steps: most of each group lies within the grid."""
        steps = []
        with torch.no_grad():
            for z in self.z:
                size = float(z.abs().float().quantile(0.95)) if z.numel() < 1 << 24 else 1.0
                steps.append(_dyadic(max(size, 1e-6) / self.q))
                z /= steps[-1]
        self.steps = steps

    def values(self) -> list[torch.Tensor]:
        """z, or the grid points next to it with the gradient of z, in units of c."""
        if self.steps is None:
            return list(self.z)
        return [
            step * (z + (z.round().clamp(-self.q, self.q) - z).detach())
            for z, step in zip(self.z, self.steps, strict=True)
        ]

    def levels(self) -> list[np.ndarray]:
        """The grid points as integers."""
        grid = [z.detach().round().clamp(-self.q, self.q) for z in self.z]
        return [N.cpu().numpy().astype(np.int64) for N in grid]

    @abstractmethod
    def moved(self) -> torch.Tensor:
        """θ as one vector."""

    @abstractmethod
    def description(self) -> Any:
        """What the word says of the grid point."""


class HashedMover(Mover):
    """D coordinates; the backward pass sums the weights of each in a fixed order."""

    def __init__(self, flat: FlatAround, space: WordSpace, plan: WordTraining):
        super().__init__(flat, space, plan)
        pairs = [
            hashes(space.seed, n, p, plan.D) for n, p in zip(flat.names, flat.sizes, strict=True)
        ]
        place = torch.from_numpy(np.concatenate([place for place, _ in pairs])).long()
        sign = torch.from_numpy(np.concatenate([sign for _, sign in pairs]))
        self.width = math.sqrt(len(place) / plan.D)  # z is in units of c/width
        self.place = place.to(flat.device)
        self.signed = sign.to(flat.device).float() * self.c
        self.members = _members(place, plan.D).to(flat.device)
        self.z = [torch.zeros(plan.D, device=flat.device, requires_grad=True)]

    def moved(self) -> torch.Tensor:
        ℓ = self.values()[0] / (self.width if self.steps is None else 1.0)
        return self.flat.origin + self.signed * _Gather.apply(ℓ, self.place, self.members)

    @property
    def units(self) -> list[float]:
        assert self.steps is not None
        return [step * self.width for step in self.steps]

    def quantise(self) -> None:
        with torch.no_grad():
            self.z[0] /= self.width
        super().quantise()

    def description(self) -> HashedPoint:
        assert self.steps is not None
        return HashedPoint(self.plan.D, self.plan.L, self.steps[0], self.levels()[0])


class SparseMover(Mover):
    """Every weight of the part."""

    def __init__(self, flat: FlatAround, space: WordSpace, plan: WordTraining):
        super().__init__(flat, space, plan)
        space.frame("sparse", plan.part)  # refuses what is too large
        self.z = [torch.zeros(p, device=flat.device, requires_grad=True) for p in flat.sizes]

    def moved(self) -> torch.Tensor:
        return self.flat.origin + self.c * torch.cat(self.values())

    def description(self) -> tuple[SparsePart, ...]:
        assert self.steps is not None
        shapes = dict(self.space.frame("sparse", self.plan.part).shapes)
        return tuple(
            SparsePart("plain", step, N.reshape(shapes[name]))
            for name, N, step in zip(self.flat.names, self.levels(), self.steps, strict=True)
        )


class LowRankMover(Mover):
    """Factors A and B of every matrix; A starts at ±1 of a generator, B at 0 (Hu et al. 2021)."""

    def __init__(self, flat: FlatAround, space: WordSpace, plan: WordTraining):
        super().__init__(flat, space, plan)
        self.shapes = dict(space.frame("low-rank", plan.part).shapes)
        for m, n in self.shapes.values():
            r = min(plan.rank, m, n)
            A = 2.0 * torch.randint(2, (m, r), generator=self.source) - 1
            B = torch.zeros(r, n)
            self.z += [W.to(flat.device).requires_grad_() for W in (A, B)]

    def moved(self) -> torch.Tensor:
        values, parts, place = self.values(), [], 0
        for name, p in zip(self.flat.names, self.flat.sizes, strict=True):
            if name in self.shapes:
                A, B = values[2 * place : 2 * place + 2]
                parts.append((A @ B).reshape(-1))
                place += 1
            else:
                parts.append(torch.zeros(p, device=self.flat.device))
        return self.flat.origin + self.c * torch.cat(parts)

    def description(self) -> list[Product]:
        assert self.steps is not None
        levels, made = self.levels(), []
        for place in range(len(self.shapes)):
            A, B = levels[2 * place], levels[2 * place + 1]
            step = self.steps[2 * place] * self.steps[2 * place + 1]
            moves = A.any() and B.any()
            A, B = (A, B) if moves else (A[:, :0], B[:0])
            made.append(Product(step if moves else 1.0, A, B))
        return made


MOVERS: dict[str, type[Mover]] = {
    "hashed": HashedMover,
    "sparse": SparseMover,
    "low-rank": LowRankMover,
}


def fit_words(
    space: WordSpace,
    counted: Dataset,
    plans: tuple[WordTraining, ...],
    delta: float = 0.05,
    tolerance: float = 0.0,
    watch: Watch | None = None,
) -> CodedAround:
    """The model whose word has the least bound on the counted examples, of all that are tried."""
    watch = watch or Watch()
    watch.begin("words around the start")
    tried: list[tuple[float, CodeWord]] = []
    for plan in plans:
        what = f"{plan.kind} word, D = {plan.D}, L = {plan.L}"
        tried += (
            watch.do(what, lambda plan=plan: _train(space, counted, plan, delta, tolerance, watch))
            or []
        )
    tried.sort(key=lambda pair: (pair[0], pair[1].length))
    best, least = CodedAround(space, space.write("start")), math.inf
    for model in (best, *(CodedAround(space, word) for _, word in tried[:FINAL])):
        share = float(failures(model.outputs(counted.X), counted.y, tolerance).mean())
        value = relaxed_bound(share, model.word.length, counted.n, delta)
        watch.say(f"{model.word.length} bits, {share:.4f} fail: about {value:.4g}")
        if value < least:
            best, least = model, value
    return best


def _train(
    space: WordSpace,
    counted: Dataset,
    plan: WordTraining,
    delta: float,
    tolerance: float,
    watch: Watch,
) -> list[tuple[float, CodeWord]]:
    """The words that a training goes through, with their bounds on some of the examples."""
    if plan.kind == "hashed" and (plan.D not in space.dimensions or plan.L not in space.levels):
        expected = "entries of the declared dimensions and levels"
        raise InputError("D and L", expected, (plan.D, plan.L))
    flat = FlatAround(space.start, space.start.names(plan.part), counted.X, counted.y)
    mover = MOVERS[plan.kind](flat, space, plan)
    source = torch.Generator().manual_seed(plan.seed + 1)
    few = torch.randperm(flat.n, generator=source)[: plan.counted].to(flat.device)
    rates, words = [plan.rate] * len(mover.z), []
    optimiser = _adam(mover.z, rates)
    for step in range(plan.steps):
        watch.look()
        if step == plan.steps // 2:
            mover.quantise()
            rates = [min(plan.rate / unit, FASTEST) for unit in mover.units]
            optimiser = _adam(mover.z, rates)
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            group["lr"] = rate * min(1.0, 4 * (1 - step / plan.steps))
        loss = flat.loss(mover.moved(), flat.draw(plan.batch, source))
        if plan.penalty:
            loss = loss + plan.penalty * torch.stack([v.abs().sum() for v in mover.values()]).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        every = max(1, plan.steps // (2 * plan.looks))
        if mover.steps is not None and ((step + 1) % every == 0 or step + 1 == plan.steps):
            try:
                word = space.write(plan.kind, plan.part, mover.description())
            except DudleyError:  # beyond the ranges that the kind can write
                continue
            θ = mover.moved().detach()
            share = flat.failing(θ, few, tolerance) / len(few)
            words.append((relaxed_bound(share, word.length, counted.n, delta), word))
            watch.say(f"step {step + 1}: {word.length} bits, {share:.4f} fail")
    return words


def _adam(z: list[torch.Tensor], rates: list[float]) -> torch.optim.Adam:
    groups = [{"params": [group], "lr": rate} for group, rate in zip(z, rates, strict=True)]
    return torch.optim.Adam(groups, betas=(0.9, 0.99))


class _Gather(torch.autograd.Function):
    """ℓ at the place of every weight; its gradient sums the members of each place."""

    @staticmethod
    def forward(ctx, ℓ, place, members):
        ctx.save_for_backward(members)
        return ℓ[place]

    @staticmethod
    def backward(ctx, gradient):  # pyright: ignore[reportIncompatibleMethodOverride]
        (members,) = ctx.saved_tensors
        padded = torch.cat([gradient, gradient.new_zeros(1)])
        return padded[members].sum(1), None, None


def _members(place: torch.Tensor, D: int) -> torch.Tensor:
    """(D, most members of one): the weights of each place, filled up with the number of weights."""
    order, counts = torch.argsort(place, stable=True), torch.bincount(place, minlength=D)
    members = torch.full((D, int(counts.max())), len(place))
    first = torch.cumsum(counts, 0) - counts
    rank = torch.arange(len(place)) - first[place[order]]
    members[place[order], rank] = order
    return members


def _dyadic(x: float) -> float:
    """x with three binary digits."""
    m, e = math.frexp(max(x, 2.0**-40))
    return math.ldexp(round(m * 8), e - 3)
