"""Training a language model that has a short code: quantisation in the loop, bits in the loss.

Adam minimises the mean over documents of the bits per symbol plus ``price`` × the bits of the code,
estimated from how often each level is used (interpolated between levels, so that it has a
gradient). Weights are rounded to levels −q, …, q times a step of three binary digits, with the
straight-through gradient, after a first part of the run in full precision. What is returned is the
code word; nothing else of the run enters the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dudley.certificates.codes.base import write
from dudley.certificates.codes.kinds.subspace import SubspacePoint, maps
from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.corpus import Corpus
from dudley.certificates.methods.language.gpt import Gpt
from dudley.core.backend import torch
from dudley.core.errors import InputError

DIMENSIONS = (100, 200, 500, 1000, 1500, 2000, 3000, 5000)  # of subspaces
LEVELS = (3, 5, 7, 9, 11, 15)


@dataclass(frozen=True)
class CodeTraining:
    """How it is trained. ``price``: bits a symbol that a bit of code is worth, about Δ/n."""

    steps: int = 4000
    batch: int = 96
    rate: float = 4e-3
    q: int = 3
    price: float = 2e-5
    free: float = 0.4  # share of the steps before rounding sets in
    shrink: float = (
        0.05  # each step moves weights towards 0 by rate·shrink, after half of that share
    )
    seed: int = 0


Parts = dict[str, Any]


def fit(
    gpt: Gpt, corpus: Corpus, recipe: CodeTraining, log: Callable[[int, float], None] | None = None
) -> Coded:
    """A model whose every matrix is on a grid of its own."""
    start = _start(gpt, recipe.seed)

    def assembled(parts: Parts):
        return {name: step * level for name, (step, level) in parts.items()}

    parts = _train(start, assembled, gpt, corpus, recipe, log)
    weights = {
        name: step * level.numpy().astype(np.float64) + 0.0 for name, (step, level) in parts.items()
    }
    return Coded.of(gpt, weights)


def fit_subspace(
    gpt: Gpt,
    corpus: Corpus,
    recipe: CodeTraining,
    D: int,
    rank: int = 0,
    log: Callable[[int, float], None] | None = None,
) -> Coded:
    """A model in a random subspace of D dimensions, through factors of a rank if it is not 0."""
    if D not in DIMENSIONS or 2 * recipe.q + 1 not in LEVELS:
        raise InputError("D and L", f"of {DIMENSIONS} and {LEVELS}", (D, 2 * recipe.q + 1))
    empty = Coded(gpt, Coded.of(gpt, _zeros(gpt)).word, recipe.seed, DIMENSIONS, LEVELS)
    subspaces = maps(empty.frame, D, rank)
    of_torch = {
        name: replace(
            m,
            start=torch.tensor(m.start, dtype=torch.float32),
            P=torch.tensor(m.P, dtype=torch.float32),
            S=torch.tensor(m.S, dtype=torch.float32),
        )
        for name, m in subspaces.items()
    }

    def assembled(parts: Parts):
        step, level = parts["θ"]
        return {
            name: m.start + (step * m.scale) * m.moved(level.reshape(-1))
            for name, m in of_torch.items()
        }

    θ = {"θ": torch.zeros(D, 1)}
    step, level = _train(θ, assembled, gpt, corpus, recipe, log, first_step=1.0)["θ"]
    point = SubspacePoint(D, 2 * recipe.q + 1, rank, step, level.numpy().ravel().astype(np.int64))
    return replace(empty, word=write("subspace", point, empty.frame))


def _train(
    start: dict[str, Any],
    assembled: Callable[[Parts], dict[str, Any]],
    gpt: Gpt,
    corpus: Corpus,
    recipe: CodeTraining,
    log: Callable[[int, float], None] | None,
    first_step: float | None = None,
) -> Parts:
    """Steps (floats) and levels (integer tensors) after training."""
    W = {name: w.clone().requires_grad_() for name, w in start.items()}
    codes = torch.tensor(corpus.codes.astype(np.int64))
    weight = (torch.arange(corpus.T) < torch.tensor(corpus.lengths)[:, None]).float()
    weight = weight / weight.sum(1, keepdim=True)
    steps = {name: torch.tensor(math.log(first_step or 0.1), requires_grad=True) for name in start}
    groups = [{"params": list(W.values())}, {"params": list(steps.values())}]
    optimiser = torch.optim.Adam(groups, lr=recipe.rate, betas=(0.9, 0.98))
    draw, costs = np.random.default_rng([recipe.seed, 7]), {}
    for i in range(recipe.steps):
        share = i / recipe.steps
        rate = recipe.rate * min(1.0, i / 100) * (0.02 + 0.49 * (1 + math.cos(math.pi * share)))
        groups_now = optimiser.param_groups
        groups_now[0]["lr"], groups_now[1]["lr"] = rate, rate / 4
        rounding, bits = share >= recipe.free, torch.zeros(())
        if i % 50 == 0:
            for name, w in W.items():
                if not rounding and first_step is None:
                    steps[name].data.fill_(math.log(0.8 * w.detach().std().item() + 1e-3))
                costs[name] = _costs(w.detach() / steps[name].detach().exp(), recipe.q)
        parts = {}
        for name, w in W.items():
            step = _straight(steps[name].exp(), _short)
            z = (w / step).clamp(-recipe.q, recipe.q)
            parts[name] = (step, _straight(z, torch.round) if rounding else w / step)
            if rounding:
                bits = bits + _interpolate(costs[name], z, recipe.q)
        rows = torch.tensor(draw.integers(0, corpus.n, recipe.batch))
        symbols = gpt.losses(assembled(parts), codes[rows])
        risk = (symbols * weight[rows].T).sum() / recipe.batch
        optimiser.zero_grad()
        (risk + recipe.price * bits).backward()
        torch.nn.utils.clip_grad_norm_(list(W.values()), 1.0)
        optimiser.step()
        if share >= recipe.free / 2:
            with torch.no_grad():
                for w in W.values():
                    w.copy_(torch.sign(w) * (w.abs() - rate * recipe.shrink).clamp(min=0))
        if log is not None and (i % 250 == 0 or i == recipe.steps - 1):
            log(i, float(risk.detach()))
    with torch.no_grad():
        final = {name: float(_short(s.exp())) for name, s in steps.items()}
        q = recipe.q
        return {
            name: (final[name], (w / final[name]).clamp(-q, q).round()) for name, w in W.items()
        }


def _start(gpt: Gpt, seed: int):
    """Normal weights of size 1/√rows (1 for E); head h looks h + 1 places back."""
    draw = torch.Generator().manual_seed(seed)
    made = {}
    for name, (m, n) in gpt.shapes.items():
        w = torch.randn(m, n, generator=draw)
        made[name] = w if name == "E" else w / math.sqrt(m)
        if name == "b":
            made[name] = w * 0.1
        if name.endswith(".r"):
            made[name] = -torch.ones(m, n)
            for h in range(m):
                made[name][h, (h + 1) % n] = 0.0
    return made


def _zeros(gpt: Gpt) -> dict[str, np.ndarray]:
    return {name: np.zeros(shape) for name, shape in gpt.shapes.items()}


def _straight(x, rule):
    """rule(x) with the gradient of x."""
    return x + (rule(x) - x).detach()


def _short(x):
    """x with three binary digits."""
    m, e = torch.frexp(x)
    return torch.ldexp(torch.round(m * 8) / 8, e)


def _costs(z, q: int):
    """Bits of each level, from how often it is used."""
    counts = torch.bincount((z.clamp(-q, q).round().long() + q).ravel(), minlength=2 * q + 1) + 0.5
    return -torch.log2(counts / counts.sum())


def _interpolate(costs, z, q: int):
    """Σ of the costs at z, linear between levels."""
    low = z.detach().floor().clamp(-q, q - 1)
    at, share = (low + q).long(), z - low
    return (costs[at] * (1 - share) + costs[at + 1] * share).sum()
