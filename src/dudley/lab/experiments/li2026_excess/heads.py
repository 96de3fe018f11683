"""Attention heads that learn from a head: inputs with light and heavy tails, robust losses.

The teacher is one block of li2026, (5), f*(X) = w · z_cls, drawn for every trial with the norms
that bound the class, ‖W‖_{1,1} = radius and ‖w‖₂ = readout; so f* is in the class and |f*| ≤
readout whatever the input, as the theorems ask. Students are trained inside the same balls on

    regression:      Y = f*(X) + noise·ξ, loss ½(f − Y)² or ψ_p(of it);
    classification:  P(Y = 1 | X) = 1/(1 + e^{−f*(X)}), logistic loss or ψ_p(of it).

f* minimises the expected square and logistic losses given X, so the best risk is known and the
excess risk of f needs no labels: ½E(f − f*)², and the mean Kullback–Leibler divergence. ``own`` is
the excess of the loss that was trained on, the noise integrated out over 129 quantiles; f* is best
for ψ_p of the square loss too where the noise is symmetric and unimodal, but not for ψ_p of the
logistic loss (then there is none). Test inputs are fresh for every trial and looked at once.

>>> from dudley.core.philox import key, keys_tensor
>>> task = Taught(T=6, d=4, law="pareto", tail=3.0, scale=0.3, kind="regression", m=20)
>>> keys = keys_tensor([key("taught", trial) for trial in range(3)])
>>> data = task.sample(keys)
>>> data.inputs.shape, bool(data.labels.abs().max() <= 1)
(torch.Size([3, 20, 6, 4]), True)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

from scipy import stats

from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import UnknownName
from dudley.core.philox import Stream, normal, uniform
from dudley.lab import RunLocation, Session, TrialGrid, TrialTable
from dudley.lab.experiment import Bench
from dudley.lab.experiments.li2026_excess.tails import SIGN, EntryLaw
from dudley.lab.training import memory_of, pack, train_batch, train_grid
from dudley.train.ensemble.layers import LayersEnsemble
from dudley.train.losses import LOSSES, logistic, loss_of, square
from dudley.train.measures import MEASURES, WeightTensors
from dudley.train.problem import Problem
from dudley.train.tasks.base import Labelled, Task, checked_cells, finite
from dudley.train.tasks.entries import entries
from dudley.train.tasks.registry import TASKS

KINDS = ("regression", "classification")
POWERS = {"catoni": 2.0, "log-truncated": 1.5}  # p of ψ_p; α = 1
QUANTILES = 129
SPREAD = 4  # of sizes in one batch, which are padded to the largest
F = torch.nn.functional


def ψ(x: torch.Tensor, p: float) -> torch.Tensor:
    """log(1 + x + x^p/p), x ≥ 0."""
    return torch.log1p(x + x**p / p)


def _robust(base, p: float):
    return lambda outputs, labels: ψ(base(outputs, labels), p)


for _name, _p in POWERS.items():
    for _base, _loss in (("square", square), ("logistic", logistic)):
        LOSSES.register(f"{_name}-{_base}")(_robust(_loss, _p))


@dataclass(frozen=True)
class Taught(Task):
    """Inputs by `li2026_tails`; students see them truncated, the teacher sees them whole."""

    name: ClassVar[str] = "taught"
    T: int
    d: int
    law: str
    scale: float
    kind: str
    tail: float | None = None
    sigma: str = "tanh"
    radius: float = 8.0
    readout: float = 1.0
    noise: float = 0.0
    noise_tail: int = 2
    truncation: str | float | None = None
    m: int | None = None
    holdout: int = 2000

    def __post_init__(self):
        for name in ("T", "d", "holdout"):
            size_of(f"{name} of taught", getattr(self, name))
        if self.kind not in KINDS:
            raise UnknownName("kind of labels", self.kind, KINDS)
        if self.law != SIGN:
            entries(self.law, self.tail)
        self.inputs.level(1, self.truncation)

    @cached_property
    def inputs(self) -> EntryLaw:
        return EntryLaw(self.law, self.T, self.d, self.scale, self.tail)

    @property
    def level(self) -> float:
        """M, at which inputs are truncated."""
        return self.inputs.level(finite(self, self.m), self.truncation)

    def teacher(self, keys: torch.Tensor) -> dict[str, torch.Tensor]:
        """The teacher's weights, (E, a, b) each, float64."""
        weights = {}
        for number, (name, (a, b)) in enumerate(_network(self.d, self.sigma).shapes.items()):
            W = normal(keys.cpu(), Stream.INDICES, number, a * b).double()
            readout = name.endswith(".w")
            size = W.norm(dim=1) if readout else W.abs().sum(1)
            bound = self.readout if readout else self.radius
            weights[name] = (W * (bound / size)[:, None]).reshape(-1, a, b)
        return weights

    def target(self, X: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """f*(X) of every trial, (E, N), float64 by the CPU."""
        network = _network(self.d, self.sigma)
        return network.evaluate(self.teacher(keys), X.cpu().double())[..., 0]

    def seen(self, X: torch.Tensor) -> torch.Tensor:
        """X as the student sees it: scaled back to ‖X‖_F ≤ M."""
        if self.truncation is None:
            return X
        norm = X.flatten(-2).norm(dim=-1)[..., None, None]
        return X * (self.level / norm.clamp(min=1e-300)).clamp(max=1.0)

    def drawn(self, keys: torch.Tensor, stream: Stream, rows: int) -> torch.Tensor:
        """Inputs (E, rows, T, d), whole, float64."""
        keys, count = keys.cpu(), rows * self.T * self.d
        if self.law == SIGN:
            x = (uniform(keys, stream, 0, count) - 0.5).sign()
        else:
            x = entries(self.law, self.tail)(keys, stream, 0, count)
        return self.scale * x.reshape(-1, rows, self.T, self.d)

    def sample(self, keys):
        rows = finite(self, self.m)
        X = self.drawn(keys, Stream.INPUTS, rows)
        f = self.target(X, keys)
        if self.kind == "classification":
            u = uniform(keys.cpu(), Stream.LABELS, 0, rows)
            labels = (u < torch.sigmoid(f)).long()
        else:
            labels = f
            if self.noise:
                student = entries("student", self.noise_tail)
                labels = f + self.noise * student(keys.cpu(), Stream.LABELS, 0, rows)
            labels = labels.float()
        return Labelled(self.seen(X).float().to(keys.device), labels.to(keys.device))

    def held_out(self, keys, cell_keys=None, cell=None, stream=Stream.HOLDOUT):
        """Fresh inputs for every trial; the label is f*(X) itself."""
        checked_cells(keys, cell_keys, cell)
        X = self.drawn(keys, stream, self.holdout)
        f = self.target(X, keys).float()
        return Labelled(self.seen(X).float().to(keys.device), f.to(keys.device))


TASKS.register(Taught.name)(Taught)


@cache
def _network(d: int, sigma: str) -> LayersEnsemble:
    return LayersEnsemble(d=d, L=1, block="li", sigma=sigma)


@MEASURES.register("li2026-excess")
@torch.no_grad()
def excess(
    problem: Problem, weights: WeightTensors, first: WeightTensors
) -> dict[str, torch.Tensor]:
    """``excess``, ``own``, the share of wrong signs, and of truncated inputs, on the test split."""
    test, task, loss = problem.split("test"), problem.tasks[0], problem.training.loss
    assert isinstance(task, Taught)
    f, best = problem.ensemble.evaluate(weights, test.inputs)[..., 0], test.labels
    levels = torch.tensor([t.level for t in problem.tasks])[problem.cells[1].cpu()]  # pyright: ignore
    norms = test.inputs.rows.flatten(-2).norm(dim=-1)
    cut = norms > levels.to(norms.device)[:, None] * (1 - 1e-5)
    metrics = {"cut": cut.float().mean(1), "wrong": ((f > 0) != (best > 0)).float().mean(1)}
    if task.kind == "regression":
        metrics["excess"] = (f - best).square().mean(1) / 2
        loss_excess = (
            metrics["excess"] if loss == "square" else _loss_excess(f - best, task, loss).mean(1)
        )
    else:
        p = torch.sigmoid(best)
        metrics["excess"] = (
            p * (F.softplus(-f) - F.softplus(-best)) + (1 - p) * (F.softplus(f) - F.softplus(best))
        ).mean(1)
        loss_excess = (
            metrics["excess"]
            if loss == "logistic"
            else torch.full_like(metrics["excess"], torch.nan)
        )
    return metrics | {"own": loss_excess}


def _loss_excess(r: torch.Tensor, task: Taught, loss: str) -> torch.Tensor:
    """E_ξ[ℓ(r − noise·ξ) − ℓ(noise·ξ)] for the loss of residuals, at quantiles of the noise."""
    of, total, nought = loss_of(loss), torch.zeros_like(r), torch.zeros_like(r)
    nodes = _noise(task.noise_tail) if task.noise else (0.0,)
    for ξ in nodes:
        label = nought + task.noise * ξ
        total += of(r[..., None], label) - of(nought[..., None], label)
    return total / len(nodes)


@cache
def _noise(tail: int) -> tuple[float, ...]:
    """Student's quantiles at the midpoints of equal parts: symmetric around 0."""
    middle = (torch.arange(QUANTILES, dtype=torch.float64) + 0.5) / QUANTILES
    return tuple(stats.t.ppf(middle.numpy(), tail).tolist())


def work(session: Session, **options: Any) -> None:
    """One batch; a function of this module, so that a worker knows the task and the losses."""
    train_batch(session, **options)


def train_heads(grid: TrialGrid, folder: RunLocation, bench: Bench) -> TrialTable:
    """Every trial of the grid; goes on where it was broken off."""
    on_one_gpu = bench.on == "local" and torch.device(bench.device).type == "cuda"
    workers = 1 if on_one_gpu else bench.workers
    batches = pack(grid, memory_of(bench.device, bench.memory), workers, spread=SPREAD)
    return train_grid(
        grid, folder, bench.device, workers, batches,
        work=work, on=bench.on, progress=bench.progress,
    )  # fmt: skip
