"""One step of training; on CUDA it is recorded once and replayed, so that kernels cost little.

A step of a small Transformer is some hundred kernels of a few microseconds each, and to launch them
takes many times as long as to run them. So after EAGER steps one more is recorded as a CUDA graph,
and each later step copies its batch and its rates to where the recording reads them, and replays
it. Random numbers (dropout) go on from step to step as without a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dudley.core.backend import torch
from dudley.core.errors import InputError

EAGER = 3  # steps that let the libraries allocate what they need

BatchLoss = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


class TrainingStep:
    """Final: a loss, an optimiser with its rates, and what follows a step.

    ``loss`` gives the loss on a batch, and what is differentiated: the loss and penalties.
    """

    def __init__(
        self,
        loss: BatchLoss,
        groups: list[dict[str, Any]],
        betas: tuple[float, float],
        decay: float,
        clip: float = 0.0,
        averaging: float = 0.0,
        graph: bool = False,
    ):
        self.loss, self.clip, self.averaging = loss, clip, averaging
        self.weights: list[torch.Tensor] = [W for group in groups for W in group["params"]]
        device = self.weights[0].device
        on_cuda = device.type == "cuda"
        self.graph = graph and on_cuda
        self.rates = torch.zeros(len(groups), device=device) if on_cuda else None
        if self.rates is not None:  # where a recording reads them
            groups = [{**group, "lr": self.rates[i]} for i, group in enumerate(groups)]
        self.optimiser = torch.optim.AdamW(
            groups,
            betas=betas,
            weight_decay=decay,
            fused=True if on_cuda else None,
            capturable=self.graph,
        )
        self.averages = [W.detach().clone() for W in self.weights] if averaging else []
        self.steps = 0
        self._recording: torch.cuda.CUDAGraph | None = None
        self._batch: tuple[torch.Tensor, torch.Tensor] | None = None
        self._loss: torch.Tensor | None = None

    def __call__(self, X: torch.Tensor, y: torch.Tensor, rates: list[float]) -> torch.Tensor:
        """Take a step at these rates, one for each group; the loss before it."""
        if self.rates is None:
            for group, rate in zip(self.optimiser.param_groups, rates, strict=True):
                group["lr"] = rate
        else:
            self.rates.copy_(torch.tensor(rates), non_blocking=True)
        self.steps += 1
        if not self.graph:
            return self._step(X, y)
        if self.steps <= EAGER:
            return self._aside(X, y)
        if self._recording is None:
            self._recording = self._recorded(X, y)
        assert self._batch is not None and self._loss is not None
        self._batch[0].copy_(X)
        self._batch[1].copy_(y)
        self._recording.replay()
        return self._loss

    def finish(self) -> None:
        """Put the averages in place of the weights, and let go of gradients."""
        if self.averages:
            with torch.no_grad():
                for W, average in zip(self.weights, self.averages, strict=True):
                    W.copy_(average)
        self.optimiser.zero_grad()

    def _step(self, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss, whole = self.loss(X, y)
        self.optimiser.zero_grad()
        whole.backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.weights, self.clip)
        self.optimiser.step()
        if self.averages:
            from torch.optim.swa_utils import get_ema_multi_avg_fn

            get_ema_multi_avg_fn(self.averaging)(self.averages, self.weights, 0)
        return loss.detach()

    def _aside(self, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """A step on a stream of its own, as recordings ask for."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            loss = self._step(X, y)
        torch.cuda.current_stream().wait_stream(stream)
        return loss

    def _recorded(self, X: torch.Tensor, y: torch.Tensor) -> torch.cuda.CUDAGraph:
        """The recording of a step, which is not carried out yet."""
        self._batch = X.clone(), y.clone()
        self.optimiser.zero_grad()
        recording = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(recording):
                self._loss = self._step(*self._batch)
        except RuntimeError as error:
            fix = "set graph to false"
            raise InputError("graph", "a step that CUDA can record", error, fix) from None
        return recording
