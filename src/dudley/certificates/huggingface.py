"""A callback for Hugging Face's ``Trainer``: the terms of a certificate in its log history.

``transformers`` is imported when a callback is made, not with this module, and is no dependency.

    log = Log("occam", data, hypothesis=mine, counts="last")
    Trainer(model, args, …, callbacks=[trainer_callback(log)]).train()
    log.certificate

After each evaluation of the trainer, and at its end with the model that it keeps, the log is
told; its row is appended to ``state.log_history`` with the prefix ``certificate.``, by the main
process alone. It is not put among the metrics, so that no ``metric_for_best_model`` picks a model
by it.
"""

from __future__ import annotations

from typing import Any

from dudley.certificates.callbacks import Callback
from dudley.core.extras import ExtraMissing

PREFIX = "certificate."


def trainer_callback(log: Callback) -> Any:
    """A ``transformers.TrainerCallback`` that tells the log."""
    try:
        from transformers import TrainerCallback  # pyright: ignore[reportMissingImports]
    except ImportError:
        why = "a callback for its Trainer needs transformers, which is absent"
        raise ExtraMissing(f"{why}: pip install transformers") from None

    class CertificateCallback(TrainerCallback):
        """Tells a log of evaluations and of the end of training."""

        def on_evaluate(self, args, state, control, model=None, **kwargs):
            _tell(log.on_evaluate, state, model)

        def on_train_end(self, args, state, control, model=None, **kwargs):
            _tell(log.on_end, state, model)

    return CertificateCallback()


def _tell(hook, state, model) -> None:
    if not state.is_world_process_zero:
        return
    row = hook(state.global_step, model)
    terms = {PREFIX + name: value for name, value in row.items() if name != "step"}
    state.log_history.append({"step": state.global_step, "epoch": state.epoch} | terms)
