"""Some steps and an evaluation, with all bookkeeping: what a GPU records once and replays.

Everything happens on the device and in place: steps, metrics, their best values, weights kept for
being best, who is alive, and a log of metrics. Nothing asks for a value, so that a period is one
CUDA graph; the trainer reads the log now and then.
"""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.core.errors import UnknownName
from dudley.train.ensemble.base import Noise
from dudley.train.flat import DECAYS, flattened, groups, rowed, views
from dudley.train.losses import loss_of
from dudley.train.measures import RECORDED, measured
from dudley.train.problem import Examples, Problem
from dudley.train.recorded import recorded
from dudley.train.state import VALUES, State

ROWS = 64  # periods that the log holds


class Period:
    """Calling it makes ``evaluate_every`` steps, or fewer at the end, and evaluates."""

    def __init__(self, problem: Problem, state: State):
        self.problem, self.state = problem, state
        how, E, device = problem.training, len(problem), problem.device
        self.loss = torch.zeros(E, device=device)
        self.moving, self.decays = state.weights, problem.decayed
        if how.optimiser.entrywise:
            self.moving, own = flattened(state.weights, problem.decayed)
            state.weights, self.decays = own, DECAYS
        self.names = self._prepared()
        self.log = torch.zeros(ROWS, len(self.names), E, dtype=torch.float64, device=device)
        self.row = torch.zeros(1, dtype=torch.int64, device=device)
        for W in state.weights.values():
            W.requires_grad_(True)
        if device.type == "cuda" and problem.ensemble.many_small:
            self._losses = torch.compile(self._losses, dynamic=False)
        self._whole = self._run
        if device.type == "cuda" and how.optimiser.capturable and set(how.measures) <= RECORDED:
            problem.refresh(int(state.step), how.evaluate_every)
            problem.batch(state.step)  # what is drawn once is drawn before
            changed = [state.step, self.log, self.row, *(W for _, W in state.tensors())]
            self._whole = recorded(self._run, changed)

    def __call__(self, steps: int) -> None:
        if steps == self.problem.training.evaluate_every:
            self._whole()
        else:
            self._run(steps)

    def read(self) -> torch.Tensor:
        """The log since it was read last, (periods, metrics, E), on the processor."""
        rows = self.log[: int(self.row)].cpu()
        self.row.zero_()
        return rows

    def _run(self, steps: int | None = None) -> None:
        for _ in range(steps or self.problem.training.evaluate_every):
            self._step()
        self._evaluate()

    def _step(self) -> None:
        problem, state, how = self.problem, self.state, self.problem.training
        data = problem.batch(state.step)
        losses = self._losses(state.weights, data, Noise(problem.keys, state.step))
        names, weights = zip(*state.weights.items(), strict=True)
        grads = torch.autograd.grad(losses.sum(), weights, allow_unused=True)
        with torch.no_grad():
            self.loss.copy_(losses)
            given = {
                name: torch.zeros_like(W) if grad is None else grad
                for name, W, grad in zip(names, weights, grads, strict=True)
            }
            if how.optimiser.entrywise:
                parts = groups(given, problem.decayed)
                given = {kind: rowed({n: given[n] for n in own}) for kind, own in parts.items()}
            rate = how.schedule.rate(state.step.expand(len(problem)), how.optimiser.lr)
            alive = None if how.stop is None else state.alive
            how.optimiser.update(self.moving, given, state.memory, rate, alive, self.decays)
            state.step += 1

    def _losses(self, weights, data: Examples, noise: Noise) -> torch.Tensor:
        """The mean loss of every trial's batch, (E,)."""
        outputs = self.problem.ensemble.forward(weights, data.inputs, noise)
        return (loss_of(self.problem.training.loss)(outputs, data.labels) * data.weights).sum(1)

    def _found(self) -> dict[str, torch.Tensor]:
        state = self.state
        found = measured(self.problem, state.weights, state.first) | {"loss": self.loss}
        return {name: values.detach().double() for name, values in found.items()}

    @torch.no_grad()
    def _prepared(self) -> list[str]:
        """The names of the metrics; a state that was never evaluated gets room for them."""
        state, how = self.state, self.problem.training
        found = self._found()
        for rule in (*how.keep, *([how.stop] if how.stop else [])):
            if rule.metric not in found:
                raise UnknownName("metric", rule.metric, found)
        names = list(found)
        senses = [_sense(name) for name in names]
        self.sense = torch.tensor(senses, dtype=torch.float64, device=self.loss.device)
        if not state.metrics:
            values = torch.stack([found[name] for name in names], 1)  # (E, metrics)
            state.metrics[VALUES] = torch.full_like(values, torch.nan)
            state.extremes[VALUES] = torch.full_like(values, -torch.inf) * self.sense
            for keep in how.keep:
                worst = -torch.inf if keep.largest else torch.inf
                state.kept[f"{keep.metric}/best"] = torch.full_like(values[:, 0], worst)
                state.kept[f"{keep.metric}/step"] = torch.zeros_like(state.ended)
                for name, W in self.moving.items():
                    state.kept[f"{keep.metric}/{name}"] = W.detach().clone()
        return names

    @torch.no_grad()
    def _evaluate(self) -> None:
        state, how, found = self.state, self.problem.training, self._found()
        state.ended.copy_(torch.where(state.alive, state.step, state.ended))
        values = torch.stack([found[name] for name in self.names], 1)
        _take(state.metrics[VALUES], values, state.alive)
        best = self.sense * torch.fmax(self.sense * state.extremes[VALUES], self.sense * values)
        _take(state.extremes[VALUES], best, state.alive)  # NaN is no value
        for keep in how.keep:
            best, values = state.kept[f"{keep.metric}/best"], found[keep.metric]
            won = (values > best if keep.largest else values < best) & state.alive
            _take(best, values, won)
            _take(state.kept[f"{keep.metric}/step"], state.step.expand(len(won)), won)
            for name, W in self.moving.items():
                _take(state.kept[f"{keep.metric}/{name}"], W, won)
        if how.stop is not None:
            state.alive &= ~how.stop.met(found)
        self.log.index_copy_(0, self.row, state.metrics[VALUES].T[None])
        self.row += 1

    def kept(self, state: State, metric: str) -> dict[str, torch.Tensor]:
        """The weights that a state keeps for being best by this metric."""
        held = {name: state.kept[f"{metric}/{name}"] for name in self.moving}
        if not self.problem.training.optimiser.entrywise:
            return held
        return views(held, state.first, self.problem.decayed)


def _take(old: torch.Tensor, new: torch.Tensor, where: torch.Tensor) -> None:
    """Replace what is old, in place, for the trials where it is said."""
    old.copy_(torch.where(where.reshape(-1, *[1] * (old.ndim - 1)), new, old))


def _sense(name: str) -> float:
    """1 where more is better, −1 where less is, 0 where nothing is."""
    return 1.0 if name.endswith("_accuracy") else -1.0 if name.endswith("_loss") else 0.0
