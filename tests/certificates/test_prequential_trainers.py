"""A pass in Hugging Face's Trainer and in Lightning: by their contract, and with the packages."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from dudley.certificates.methods.prequential.lightning import lightning_log
from dudley.certificates.methods.prequential.log import Prequential
from dudley.certificates.methods.prequential.passlog import read_pass
from dudley.certificates.methods.prequential.trainer import trainer_log
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing

X = np.random.default_rng(0).integers(0, 2, (90, 6)).astype(np.float32)
Y = (X[:, 0] * X[:, 3]).astype(np.int64)


class Loader:
    """As much of a loader as the callbacks look at."""

    def __init__(self, sampler=None, batch_size=5):
        self.sampler, self.batch_size, self.dataset = sampler, batch_size, list(X)


class RandomSampler: ...


@pytest.fixture
def transformers(monkeypatch):
    module = ModuleType("transformers")
    module.TrainerCallback = object
    monkeypatch.setitem(sys.modules, "transformers", module)


@pytest.fixture
def lightning(monkeypatch):
    module = ModuleType("lightning.pytorch")
    module.Callback = object
    monkeypatch.setitem(sys.modules, "lightning", ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", module)


def run_trainer(watch, log, first=0, accumulate=2, steps=9, size=5):
    """The calls of a Trainer with an evaluation after each step; units are their own losses."""
    arguments = SimpleNamespace(
        world_size=log.ranks, process_index=log.rank, train_batch_size=size,
        gradient_accumulation_steps=accumulate,
    )  # fmt: skip
    state = SimpleNamespace(global_step=first, epoch=0.0)
    watch.on_train_begin(arguments, state, None, train_dataloader=Loader())
    for step in range(first, steps):
        state.global_step = step
        watch.on_step_begin(arguments, state, None)
        for micro in range(accumulate):
            at = ((step * accumulate + micro) * log.ranks + log.rank) * size
            units = np.arange(at, at + size) % len(Y)  # the last batch is filled up from the start
            assert watch.compute_loss(units, None, 5) == 5
        watch.on_step_end(arguments, state, None)
        watch.compute_loss(np.arange(99), None)  # an evaluation
    watch.on_train_end(arguments, state, None)


def unit_losses(outputs, labels):
    return Y[outputs].astype(float)


def test_a_trainer_with_accumulation_and_a_restart(transformers, tmp_path):
    for first in (0, 4):  # the second run was restored from step 4
        with Prequential(tmp_path, mode="training") as log:
            run_trainer(trainer_log(log, unit_losses, lambda o, y, n: n), log, first, 2, 7 + first)
    assert (read_pass(tmp_path).losses == Y).all()


def test_a_trainer_on_three_devices_logs_no_unit_twice(transformers, tmp_path):
    for rank in range(3):
        with Prequential(tmp_path, rank=rank, ranks=3, mode="training") as log:
            run_trainer(trainer_log(log, unit_losses, lambda o, y, n: n), log, steps=4, size=4)
    assert (read_pass(tmp_path).losses == Y).all()


def test_what_would_spoil_a_trainer_is_refused(transformers, tmp_path):
    with Prequential(tmp_path / "a") as log, pytest.raises(InputError, match="training"):
        trainer_log(log, unit_losses, lambda o, y, n: n)
    with Prequential(tmp_path / "b", mode="training") as log:
        watch = trainer_log(log, unit_losses, lambda o, y, n: n)
        arguments = SimpleNamespace(world_size=2, process_index=1)
        with pytest.raises(InputError, match="sequential"):
            watch.on_train_begin(arguments, None, None, train_dataloader=Loader(RandomSampler()))
        with pytest.raises(InputError, match="rank"):
            watch.on_train_begin(arguments, None, None, train_dataloader=Loader())
        norm = pytest.importorskip("torch").nn.BatchNorm1d(3)
        with pytest.raises(InputError, match="the statistics of a batch"):
            watch.on_train_begin(arguments, None, None, train_dataloader=Loader(), model=norm)


def test_a_trainer_that_reads_from_the_first_unit_again_logs_none_as_new(transformers, tmp_path):
    """With ignore_data_skip the batch after a restart is the first one, which was learnt from."""
    with Prequential(tmp_path, mode="training") as log:
        run_trainer(trainer_log(log, unit_losses, lambda o, y, n: n), log, steps=4)
        watch = trainer_log(log, lambda outputs, labels: np.zeros(5), lambda o, y, n: n)
        arguments = SimpleNamespace(
            world_size=1, process_index=0, train_batch_size=5, gradient_accumulation_steps=2,
            ignore_data_skip=True,
        )  # fmt: skip
        state = SimpleNamespace(global_step=4, epoch=0.0)
        watch.on_train_begin(arguments, state, None, train_dataloader=Loader())
        watch.on_step_begin(arguments, state, None)
        watch.compute_loss(np.arange(5), None)
        assert log.units == 40


def test_lightning_that_reads_from_the_first_unit_again_logs_none_as_new(lightning, tmp_path):
    """A loader without a state begins with unit 0 after a restart, whatever the batch's number."""
    torch = pytest.importorskip("torch")
    resumable = Loader()
    resumable.load_state_dict = None  # it says that it goes on where it was
    for loader, units in ((Loader(), 20), (resumable, 30)):
        with Prequential(tmp_path / str(units)) as log:
            for batches in (range(4), range(4, 6)):
                watch = lightning_log(log, lambda module, batch: np.zeros(5))
                trainer = SimpleNamespace(
                    train_dataloader=loader, global_rank=0, world_size=1, current_epoch=0
                )
                watch.on_train_start(trainer, torch.nn.Linear(1, 1))
                for i in batches:
                    watch.on_train_batch_start(trainer, torch.nn.Linear(1, 1), None, i)
            assert log.units == units


def test_without_the_packages_the_way_is_told(monkeypatch, tmp_path):
    with Prequential(tmp_path, mode="training") as log:
        for name in ("transformers", "lightning", "lightning.pytorch"):
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ExtraMissing, match="pip install transformers"):
            trainer_log(log, unit_losses, unit_losses)
        with pytest.raises(ExtraMissing, match="pip install lightning"):
            lightning_log(log, unit_losses)


def test_lightning_predicts_in_the_declared_mode_and_leaves_the_module(lightning, tmp_path):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(6, 2), torch.nn.Dropout(0.5))
    module[1].eval()
    seen = []

    def losses(module, batch):
        seen.append((module[1].training, torch.is_grad_enabled()))
        return Y[batch].astype(float)

    with Prequential(tmp_path / "mixed", mode="training") as log:
        watch = lightning_log(log, losses)
        with pytest.raises(InputError, match="the statistics of a batch"):
            watch.on_train_start(None, torch.nn.BatchNorm1d(3))
    for mode in ("evaluation", "training"):
        for rank in range(2):
            with Prequential(tmp_path / mode, rank=rank, ranks=2, mode=mode) as log:
                watch = lightning_log(log, losses)
                trainer = SimpleNamespace(
                    train_dataloader=Loader(), global_rank=rank, world_size=2, current_epoch=0
                )
                watch.on_train_start(trainer, module)
                for i in range(9):
                    units = (5 * i + np.arange(5)) * 2 + rank
                    watch.on_train_batch_start(trainer, module, units, i)
                trainer.current_epoch = 1
                watch.on_train_batch_start(trainer, module, np.arange(5), 0)
        assert (read_pass(tmp_path / mode).losses == Y).all()
        assert set(seen) == {(mode == "training", False)} and not module[1].training
        assert module[0].training
        seen.clear()


@pytest.mark.slow
def test_a_real_trainer(tmp_path, require):
    present = all(find_spec(name) for name in ("transformers", "accelerate", "torch"))
    require("transformers", present, "no transformers and accelerate")
    import torch
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(6, 2)

        def forward(self, x):
            return {"logits": self.linear(x)}

    data = [{"x": torch.tensor(x), "labels": int(y)} for x, y in zip(X, Y, strict=True)]
    arguments = TrainingArguments(
        output_dir=str(tmp_path / "out"), per_device_train_batch_size=4, num_train_epochs=2,
        gradient_accumulation_steps=2, report_to=[], use_cpu=True, label_names=["labels"],
        train_sampling_strategy="sequential", eval_strategy="steps", eval_steps=3,
        save_strategy="no", disable_tqdm=True, remove_unused_columns=False,
    )  # fmt: skip
    logged: list[np.ndarray] = []

    def losses(outputs, labels):
        wrong = (outputs["logits"].argmax(1) != labels).double()
        logged.append(labels.numpy())
        return wrong

    def loss(outputs, labels, items):
        return torch.nn.functional.cross_entropy(outputs["logits"], labels)

    with Prequential(tmp_path, mode="training") as log:
        watch = trainer_log(log, losses, loss)
        trainer = Trainer(
            Model(), arguments, train_dataset=data, eval_dataset=data[:8],
            compute_loss_func=watch.compute_loss, callbacks=[watch],
        )  # fmt: skip
        trainer.train()
        assert log.units == 90
    assert (np.concatenate(logged) == Y).all() and read_pass(tmp_path).n == 90


@pytest.mark.slow
def test_a_real_lightning_trainer(tmp_path, require):
    present = all(find_spec(name) for name in ("lightning", "torch"))
    require("lightning", present, "no lightning")
    import torch
    from lightning.pytorch import LightningModule, Trainer

    class Model(LightningModule):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(6, 2)

        def training_step(self, batch, batch_idx):
            return torch.nn.functional.cross_entropy(self.linear(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    def losses(module, batch):
        return (module.linear(batch[0]).argmax(1) != batch[1]).double()

    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    with Prequential(tmp_path) as log:
        trainer = Trainer(
            max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False,
            callbacks=[lightning_log(log, losses)],
        )  # fmt: skip
        trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=8))
        assert log.units == 90 and log.certificate().facts.units == 90
        watch = lightning_log(log, losses)
        shuffled = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
        with pytest.raises(InputError, match="sampler"):
            Trainer(
                max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                enable_progress_bar=False, enable_model_summary=False, callbacks=[watch],
            ).fit(Model(), shuffled)  # fmt: skip
