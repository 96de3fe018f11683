"""Annealing over models on a grid: random changes, worse ones too while it is hot.

A change sets an entry to some level, to 0, a level up or down, or exchanges two entries. The search
moves from bound b to b′ with probability min(1, e^{−(b′−b)/t}); t falls from ``hot`` times the
first bound as (1 − done)² to nothing. What is kept is the best state seen. Kirkpatrick, Gelatt,
Vecchi 1983.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dudley.certificates.codes.kinds.sparse import SparsePart
from dudley.certificates.fit.quantised import Search, SparseState

REACH = 4  # new entries start on levels up to this


def anneal(
    search: Search, state: SparseState, looks: int, seed: int = 0, hot: float = 0.3
) -> tuple[SparseState, float]:
    """The best state among ``looks`` random changes, and its value."""
    rng, names = np.random.default_rng(seed), list(state)
    now, value = dict(state), search.value(state)
    best, least, first = now, value, value
    for look in range(looks):
        t = hot * first * (1 - look / looks) ** 2
        limit = value + t * rng.exponential()
        name = names[rng.integers(len(names))]
        candidate = now | {name: change_one(now[name], rng)}
        reached = search.value(candidate, limit)
        if reached < limit:
            now, value = candidate, reached
            if value < least:
                best, least = now, value
    return best, least


def change_one(part: SparsePart, rng: np.random.Generator) -> SparsePart:
    """One random change."""
    levels = part.levels.copy()
    flat, nonzeros = levels.reshape(-1), np.flatnonzero(levels)
    kind = rng.integers(4) if len(nonzeros) else 0
    there = rng.integers(len(flat))
    index = rng.choice(nonzeros) if len(nonzeros) else there
    if kind == 0:
        flat[there] = rng.choice([-1, 1]) * rng.integers(1, REACH + 1)
    elif kind == 1:
        flat[index] = 0
    elif kind == 2:
        flat[index] += rng.choice([-1, 1])
    else:
        flat[index], flat[there] = flat[there], flat[index]
    return replace(part, levels=levels)
