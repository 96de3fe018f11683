"""One pass with Hugging Face's ``Trainer``: the losses of its own forward pass, no extra one.

    log = Prequential(folder, mode="training", start=…, …)
    watch = trainer_log(log, unit_losses, train_loss)
    Trainer(model, args, …, compute_loss_func=watch.compute_loss, callbacks=[watch]).train()
    log.certificate()

``compute_loss`` is called with the outputs of the forward pass that the update is about to use:
before it, so the losses of the units are honest, and they cost no forward pass. They are those of
the model in training mode, which is declared (``mode="training"``); a model without dropout
computes the same in both. ``unit_losses(outputs, labels)`` gives one loss for each unit of a batch
(bits: losses and sizes), ``train_loss(outputs, labels, items)`` the loss that is minimised.

The Trainer must read the units in their order: ``train_sampling_strategy="sequential"`` (in older
versions, a `_get_train_sampler` that returns a `SequentialSampler`); a random sampler is refused.
Several processes share the batches of a step one after the other, as accelerate deals them out.
Only the first epoch is logged, and nothing during evaluation. After a restart the Trainer skips
what the restored model has learnt from, and the log passes over what it has. Where it is told to
skip nothing (``ignore_data_skip``), it reads from the first unit again, and so do the places.

``transformers`` is imported when the callback is made, and is no dependency.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.log import Prequential
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing


def trainer_log(
    log: Prequential,
    unit_losses: Callable[[Any, Any], Any],
    train_loss: Callable[[Any, Any, Any], Any],
    say: Callable[[str], None] | None = None,
    every: int = 100,
) -> Any:
    """A ``transformers.TrainerCallback`` with a ``compute_loss`` for the Trainer."""
    try:
        from transformers import TrainerCallback  # pyright: ignore[reportMissingImports]
    except ImportError:
        why = "logging a pass of its Trainer needs transformers, which is absent"
        raise ExtraMissing(f"{why}: pip install transformers") from None
    if log.declared.mode != "training":
        fix = 'declare mode="training": the losses are those of the forward pass of the update'
        raise InputError("mode of the pass", "training", log.declared.mode, fix)

    class OnePassCallback(TrainerCallback):
        """Logs the losses of each batch before its update, in the first epoch."""

        active = False  # between the first forward pass of a step and its update
        batches = 0  # of this process, before the one that comes
        size = 0  # units of a batch on one device
        units = 0  # of the data
        step = 0

        def compute_loss(self, outputs, labels, num_items_in_batch=None):
            """Log the losses of the units, then give the loss that is minimised."""
            if self.active:
                made = unit_losses(outputs, labels)
                losses, sizes = made if isinstance(made, tuple) else (made, None)
                first = (self.batches * log.ranks + log.rank) * self.size
                log_real(log, first + np.arange(len(losses)), losses, sizes, self.step, self.units)
                self.batches += 1
            return train_loss(outputs, labels, num_items_in_batch)

        def on_train_begin(
            self, args, state, control, *, train_dataloader: Any, model: Any = None, **kwargs
        ):
            from dudley.certificates.learners.module_predictor import expect_apart

            expect_in_order(train_dataloader)
            if model is not None:
                expect_apart(model, training=True)
            if args.world_size != log.ranks or args.process_index != log.rank:
                got = f"process {args.process_index} of {args.world_size}"
                raise InputError("rank", f"{log.rank} of {log.ranks}, as the log has it", got)
            self.size, self.units = args.train_batch_size, len(train_dataloader.dataset)
            again = getattr(args, "ignore_data_skip", False)
            self.batches = 0 if again else state.global_step * args.gradient_accumulation_steps

        def on_step_begin(self, args, state, control, **kwargs):
            self.active, self.step = (state.epoch or 0) < 1, state.global_step

        def on_step_end(self, args, state, control, **kwargs):
            self.active = False
            if say is not None and self.step % every == every - 1:
                say(log.line())

        def on_train_end(self, args, state, control, **kwargs):
            self.active = False

    return OnePassCallback()


def log_real(
    log: Prequential, places: np.ndarray, losses: Any, sizes: Any, step: int, units: int
) -> None:
    """Log the units that there are: a last batch is filled up with units that were read before."""
    real = int((places < units).sum())
    if real:
        log.before(places[:real], losses[:real], None if sizes is None else sizes[:real], step)


def expect_in_order(loader: Any) -> None:
    """Refuse a loader that can be seen to draw the units at random."""
    batches = getattr(loader, "batch_sampler", None)
    samplers = [getattr(loader, "sampler", None), getattr(batches, "sampler", None)]
    samplers.append(getattr(getattr(batches, "batch_sampler", None), "sampler", None))
    for sampler in samplers:
        name = type(sampler).__name__
        shuffled = getattr(sampler, "shuffle", False) is True
        if "Random" in name or "Length" in name or shuffled:
            fix = 'give TrainingArguments train_sampling_strategy="sequential"'
            raise InputError("sampler of the training", "one in the order of the units", name, fix)
