"""Some steps and an evaluation, with all bookkeeping: what a GPU records once and replays.

Everything happens on the device and in place: steps, metrics, their best values, weights kept for
being best, who is alive, and a log of metrics. Nothing asks for a value, so that a step is one CUDA
graph and an evaluation another; where a step is many small operations, whose replay is short, the
whole period is one. The trainer reads the log now and then.

With a screen (`dudley.train.screen`) a period has three parts. The first is as before, but sees the
first rows of the split alone and says who passed: its operations are those of an evaluation and two
copies into tensors that stay where they are, so that it can be recorded too. Then the processor
asks who passed, and has all rows looked at for these trials alone. Then all metrics are entered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dudley.core.backend import torch
from dudley.core.errors import UnknownName
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.rows import Padded
from dudley.train.flat import DECAYS, flatten, views
from dudley.train.losses import loss_of
from dudley.train.measures import RECORDED, measure_all, measure_whole
from dudley.train.optimise.choose import kernels_for
from dudley.train.problem import Problem
from dudley.train.recorded import record_graphs
from dudley.train.state import VALUES, State

ROWS = 64  # periods that the log holds
COMPILED = {"cuda"}  # devices on which many small operations are compiled into few
RECORDED_ON = {"cuda"}  # devices on which steps and evaluations are recorded and replayed


class Period:
    """Calling it makes ``evaluate_every`` steps, or fewer at the end, and evaluates."""

    def __init__(self, problem: Problem, state: State):
        self.problem, self.state = problem, state
        how, E, device = problem.training, len(problem), problem.device
        self.loss = torch.zeros(E, device=device)
        self.moving, self.decays = state.weights, problem.decayed
        self.kernels = None  # that move rows, from gradients that stay apart
        if how.optimiser.entrywise:
            self.moving, named = flatten(state.weights, problem.decayed)
            state.weights, self.decays = named, DECAYS
            if not problem.ensemble.many_small:
                self.kernels = kernels_for(how.optimiser, named, problem.decayed)
        leaves = state.weights if self.kernels else self.moving
        self.leaves = {name: W.detach().requires_grad_() for name, W in leaves.items()}
        self.names = self._prepared()
        self.values = torch.full_like(state.metrics[VALUES], torch.nan)  # what a screen leaves
        self.passed = torch.zeros(E, dtype=torch.bool, device=device)
        self.log = torch.zeros(ROWS, len(self.names), E, dtype=torch.float64, device=device)
        self.row = torch.zeros(1, dtype=torch.int64, device=device)
        asks_nothing = how.optimiser.capturable and set(how.measures) <= RECORDED
        if asks_nothing and device.type in RECORDED_ON | COMPILED:
            problem.refresh(int(state.step), how.evaluate_every)
            problem.batch(state.step)  # what is drawn once is drawn before
        # Many small operations cost more to start than to compute, so these three, which are called
        # at every step, are compiled into a few kernels each. Shapes never change within a problem:
        # ``dynamic=False`` spares guards on them, and a second compilation with symbolic sizes.
        if asks_nothing and device.type in COMPILED and problem.ensemble.many_small:
            for part in ("_losses", "_update", "_evaluate"):
                setattr(self, part, torch.compile(getattr(self, part), dynamic=False))
        self._whole = self._parts = None
        if asks_nothing and device.type in RECORDED_ON:
            changed = [state.step, self.log, self.row, *(W for _, W in state.tensors())]
            if problem.ensemble.many_small:
                (self._whole,) = record_graphs([self._run], changed)
            else:
                self._parts = record_graphs([self._step, self._look], changed)

    def __call__(self, steps: int) -> None:
        if self._whole is not None and steps == self.problem.training.evaluate_every:
            self._whole()
        else:
            self._run(steps)
        if self.problem.training.screen is not None:
            self._see_all_rows()
            self._enter(self.values)

    def read(self) -> torch.Tensor:
        """The log since it was read last, (periods, metrics, E), on the processor."""
        rows = self.log[: int(self.row)].cpu()
        self.row.zero_()
        return rows

    def _run(self, steps: int | None = None) -> None:
        step, look = self._parts or (self._step, self._look)
        for _ in range(steps or self.problem.training.evaluate_every):
            step()
        look()

    def _step(self) -> None:
        total, losses = self._losses()
        grads = torch.autograd.grad(total, tuple(self.leaves.values()), allow_unused=True)
        with torch.no_grad():
            self._update(losses, grads)

    def _losses(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The sum, as a function of the leaves, of the mean losses of batches; and these, (E,)."""
        problem, state = self.problem, self.state
        data = problem.batch(state.step)
        inputs, noise = data.inputs, Noise(problem.keys, state.step)
        if problem.training.stop is not None and isinstance(inputs, Padded):
            inputs = Padded(inputs.rows, inputs.counts * state.alive)  # whoever ended has none
        weights = self.leaves if self.kernels else self._named(self.leaves)
        outputs = problem.ensemble.forward(weights, inputs, noise)
        losses = (loss_of(problem.training.loss)(outputs, data.labels) * data.weights).sum(1)
        return losses.sum(), losses.detach()

    def _update(self, losses: torch.Tensor, grads: Sequence[torch.Tensor | None]) -> None:
        problem, state, how = self.problem, self.state, self.problem.training
        self.loss.copy_(losses)
        rate = how.schedule.rate(state.step.expand(len(problem)), how.optimiser.first_rate)
        alive = None if how.stop is None else state.alive
        if self.kernels:
            self.kernels.update(self.moving, grads, state.memory, rate, alive)
        else:
            gradients = {
                name: torch.zeros_like(W) if grad is None else grad
                for (name, W), grad in zip(self.moving.items(), grads, strict=True)
            }
            how.optimiser.update(self.moving, gradients, state.memory, rate, alive, self.decays)
        state.step.add_(1)

    def _named(self, tensors: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
        """Weights by the twin's names, from tensors as they are moved."""
        if not self.problem.training.optimiser.entrywise:
            return tensors
        return views(tensors, self.state.first, self.problem.decayed)

    def _metrics(self) -> dict[str, torch.Tensor]:
        state = self.state
        rows = self.moving if self.problem.training.optimiser.entrywise else None
        alive = None if self.problem.training.stop is None else state.alive
        metrics = measure_all(
            self.problem, state.weights, state.first, rows=rows, alive=alive, screened=True
        )
        metrics |= {"loss": self.loss}
        return {name: values.detach().double() for name, values in metrics.items()}

    @torch.no_grad()
    def _prepared(self) -> list[str]:
        """The names of the metrics; a state that was never evaluated gets room for them."""
        state, how = self.state, self.problem.training
        metrics = self._metrics()
        for rule in (*how.keep, *([how.stop] if how.stop else [])):
            if rule.metric not in metrics:
                raise UnknownName("metric", rule.metric, metrics)
        names = list(metrics)
        senses = [_sense(name) for name in names]
        self.sense = torch.tensor(senses, dtype=torch.float64, device=self.loss.device)
        if not state.metrics:
            values = torch.stack([metrics[name] for name in names], 1)  # (E, metrics)
            state.metrics[VALUES] = torch.full_like(values, torch.nan)
            state.extremes[VALUES] = torch.full_like(values, -torch.inf) * self.sense
            for keep in how.keep:
                worst = -torch.inf if keep.largest else torch.inf
                state.best[f"{keep.metric}/best"] = torch.full_like(values[:, 0], worst)
                state.best[f"{keep.metric}/step"] = torch.zeros_like(state.ended)
                for name, W in self.moving.items():
                    state.best[f"{keep.metric}/{name}"] = W.detach().clone()
        return names

    @torch.no_grad()
    def _look(self) -> None:
        self._evaluate()

    def _evaluate(self) -> None:
        metrics = self._metrics()
        values = torch.stack([metrics[name] for name in self.names], 1)
        if self.problem.training.screen is None:
            self._enter(values)
        else:
            self.values.copy_(values)
            self.passed.copy_(self._passed(metrics))

    def _passed(self, metrics: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Whose rows are all looked at: also of a trial that ends here, so that its last are."""
        state, how = self.state, self.problem.training
        assert how.screen is not None
        passed = (metrics[how.screen.metric] >= how.screen.at_least) | (state.step == how.steps)
        if how.stop is not None:
            passed = passed | how.stop.met(metrics)
        return passed & state.alive

    @torch.no_grad()
    def _see_all_rows(self) -> None:
        """Put in what all rows say, for the trials that passed; only this asks who they are."""
        members = self.passed.nonzero()[:, 0]
        if len(members):
            whole = measure_whole(self.problem, self.state.weights, members)
            for name, values in whole.items():
                self.values[members, self.names.index(name)] = values.detach().double()

    @torch.no_grad()
    def _enter(self, values: torch.Tensor) -> None:
        """All bookkeeping, from the metrics (E, metrics) of an evaluation."""
        state, how = self.state, self.problem.training
        metrics = dict(zip(self.names, values.unbind(1), strict=True))
        state.ended.copy_(torch.where(state.alive, state.step, state.ended))
        _take(state.metrics[VALUES], values, state.alive)
        best = self.sense * torch.fmax(self.sense * state.extremes[VALUES], self.sense * values)
        _take(state.extremes[VALUES], best, state.alive)  # NaN is no value
        for keep in how.keep:
            best, values = state.best[f"{keep.metric}/best"], metrics[keep.metric]
            won = (values > best if keep.largest else values < best) & state.alive
            _take(best, values, won)
            _take(state.best[f"{keep.metric}/step"], state.step.expand(len(won)), won)
            for name, W in self.moving.items():
                _take(state.best[f"{keep.metric}/{name}"], W, won)
        if how.stop is not None:
            state.alive.logical_and_(~how.stop.met(metrics))
        self.log.index_copy_(0, self.row, state.metrics[VALUES].T[None])
        self.row.add_(1)

    def best_weights(self, state: State, metric: str) -> Mapping[str, torch.Tensor]:
        """The weights that a state keeps for being best by this metric."""
        return self._named({name: state.best[f"{metric}/{name}"] for name in self.moving})


def _take(old: torch.Tensor, new: torch.Tensor, where: torch.Tensor) -> None:
    """Replace what is old, in place, for the trials where it is said."""
    old.copy_(torch.where(where.reshape(-1, *[1] * (old.ndim - 1)), new, old))


def _sense(name: str) -> float:
    """1 where more is better, −1 where less is, 0 where nothing is, or it is an estimate."""
    if name.startswith("screened_"):
        return 0.0
    return 1.0 if name.endswith("_accuracy") else -1.0 if name.endswith("_loss") else 0.0
