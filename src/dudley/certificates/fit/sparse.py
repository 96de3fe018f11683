"""Training for the sparse code: an ℓ1 penalty, then levels, then searches that minimise the bound.

Adam on the cross-entropy with a proximal step: every entry moves towards 0 by lr·λ and stops there.
The network is trained once for every way of folding its matrices (`codes.sparse`) that is asked
for, or with some of them held at 0; the best bound on the training data wins. None of these trials
costs anything: Occam's bound holds for all code words at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from dudley.certificates.base import METHODS
from dudley.certificates.codes.base import Frame
from dudley.certificates.codes.kinds.sparse import folds_of, unfold
from dudley.certificates.data import Dataset
from dudley.certificates.fit.anneal import anneal
from dudley.certificates.fit.forward import FitExamples, blank
from dudley.certificates.fit.quantised import Search, SparseState, prune, quantise
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.occam.method import checked_frame
from dudley.core.backend import torch
from dudley.core.watch import Watch

ZERO = "zero"  # a matrix that is held at 0


def fit_sparse(
    tables: dict[str, Any],
    encoding: dict[str, Any],
    data: Dataset,
    seed: int = 0,
    penalties: Iterable[float] = (1e-2,),
    levels: Iterable[int] = (2, 4),
    foldings: Iterable[dict[str, str]] | None = None,
    steps: int = 400,
    batch: int = 4096,
    lr: float = 0.05,
    searched: int = 10_000,
    polished: int = 3,
    looks: int = 0,
    watch: Watch | None = None,
    **declared: Any,
) -> Hypothesis:
    """The model with the least bound that was found; same arguments, same model.

    Candidates are searched on the first ``searched`` examples; the best ``polished`` of them once
    more on all, after ``looks`` changes each of annealing. The watch may leave out any but the
    first candidate.
    """
    empty, fixed = blank(tables, encoding), METHODS["occam"].read_declared(declared)
    watch = watch or Watch()
    frame, examples = checked_frame(empty, fixed), FitExamples(empty, data)
    few = examples.part(slice(0, searched)) if data.n > searched else examples
    search = Search(few, frame, data.n, fixed.delta, watch)
    whole = Search(examples, frame, data.n, fixed.delta, watch)
    trials = all_foldings(frame) if foldings is None else list(foldings)
    trainings = list(itertools.product(trials, penalties))

    def candidates(i: int, folds: dict[str, str], λ: float) -> list[tuple[SparseState, float]]:
        U = train_entries(examples, frame, folds, λ, steps, batch, lr, 1000 * seed + i)
        kinds = {name: "plain" if fold == ZERO else fold for name, fold in folds.items()}
        grids = (
            {name: quantise(U[name], kinds[name], q) for name, _ in frame.shapes} for q in levels
        )
        return [prune(search, state) for state in grids]

    def polish(i: int, state: SparseState) -> tuple[SparseState, float]:
        start = anneal(whole, state, looks, 1000 * seed + i)[0] if looks else state
        return prune(whole, start, 2)

    states: list[tuple[SparseState, float]] = []
    for i, (folds, λ) in enumerate(trainings):
        step = f"training {i + 1} of {len(trainings)}"
        states += watch.do(step, partial(candidates, i, folds, λ), needed=not states) or []
    states.sort(key=lambda pair: pair[1])
    ends = [
        watch.do(f"polishing {i + 1} of {polished}", partial(polish, i, state))
        for i, (state, _) in enumerate(states[:polished])
    ]
    done = [pair for pair in ends if pair is not None] or states
    best = min(done, key=lambda pair: pair[1])[0]
    return Hypothesis(tables, encoding, whole.weights(best))


def all_foldings(frame: Frame) -> list[dict[str, str]]:
    """The trials: all matrices plain; those of (bit, place) rows folded, scores also held at 0."""
    able = [name for name, shape in frame.shapes if len(folds_of(shape, frame.T)) > 1]
    plain = {name: "plain" for name, _ in frame.shapes}
    trials = [plain]
    for kinds in itertools.product(("odd", "even", ZERO), repeat=len(able)):
        trial = dict(zip(able, kinds, strict=True))
        zeros = [name for name, kind in trial.items() if kind == ZERO]
        if "odd" in kinds and all(name.endswith(".v") for name in zeros):
            trials.append(plain | trial)
    return trials


def train_entries(
    examples: FitExamples,
    frame: Frame,
    folds: dict[str, str],
    λ: float,
    steps: int,
    batch: int,
    lr: float,
    seed: int,
) -> dict[str, np.ndarray]:
    """Free entries of every matrix after ℓ1-penalised training."""
    source = torch.Generator().manual_seed(seed)
    U: dict[str, torch.Tensor] = {}
    for name, shape in frame.shapes:
        height = shape[0] if folds[name] in ("plain", ZERO) or frame.T is None else frame.T + 1
        first = torch.randn(height, shape[1], generator=source) / math.sqrt(shape[0])
        last = name.rpartition(".")[2]
        if last in ("gain", "v") or last.startswith("b"):
            first = 0 * first + (last == "gain")
        U[name] = (0 * first if folds[name] == ZERO else first).requires_grad_(folds[name] != ZERO)

    def weights() -> dict[str, Any]:
        return {n: u if folds[n] == ZERO else unfold(folds[n], u, frame.T) for n, u in U.items()}

    def rows() -> torch.Tensor:
        return torch.randint(examples.n, (min(batch, examples.n),), generator=source)

    with torch.no_grad():
        size = 1 / float(examples.outputs(weights(), rows()).std() + 1e-12)
    free = [u for u in U.values() if u.requires_grad]
    optimiser = torch.optim.Adam(free, lr, betas=(0.9, 0.99))
    for step in range(steps):
        rate = lr * min(1.0, 2 * (1 - step / steps))
        for group in optimiser.param_groups:
            group["lr"] = rate
        loss = examples.loss(weights(), rows(), size)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            for u in free:
                u.copy_(torch.nn.functional.softshrink(u, rate * λ))
    return {name: u.detach().double().numpy() for name, u in U.items()}
