"""A learner whose rounds are fits of a Lightning module on the picks.

``make_module()`` builds the start, a ``LightningModule`` with ``forward(X)``, ``training_step`` and
``configure_optimizers``. A batch is a pair of tensors (X, y) of ``batch_size`` examples, shuffled
by torch's generator. ``settings`` are those of ``lightning.Trainer``, as a table: max_epochs,
max_steps, gradient_clip_val, precision. Each round makes a new Trainer with ``deterministic=True``,
without logger, checkpoints or validation. Seeds are functions of the learner's seed and the round.

A module that brings data of its own (``train_dataloader``, ``val_dataloader``, …), or callbacks, is
refused, and so are settings that do: such a round could read other examples than its own.

    learner = LightningLearner(make_module, {"max_epochs": 20}, batch_size=32)
    du.certify_training(learner, data=(X, y), batches=20, rounds=5)

``lightning`` (or ``pytorch_lightning``) is imported when a round is trained, not with this module.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from dudley.certificates.learners.adapted import AdaptedLearner
from dudley.certificates.learners.settings import expect_settings
from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing

PACKAGES = ("lightning", "pytorch_lightning")
SET = ("accelerator", "devices", "num_nodes", "strategy", "deterministic", "inference_mode")
REFUSED = {
    "callbacks": "a callback may read other examples, or stop by them",
    "logger": "a round writes nothing",
    "log": "a round writes nothing",
    "default_root_dir": "a round writes nothing",
    "profiler": "a round writes nothing",
    "plugins": "no plug-in is part of a round",
    "enable": "a round shows and saves nothing",
    "limit": "all examples of a round are read",
    "overfit_batches": "all examples of a round are read",
    "val": "a validation set is no part of a round",
    "check_val_every_n_epoch": "a validation set is no part of a round",
    "num_sanity_val_steps": "a validation set is no part of a round",
    "max_time": "a round may not depend on the clock",
    "benchmark": "the fastest algorithm is chosen by the clock",
    "reload_dataloaders_every_n_epochs": "the examples of a round stay the same",
    "fast_dev_run": "all examples of a round are read",
}
HOOKS = (
    "train_dataloader", "val_dataloader", "test_dataloader", "predict_dataloader", "prepare_data",
    "configure_callbacks",
)  # fmt: skip


@dataclass(frozen=True)
class LightningLearner(AdaptedLearner):
    """Final: a factory, the settings of a Trainer, the batch size of its loader, a seed."""

    make_module: Callable[[], torch.nn.Module]
    settings: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 32
    seed: int = 0
    warm: bool = False
    batch: int = 256
    device: str = "cpu"

    def __post_init__(self):
        expect_settings("settings of a Trainer", self.settings, REFUSED, SET)
        if not {"max_epochs", "max_steps"} & set(self.settings):
            raise InputError("settings of a Trainer", "max_epochs or max_steps", "neither")
        size_of("batch_size", self.batch_size)
        _package()

    def table(self) -> dict[str, Any]:
        """The settings, and the name of the user's factory: what it makes is declared."""
        plain = self._modules.table()
        del plain["fit"]
        return plain | {
            "name": "lightning",
            "make_model": getattr(self.make_module, "__qualname__", "a factory"),
            "settings": dict(self.settings),
            "batch_size": self.batch_size,
        }

    def _make(self) -> torch.nn.Module:
        return expect_plain(self.make_module(), _package())

    def _fit(self, module: torch.nn.Module, X: np.ndarray, y: np.ndarray) -> None:
        """One fit; torch's generator was seeded by (seed, round) before."""
        from torch.utils.data import DataLoader, TensorDataset

        rows = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
        loader = DataLoader(rows, self.batch_size, shuffle=True)
        with tempfile.TemporaryDirectory() as folder, _quiet():
            try:
                trainer = _package().Trainer(
                    accelerator="cpu" if self.device == "cpu" else "gpu", devices=1,
                    deterministic=True, logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, limit_val_batches=0,
                    num_sanity_val_steps=0, default_root_dir=folder, **self.settings,
                )  # fmt: skip
            except (TypeError, ValueError) as error:
                raise InputError("settings of a Trainer", "those of Lightning", error) from None
            trainer.fit(module, loader)
        module._trainer = None  # pyright: ignore[reportArgumentType]  # it would keep the loader
        module.to(self.device)


def expect_plain(module: Any, package: Any) -> torch.nn.Module:
    """Refuse what is no Lightning module, and one that brings data or callbacks."""
    base = package.LightningModule
    if not isinstance(module, base):
        expected = f"a {package.__name__}.LightningModule"
        raise InputError("make_module", expected, type(module).__name__)
    for name in HOOKS:
        if getattr(type(module), name, None) is not getattr(base, name, None):
            fix = "a round may read no examples but its own"
            raise InputError("module", f"one without {name}", type(module).__name__, fix)
    return module


def _package() -> Any:
    """The package that is installed, imported."""
    from importlib import import_module

    for name in PACKAGES:
        if find_spec(name) is not None:
            return import_module(name)
    raise ExtraMissing("a Lightning module needs lightning, which is absent: pip install lightning")


@contextmanager
def _quiet() -> Iterator[None]:
    """No advice about devices and workers while a round is trained; warnings of torch stay."""
    loggers = [
        logging.getLogger(name)
        for name in ("lightning.pytorch", "lightning.fabric", *PACKAGES[1:], "lightning_fabric")
    ]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="(pytorch_)?lightning.*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
