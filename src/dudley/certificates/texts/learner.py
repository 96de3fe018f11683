"""How a model of texts learns in one pass: Adam, a warm-up, a rate that falls to the end.

A step takes the next documents, in their order, and minimises the mean over them of nats over
size. At the share u of the pass the rate is rate · min(1, (t+1)/warmup) · (1 − (1 − least) u).
Tables whose gradient is sparse have an optimiser of their own, with ``table_rate``. ``half`` lets
CUDA multiply in bfloat16; the losses that are logged are then those of that arithmetic.

`TextLearner.predict` gives the losses, and `TextLearner.update` uses the same forward pass: an
extra one is not needed, since no model of texts here draws anything at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dudley.certificates.texts.base import DocumentModel, TextBatch
from dudley.certificates.trainings.base import expect_number
from dudley.core.backend import torch
from dudley.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class TextDescent:
    """What is declared of the training."""

    batch: int = 32
    rate: float = 3e-3
    table_rate: float = 1e-2
    warmup: int = 50
    least: float = 0.1
    clip: float = 1.0
    half: bool = False
    seed: int = 0

    def __post_init__(self):
        expect_number("batch", self.batch, 1, 65_536)
        expect_number("warmup", self.warmup, 1, 10**7)
        for name in ("rate", "table_rate", "least"):
            expect_number(name, getattr(self, name), 0, 1)
        expect_number("clip", self.clip, 1e-9, 1e9)
        expect_number("seed", self.seed, 0, (1 << 32) - 1)


class TextLearner:
    """Final: a module that reads the documents of a pass, and its optimisers."""

    def __init__(self, model: DocumentModel, declared: TextDescent, device: str = "cpu"):
        if device not in ("cpu", "cuda") or (device == "cuda" and not torch.cuda.is_available()):
            expected = "cpu" + ", or cuda" * torch.cuda.is_available()
            raise InputError("device", expected, device)
        self.model, self.declared, self.device = model, declared, torch.device(device)
        if device == "cuda":  # cuDNN plans each new shape anew: 270 of 315 ms of a step
            torch.backends.cuda.enable_cudnn_sdp(False)
        torch.manual_seed(declared.seed)
        self.module = model.make().to(self.device)
        tables = {
            id(layer.weight)
            for layer in self.module.modules()
            if isinstance(layer, torch.nn.Embedding) and layer.sparse
        }
        weights = [W for W in self.module.parameters() if W.requires_grad]
        self.dense = [W for W in weights if id(W) not in tables]
        fused = True if device == "cuda" else None
        self.optimisers: list[torch.optim.Optimizer] = [
            torch.optim.Adam(self.dense, declared.rate, (0.9, 0.98), fused=fused)
        ]
        if sparse := [W for W in weights if id(W) in tables]:
            rate = declared.table_rate
            self.optimisers.append(torch.optim.SparseAdam(sparse, rate, (0.9, 0.99)))
        self._loss: torch.Tensor | None = None

    def predict(self, documents: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """−ln p of every symbol (n, T), and how many symbols each document has."""
        nats, lengths = self._nats(documents)
        sizes = torch.tensor([len(text) for text in documents], device=self.device)
        self._loss = (nats.sum(1) / sizes).mean()
        return _as_logged(nats), lengths.numpy()

    def look(self, documents: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """As `predict`, of documents that are not learnt from now."""
        with torch.no_grad():
            nats, lengths = self._nats(documents)
        return _as_logged(nats), lengths.numpy()

    def _nats(self, documents: Sequence[bytes]) -> TextBatch:
        codes, lengths = self.model.read(documents)
        batch = codes.to(self.device), lengths.to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.declared.half):
            return self.model.nats(self.module, batch), lengths

    def update(self, step: int, share: float) -> None:
        """Learn from the documents that were predicted last."""
        assert self._loss is not None
        now = min(1.0, (step + 1) / self.declared.warmup) * (1 - (1 - self.declared.least) * share)
        rates = (self.declared.rate, self.declared.table_rate)
        for optimiser, rate in zip(self.optimisers, rates, strict=False):
            for group in optimiser.param_groups:
                group["lr"] = rate * now
            optimiser.zero_grad()
        self._loss.backward()
        torch.nn.utils.clip_grad_norm_(self.dense, self.declared.clip)
        for optimiser in self.optimisers:
            optimiser.step()
        self._loss = None


def _as_logged(nats: torch.Tensor) -> np.ndarray:
    """As float64; a probability that rounding puts above 1 counts as 1."""
    return nats.detach().double().clamp(min=0).cpu().numpy()
