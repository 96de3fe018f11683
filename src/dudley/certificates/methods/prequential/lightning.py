"""One pass with Lightning: an extra forward pass before each training step.

    log = Prequential(folder, start=…, …)
    Trainer(…, callbacks=[lightning_log(log, unit_losses)]).fit(module, loader)
    log.certificate()

Lightning hands a batch to its callbacks before the step. So the callback computes the losses of the
units itself, without gradients, by ``unit_losses(module, batch)``: one more forward pass, about a
third of a step. The module is in the mode that was declared meanwhile, and as it was afterwards.

The loader must not shuffle. Several processes read every r-th unit, as Lightning's sampler deals
them out. Only the first epoch is logged. After a restart in the middle of it Lightning counts its
batches on, but a loader without a state reads from the first unit again. So its batches are counted
here, and the log passes over what it has. ``lightning`` is imported when the callback is made, and
is no dependency.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.log import Prequential
from dudley.certificates.methods.prequential.trainer import expect_in_order, log_real
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing


def lightning_log(
    log: Prequential,
    unit_losses: Callable[[Any, Any], Any],
    say: Callable[[str], None] | None = None,
    every: int = 100,
) -> Any:
    """A ``lightning.pytorch.Callback`` that logs each batch before its step."""
    try:
        from lightning.pytorch import Callback  # pyright: ignore[reportMissingImports]
    except ImportError:
        why = "logging a pass of its Trainer needs lightning, which is absent"
        raise ExtraMissing(f"{why}: pip install lightning") from None

    class OnePassLightning(Callback):
        """Logs the losses of each batch before its step, in the first epoch."""

        batches = 0  # since the loader began

        def on_train_start(self, trainer, pl_module):
            from dudley.certificates.learners.module_predictor import expect_apart

            expect_apart(pl_module, log.declared.mode == "training")
            expect_in_order(trainer.train_dataloader)
            if (trainer.global_rank, trainer.world_size) != (log.rank, log.ranks):
                got = f"process {trainer.global_rank} of {trainer.world_size}"
                raise InputError("rank", f"{log.rank} of {log.ranks}, as the log has it", got)
            self.batches = 0

        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            if trainer.current_epoch:
                return
            losses, sizes = predicted(log.declared.mode, pl_module, unit_losses, batch)
            loader: Any = trainer.train_dataloader
            number = batch_idx if hasattr(loader, "load_state_dict") else self.batches
            self.batches, first = self.batches + 1, number * loader.batch_size
            places = (first + np.arange(len(losses))) * log.ranks + log.rank
            units = len(loader.dataset)
            log_real(log, places, losses, sizes, batch_idx, units)
            if say is not None and batch_idx % every == every - 1:
                say(log.line())

    return OnePassLightning()


def predicted(
    mode: str, module: Any, unit_losses: Callable[[Any, Any], Any], batch: Any
) -> tuple[Any, Any]:
    """Losses, and sizes or none, of a batch in the declared mode; the module is left as it was."""
    from dudley.core.backend import torch

    before = [(part, part.training) for part in module.modules()]
    module.train(mode == "training")
    try:
        with torch.no_grad():
            made = unit_losses(module, batch)
    finally:
        for part, training in before:
            part.training = training
    return made if isinstance(made, tuple) else (made, None)
