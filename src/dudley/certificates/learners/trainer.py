"""A learner whose rounds are runs of Hugging Face's ``Trainer`` on the picks.

``make_model()`` builds the start, a module whose ``forward`` takes keywords and ``labels`` and
returns a loss and ``.logits``, as the models of transformers do. ``encode(X)`` turns a tensor of
examples into those keywords; without it they are ``{"input_ids": X}``. It must treat each example
by itself. ``arguments`` are fields of ``TrainingArguments``, as a table: rates, steps, batch size,
warm-up, a scheduler. Each round makes a new Trainer, with a new optimiser, and calls ``train()`` on
the examples that it is given. Seeds are functions of the learner's seed and the round.

What would read anything else, or write anything, is refused by name: evaluation sets and
strategies, ``resume_from_checkpoint``, saving, reporting, hubs, and worker processes. Callbacks and
datasets cannot be given. A ``trainer`` class of one's own may compute another loss; what else it
reads is declared.

    learner = TrainerLearner(make_model, {"max_steps": 200, "learning_rate": 5e-5}, warm=True)
    du.certify_training(learner, data=(ids, labels), batches=50, rounds=4)

``transformers`` and ``accelerate`` are imported when a round is trained, not with this module.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dudley.certificates.learners.adapted import AdaptedLearner
from dudley.certificates.learners.arithmetic import deterministic
from dudley.certificates.learners.settings import expect_settings
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.extras import expect_installed

Encode = Callable[[torch.Tensor], Mapping[str, torch.Tensor]]
SET = ("output_dir", "seed", "data_seed", "use_cpu", "disable_tqdm", "remove_unused_columns")
REFUSED = {
    "eval": "an evaluation set is no part of a round",
    "do_eval": "an evaluation set is no part of a round",
    "do_predict": "a test set is no part of a round",
    "resume_from_checkpoint": "a round begins where pick-to-learn says",
    "load_best_model_at_end": "the best of several models would be chosen by other examples",
    "metric_for_best_model": "the best of several models would be chosen by other examples",
    "save": "pick-to-learn saves the state of its rounds",
    "push_to_hub": "a round writes nothing",
    "hub": "a round writes nothing",
    "report_to": "a round writes nothing",
    "logging": "a round writes nothing",
    "dataloader_num_workers": "examples are read by one process",
    "auto_find_batch_size": "the batch size would depend on the memory that is free",
}


def as_input_ids(X: torch.Tensor) -> dict[str, torch.Tensor]:
    """Rows of token ids as the one keyword."""
    return {"input_ids": X.long()}


@dataclass(frozen=True)
class TrainerLearner(AdaptedLearner):
    """Final: a factory, the arguments of a Trainer, an encoding of examples, a seed."""

    make_model: Callable[[], torch.nn.Module]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    encode: Encode = as_input_ids
    seed: int = 0
    warm: bool = False
    batch: int = 256
    device: str = "cpu"
    trainer: type | None = None

    def __post_init__(self):
        expect_settings("arguments of a Trainer", self.arguments, REFUSED, SET)
        expect_installed("transformers", "a Trainer", "hf")
        expect_installed("accelerate", "a Trainer", "hf")

    def table(self) -> dict[str, Any]:
        """The arguments, and names of the user's functions: what these do is declared."""
        return self._modules.table() | {
            "name": "trainer",
            "make_model": getattr(self.make_model, "__qualname__", "a factory"),
            "fit": getattr(self.trainer, "__qualname__", "Trainer"),
            "arguments": dict(self.arguments),
            "encode": getattr(self.encode, "__qualname__", "an encoding"),
        }

    def _make(self) -> torch.nn.Module:
        return EncodedModule(self.make_model(), self.encode)

    def _fit(self, module: torch.nn.Module, X: np.ndarray, y: np.ndarray) -> None:
        """One run; torch's generator was seeded by (seed, round), and gives the other seeds."""
        from transformers import PrinterCallback, Trainer  # pyright: ignore[reportMissingImports]

        assert isinstance(module, EncodedModule)
        seed = torch.initial_seed() % (1 << 31)
        with tempfile.TemporaryDirectory() as folder, deterministic(self.device):
            trainer = (self.trainer or Trainer)(
                model=module.inner,
                args=_arguments(self.arguments, folder, seed, self.device),
                train_dataset=_rows(self.encode(torch.from_numpy(X)), y),
            )
            trainer.remove_callback(PrinterCallback)
            trainer.train()
        module.to(self.device)


class EncodedModule(torch.nn.Module):
    """A model with keyword inputs, as a function of an array of examples."""

    def __init__(self, inner: torch.nn.Module, encode: Encode):
        super().__init__()
        self.inner, self.encode = inner, encode

    def forward(self, X: torch.Tensor) -> Any:
        return self.inner(**self.encode(X))


def _arguments(arguments: Mapping[str, Any], folder: str, seed: int, device: str) -> Any:
    """The TrainingArguments: what the user gave, and nothing that evaluates, saves or reports."""
    from transformers import TrainingArguments  # pyright: ignore[reportMissingImports]

    try:
        made = TrainingArguments(
            output_dir=folder, seed=seed, data_seed=seed, use_cpu=device == "cpu",
            eval_strategy="no", save_strategy="no", logging_strategy="no", report_to=[],
            disable_tqdm=True, remove_unused_columns=False, **arguments,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise InputError("arguments of a Trainer", "fields of TrainingArguments", error) from None
    if made.n_gpu > 1:
        fix = "set CUDA_VISIBLE_DEVICES to one of them"
        raise InputError("Trainer", "one device", f"{made.n_gpu} GPUs", fix)
    return made


def _rows(encoded: Mapping[str, torch.Tensor], y: np.ndarray) -> list[dict[str, torch.Tensor]]:
    """One table an example, in the order of the picks."""
    whole = {**encoded, "labels": torch.from_numpy(y)}
    return [{name: column[i] for name, column in whole.items()} for i in range(len(y))]
