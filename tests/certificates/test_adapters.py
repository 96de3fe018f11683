"""Learners around Hugging Face's Trainer and Lightning, with the real libraries."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from dudley.certificates.learners.lightning import LightningLearner
from dudley.certificates.learners.settings import expect_settings
from dudley.certificates.learners.trainer import REFUSED, SET, TrainerLearner
from dudley.certificates.training import certify_training, verify_training
from dudley.core.backend import torch
from dudley.core.errors import InputError


def tokens(n: int = 600):
    """Six tokens of a vocabulary of eight; the label says whether the first is below four."""
    X = np.random.default_rng(0).integers(1, 8, (n, 6))
    return X, (X[:, 0] < 4).astype(np.int64)


@pytest.fixture
def transformers(require):
    there = find_spec("transformers") is not None and find_spec("accelerate") is not None
    require("transformers", there, "no transformers and accelerate")
    import transformers  # pyright: ignore[reportMissingImports]

    return transformers


@pytest.fixture
def lightning(require):
    require("lightning", find_spec("lightning") is not None, "no lightning")
    import lightning  # pyright: ignore[reportMissingImports]

    return lightning


def bert():
    from transformers import (  # pyright: ignore[reportMissingImports]
        BertConfig,
        BertForSequenceClassification,
    )

    config = BertConfig(
        vocab_size=8, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=8, num_labels=2,
    )  # fmt: skip
    return BertForSequenceClassification(config)


ARGUMENTS = {"max_steps": 30, "learning_rate": 5e-3, "per_device_train_batch_size": 16}


def test_a_trainer_is_certified_and_replayed(transformers, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data, learner = tokens(), TrainerLearner(bert, ARGUMENTS, warm=True)
    result = certify_training(learner, data=data, batches=12, rounds=4, tolerance=1e-5, seed=0)
    facts = result.certificate.facts
    assert facts.k == facts.picks + facts.failures and result.certificate.value < 0.35
    file = result.certificate.to_json()
    assert file["declared"]["learner"]["arguments"] == ARGUMENTS
    assert file["declared"]["learner"]["make_model"] == "bert"
    assert verify_training(file, learner, data).holds
    other = TrainerLearner(bert, ARGUMENTS | {"max_steps": 31}, warm=True)
    assert not verify_training(file, other, data).holds
    assert not list(tmp_path.iterdir()), "a round writes nothing"
    assert capsys.readouterr().out == ""


def test_a_resumed_trainer_goes_on_at_the_same_picks(transformers, tmp_path):
    data, learner = tokens(), TrainerLearner(bert, ARGUMENTS, warm=True)
    whole = certify_training(learner, data=data, batches=12, rounds=3, seed=0)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify_training(
            learner, data=data, batches=12, rounds=3, folder=tmp_path, seed=0, say=stop
        )
    again = certify_training(learner, data=data, batches=12, rounds=3, folder=tmp_path, seed=0)
    assert again.certificate.to_json()["choices"] == whole.certificate.to_json()["choices"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"eval_strategy": "epoch"}, {"do_eval": True}, {"resume_from_checkpoint": "x"},
        {"load_best_model_at_end": True}, {"report_to": "wandb"}, {"push_to_hub": True},
        {"dataloader_num_workers": 2}, {"seed": 1}, {"output_dir": "x"}, {"callbacks": object()},
        {"save_steps": 3}, {"auto_find_batch_size": True},
    ],
)  # fmt: skip
def test_arguments_that_break_the_rule_are_refused(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        expect_settings("arguments of a Trainer", arguments, REFUSED, SET)


def test_unknown_arguments_are_refused(transformers):
    learner = TrainerLearner(bert, {"max_stepz": 3})
    with pytest.raises(InputError, match="fields of TrainingArguments"):
        certify_training(learner, data=tokens(), batches=12, rounds=2)


def tower(lightning, **hooks):
    """A factory of Lightning modules, with further methods."""

    class Tower(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.embed, self.out = torch.nn.Embedding(8, 16), torch.nn.Linear(6 * 16, 2)

        def forward(self, X):
            return self.out(self.embed(X).flatten(1))

        def training_step(self, batch, batch_idx):
            return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 1e-2)

    for name, hook in hooks.items():
        setattr(Tower, name, hook)
    return Tower


@pytest.mark.parametrize("warm", [False, True])
def test_a_lightning_module_is_certified_and_replayed(lightning, warm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, data = tower(lightning), tokens()
    learner = LightningLearner(make, {"max_epochs": 15}, batch_size=16, warm=warm)
    result = certify_training(learner, data=data, batches=12, rounds=4, tolerance=1e-5, seed=0)
    assert result.certificate.value < 0.35
    file = result.certificate.to_json()
    assert file["declared"]["learner"]["make_model"].endswith("Tower")
    assert verify_training(file, learner, data).holds
    assert not list(tmp_path.iterdir()), "a round writes nothing"


def test_a_lightning_module_that_brings_data_or_callbacks_is_refused(lightning):
    for hook in ("train_dataloader", "val_dataloader", "configure_callbacks"):
        learner = LightningLearner(tower(lightning, **{hook: lambda self: []}), {"max_epochs": 1})
        with pytest.raises(InputError, match=hook):
            learner.start()
    with pytest.raises(InputError, match="LightningModule"):
        LightningLearner(lambda: torch.nn.Linear(2, 2), {"max_epochs": 1}).start()


def test_lightning_settings_that_break_the_rule_are_refused(lightning):
    make = tower(lightning)
    for settings in (
        {"callbacks": "x"}, {"logger": True}, {"max_time": "1h"}, {"limit_train_batches": 0.5},
        {"val_check_interval": 2}, {"deterministic": False}, {"enable_checkpointing": True},
    ):  # fmt: skip
        with pytest.raises(InputError, match=next(iter(settings))):
            LightningLearner(make, {"max_epochs": 1, **settings})
    with pytest.raises(InputError, match="max_epochs or max_steps"):
        LightningLearner(make, {})
    with pytest.raises(InputError, match="those of Lightning"):
        learner = LightningLearner(make, {"max_epochs": 1, "max_epoch": 2})
        certify_training(learner, data=tokens(), rounds=2)
