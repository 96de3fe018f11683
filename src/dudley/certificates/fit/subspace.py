"""Training for the subspace code: a point of a random subspace, quantised while it is trained.

θ = θ₀ + step·c ⊙ (P ℓ) (`codes.subspace`). First ℓ is free and real; then step is set so that most
of it lies within the grid, and ℓ is rounded in every forward pass while gradients pass straight
through (Bengio, Léonard, Courville 2013). The rounded point that errs least on training data is
kept, and then polished coordinate by coordinate on the bound itself: fewer errors, or fewer bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dudley.certificates.base import METHODS
from dudley.certificates.codes.base import Frame, write
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.codes.kinds.subspace import Map, Subspace, SubspacePoint, maps
from dudley.certificates.data import Dataset
from dudley.certificates.fit.forward import FitExamples, blank
from dudley.certificates.fit.quantised import relaxed_bound
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.occam.method import checked_frame
from dudley.core.backend import torch
from dudley.core.errors import InputError

LOOKS = 25  # steps between two looks at the errors


def fit_subspace(
    tables: dict[str, Any],
    encoding: dict[str, Any],
    data: Dataset,
    D: int | Sequence[int] = (50, 70),
    L: int = 7,
    rank: int = 0,
    seed: int = 0,
    steps: int = 1500,
    batch: int = 256,
    lr: float = 0.05,
    searched: int = 10_000,
    **declared: Any,
) -> tuple[Hypothesis, CodeWord]:
    """The model and its code word, the best of several D; the subspace is the declared seed's."""
    empty, fixed = blank(tables, encoding), METHODS["occam"].read_declared(declared)
    frame, examples = checked_frame(empty, fixed), FitExamples(empty, data)
    few = examples.part(slice(0, searched)) if data.n > searched else examples
    points: list[tuple[float, SubspacePoint]] = []
    for size in [D] if isinstance(D, int) else D:
        if size not in frame.dimensions or L not in frame.levels:
            raise InputError("D and L", "entries of the declared dimensions and levels", (size, L))
        first = train_point(examples, few, frame, size, L, rank, seed, steps, batch, lr)
        for point in (first, polish(few, frame, first, data.n, fixed.delta)):
            points.append((_value(examples, frame, point, data.n, fixed.delta), point))
    best = min(points, key=lambda pair: pair[0])[1]
    if examples.errors(Subspace().weights(best, frame)):
        best = polish(examples, frame, best, data.n, fixed.delta, rounds=1)
    weights = Subspace().weights(best, frame)
    return Hypothesis(tables, encoding, weights), write("subspace", best, frame)


def train_point(
    examples: FitExamples,
    few: FitExamples,
    frame: Frame,
    D: int,
    L: int,
    rank: int,
    seed: int,
    steps: int,
    batch: int,
    lr: float,
) -> SubspacePoint:
    """The grid point that erred least on a few examples among those that training went through."""
    whole = {name: _tensors(one) for name, one in maps(frame, D, rank).items()}
    source = torch.Generator().manual_seed(seed)
    z, h = (0.1 * torch.randn(D, generator=source)).requires_grad_(), L // 2
    optimiser = torch.optim.Adam([z], lr, betas=(0.9, 0.99))
    step: float | None = None
    best: tuple[int, SubspacePoint] | None = None
    for i in range(steps):
        if i == steps // 2:  # from now on z counts steps
            step = _dyadic(float(z.detach().abs().quantile(0.95)) / h)
            with torch.no_grad():
                z /= step
            optimiser = torch.optim.Adam([z], lr / step, betas=(0.9, 0.99))
        rate = min(1.0, 4 * (1 - i / steps)) * (lr if step is None else lr / step)
        optimiser.param_groups[0]["lr"] = rate
        rows = torch.randint(examples.n, (min(batch, examples.n),), generator=source)
        loss = examples.loss(_weights(whole, _rounded(z, step, h), step or 1.0), rows)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step is not None and ((i + 1) % LOOKS == 0 or i + 1 == steps):
            ℓ = z.detach().round().clamp(-h, h).numpy().astype(np.int64)
            point = SubspacePoint(D, L, rank, step, ℓ)
            errors = few.errors(Subspace().weights(point, frame))
            if best is None or errors <= best[0]:
                best = errors, point
    assert best is not None
    return best[1]


def polish(
    few: FitExamples, frame: Frame, point: SubspacePoint, n: int, delta: float, rounds: int = 4
) -> SubspacePoint:
    """One coordinate at a time, a level up, down or 0, while the bound falls."""
    value, h = _value(few, frame, point, n, delta), point.L // 2
    for _ in range(rounds):
        before = value
        for i in range(point.D):
            for level in (0, point.levels[i] - 1, point.levels[i] + 1):
                if abs(level) > h or level == point.levels[i]:
                    continue
                levels = point.levels.copy()
                levels[i] = level
                candidate = replace(point, levels=levels)
                reached = _value(few, frame, candidate, n, delta, value)
                if reached < value:
                    point, value = candidate, reached
        if value >= before:
            break
    return point


def _value(
    examples: FitExamples,
    frame: Frame,
    point: SubspacePoint,
    n: int,
    delta: float,
    limit: float = math.inf,
) -> float:
    length = write("subspace", point, frame).length
    if relaxed_bound(0.0, length, n, delta) >= limit:
        return math.inf
    share = examples.errors(Subspace().weights(point, frame)) / examples.n
    return relaxed_bound(share, length, n, delta)


def _tensors(map_: Map) -> Map:
    make = torch.from_numpy
    return Map(  # pyright: ignore
        make(map_.start).float(),  # pyright: ignore
        map_.scale,
        make(map_.P).float(),  # pyright: ignore
        map_.rank,
        make(map_.S).float(),  # pyright: ignore
    )


def _rounded(z: torch.Tensor, step: float | None, h: int) -> torch.Tensor:
    """The grid point next to z, with the gradient of z."""
    if step is None:
        return z
    return z + (z.round().clamp(-h, h) - z).detach()


def _weights(whole: dict[str, Map], ℓ: torch.Tensor, step: float) -> dict[str, Any]:
    return {n: one.start + step * one.scale * one.moved(ℓ) for n, one in whole.items()}


def _dyadic(x: float) -> float:
    """x with three binary digits."""
    m, e = math.frexp(max(x, 1e-6))
    return math.ldexp(round(m * 8), e - 3)
