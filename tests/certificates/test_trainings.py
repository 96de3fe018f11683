"""Named trainings: every one of the registry keeps the contract, and its files are checked."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates import files, tensors
from dudley.certificates.certify import certify
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.learners.training import TrainingLearner, learner_of
from dudley.certificates.methods.pick_to_learn.method import PickToLearn
from dudley.certificates.training import certify_training, verify_training
from dudley.certificates.trainings import files as trained
from dudley.certificates.trainings.augment import warped
from dudley.certificates.trainings.base import (
    TRAININGS,
    NamedTraining,
    training_named,
    training_of,
)
from dudley.certificates.trainings.encoder import TokenEncoder
from dudley.certificates.trainings.vit import ViT
from dudley.core.backend import torch
from dudley.core.errors import DudleyError, InputError
from each import for_each

RNG = np.random.default_rng(0)
TOKENS = RNG.integers(0, 2, (300, 6)).astype(np.uint8)
IMAGES = RNG.integers(0, 256, (300, 8, 8)).astype(np.uint8)
IDS = RNG.integers(1, 30, (300, 7)).astype(np.uint16)
IDS[::2, 5:] = 0  # padding
ENCODER = TokenEncoder(length=6, layers=1, d=8, heads=2, hidden=16, steps=(8,), initial_steps=4)
VIT = ViT(
    classes=2, size=(8, 8), layers=2, d=8, heads=2, hidden=16, batch=8, steps=(5,), initial_steps=4
)
EXAMPLES = {
    "encoder": (TOKENS, TOKENS[:, 0].astype(np.int64)),
    "vit": (IMAGES, (IMAGES[:, :, :4].mean((1, 2)) > IMAGES[:, :, 4:].mean((1, 2))) * 1),
    "hf": (IDS, (IDS[:, 0] > 15) * 1),
}


def bert(folder: Path, seed: int = 0) -> Path:
    """A tiny encoder in a folder as Hugging Face writes it."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=8,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


def tiny_hf(folder: Path) -> NamedTraining:
    settings = {"steps": [5], "initial_steps": 4, "batch": 4, "rate": 1e-3, "dropout": 0.1}
    return training_named(f"hf:{bert(folder / 'tiny')}", settings)


@pytest.fixture(params=["encoder", "vit", "hf"])
def training(request, require) -> NamedTraining:
    if request.param == "hf":
        require("transformers", find_spec("transformers") is not None, "pip install '.[hf]'")
        return request.getfixturevalue("tiny")
    return {"encoder": ENCODER, "vit": VIT}[request.param]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> NamedTraining:
    return tiny_hf(tmp_path_factory.mktemp("hf"))


def test_every_training_is_tried_here():
    assert set(TRAININGS) == set(EXAMPLES)


def test_a_table_makes_the_same_training(training):
    table = json.loads(json.dumps(training.table()))
    again = training_of(table)
    assert again == training and again.table() == table
    assert "folder" not in table and str(table).find("/") == -1


def test_the_same_picks_give_the_same_model_whatever_else(training):
    X, y = EXAMPLES[training.name]
    learner = TrainingLearner(training, seed=3)
    rows = np.array([5, 2, 9, 30, 7])
    first = learner.train(X[rows], y[rows], 2, learner.start())
    torch.rand(17), np.random.rand(3)  # what went before changes nothing
    second = learner.train(X[rows].copy(), y[rows].copy(), 2, learner.start())
    assert first.sha256 == second.sha256 != learner.start().sha256
    others = (
        learner.train(X[rows], y[rows], 3, learner.start()),
        learner.train(X[rows[::-1]], y[rows[::-1]], 2, learner.start()),
        replace(learner, seed=4).train(X[rows], y[rows], 2, learner.start()),
    )
    if training.name != "encoder":  # which takes all picks at once, and draws nothing
        assert first.sha256 not in {other.sha256 for other in others}


def test_no_output_depends_on_its_batch(training):
    X, y = EXAMPLES[training.name]
    learner = TrainingLearner(training, batch=64)
    model = learner.train(X[:20], y[:20], 1, learner.start())
    alone = ModulePredictor(model.module, batch=1)
    assert np.abs(model.outputs(X[:80]) - alone.outputs(X[:80])).max() < 1e-5


def test_files_certificates_and_replays(training, tmp_path):
    X, y = EXAMPLES[training.name]
    learner = TrainingLearner(training, seed=1, warm=True, batch=32)
    result = certify_training(
        learner, data=(X, y), batches=8, rounds=3, initial=20, tolerance=1e-4, seed=0
    )
    path = tmp_path / "model.safetensors"
    learner.save(result.model, path)
    for again in (trained.load(path), files.load(path), PickToLearn().read_model(path)):
        assert again.sha256 == result.model.sha256
        assert (again.outputs(X) == result.model.outputs(X)).all()
    file = json.loads(result.certificate.text())
    assert verify_training(file, learner, (X, y), trained.load(path)).holds
    start = getattr(training, "folder", None)
    replayed = learner_of(file["declared"]["learner"], start=start)
    assert verify_training(file, replayed, (X, y)).holds
    assert not verify_training(file, replace(replayed, seed=2), (X, y)).holds


def test_a_resumed_run_ends_at_the_same_model(training, tmp_path):
    X, y = EXAMPLES[training.name]
    learner = TrainingLearner(training, warm=True)
    rule = {"data": (X, y), "batches": 4, "rounds": 3}
    whole = certify_training(learner, **rule, seed=0)

    def kill(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify_training(learner, folder=tmp_path / "run", seed=0, say=kill, **rule)
    again = certify_training(learner, folder=tmp_path / "run", **rule, seed=0)
    assert again.model.sha256 == whole.model.sha256
    assert again.certificate.value == whole.certificate.value


def test_odd_settings_are_refused():
    rows = (
        {"steps": ()}, {"steps": (-1,)}, {"steps": (2.5,)}, {"last_round": 3}, {"last_steps": 3},
        {"batch": -1}, {"rate": float("nan")}, {"rate": "fast"}, {"betas": (0.9,)},
        {"betas": (0.9, 1.0)}, {"smoothing": 1.0}, {"averaging": -0.1}, {"half": 1},
        {"size": (8,)}, {"patch": 3}, {"heads": 3}, {"layers": 0}, {"layers": 10**9},
        {"classes": 1}, {"pooling": "max"}, {"elastic": 2.0}, {"rotation": -1.0},
    )  # fmt: skip

    def refused(fields):
        with pytest.raises(InputError):
            replace(VIT, **fields)
        with pytest.raises(DudleyError):
            training_of(json.loads(json.dumps({**VIT.table(), **fields})))

    for_each(((str(fields), fields) for fields in rows), refused)
    for fields in ({"signed": True, "vocabulary": 3}, {"length": 0}, {"vocabulary": 1}):
        with pytest.raises(InputError):
            replace(ENCODER, **fields)


def test_odd_tables_are_refused():
    table = VIT.table()
    rows = (
        ("none", {}, "a table with a name"),
        ("unknown", {"name": "vitt"}, "did you mean vit"),
        ("a field of no training", {**table, "steppes": 3}, "did you mean"),
        ("a missing field", {"name": "vit"}, "classes"),
        ("a module of this folder", {"name": "descent"}, "known"),
        ("a folder", {"name": "hf", "folder": "/etc"}, "unknown setting"),
    )

    def refused(table, words):
        with pytest.raises(DudleyError, match=words):
            training_of(table)

    for_each(rows, refused)
    with pytest.raises(InputError, match="random weights"):
        training_of(table, start="somewhere")
    with pytest.raises(InputError, match="named training"):
        learner_of({"name": "module", "seed": 0})
    with pytest.raises(InputError, match="the fields"):
        learner_of({"name": "training", "training": table})
    with pytest.raises(InputError, match="device"):
        TrainingLearner(VIT, device="tpu")
    with pytest.raises(InputError, match="seed"):
        TrainingLearner(VIT, seed=-1)


def test_odd_examples_are_refused():
    rows = (
        ("a token too large", ENCODER, TOKENS + 1, np.zeros(300, np.int64)),
        ("another length", ENCODER, TOKENS[:, :5], np.zeros(300, np.int64)),
        ("floats", ENCODER, TOKENS.astype(np.float32), np.zeros(300, np.int64)),
        ("another size", VIT, IMAGES[:, :4], np.zeros(300, np.int64)),
        ("a label too large", VIT, IMAGES, np.full(300, 2)),
    )

    def refused(training, X, y):
        with pytest.raises(InputError):
            training.fit(training.make_model(), X, y, 1)

    for_each(rows, refused)


def test_odd_files_are_refused(tmp_path):
    learner, path = TrainingLearner(ENCODER), tmp_path / "model.safetensors"
    learner.save(learner.start(), path)
    header, arrays = tensors.read(path)
    first = sorted(arrays)[0]
    other = {**ENCODER.table(), "layers": 2}
    endless = {**ENCODER.table(), "d": 65_536, "hidden": 1 << 20, "layers": 8}
    rows = (
        ("another schema", {**header, "schema": "dudley.trained/9"}, arrays),
        ("another table", {**header, "training": other}, arrays),
        ("an endless table", {**header, "training": endless}, arrays),
        ("no table", {"schema": tensors.TRAINED}, arrays),
        ("a text for a table", {**header, "training": "vit"}, arrays),
        ("a batch of none", {**header, "batch": 0}, arrays),
        ("a blueprint of none", {**header, "blueprint": 3}, arrays),
        ("a weight less", header, {k: W for k, W in arrays.items() if k != first}),
        ("a weight more", header, {**arrays, "more": arrays[first]}),
        ("another shape", header, {**arrays, first: arrays[first][..., :1]}),
        ("another type", header, {**arrays, first: arrays[first].astype(np.float64)}),
        ("no number", header, {**arrays, first: np.full_like(arrays[first], np.nan)}),
    )

    def refused(header, arrays):
        tensors.write(path, header, arrays)
        with pytest.raises(DudleyError):
            files.load(path)

    for_each(rows, refused)
    tensors.write(path, {}, arrays)
    with pytest.raises(InputError, match="verify_training"):
        PickToLearn().read_model(path)


def test_a_file_is_certified_on_a_hold_out(tmp_path):
    X, y = EXAMPLES["encoder"]
    learner, path = TrainingLearner(ENCODER), tmp_path / "model.safetensors"
    learner.save(learner.train(X[:90], y[:90], 1, learner.start()), path)
    torch.manual_seed(0)
    ranking = certify(path, holdout=(X[90:], y[90:]), declared={"hold-out": {"repeats": True}})
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert ranking.best.method == "hold-out" and drawn == torch.rand(1)  # reading draws nothing
    with pytest.raises(InputError, match="certify_training"):
        certify(path, train=(X, y))


def test_rounds_take_the_steps_that_were_declared():
    schedule = replace(VIT, steps=(7, 3), last_round=4, last_steps=20, initial_steps=9, epochs=1.5)
    assert [schedule.count(step, 16) for step in range(6)] == [9, 10, 6, 6, 23, 23]
    rates = [replace(VIT, warmup=4, least_rate=0.1).rate_at(t, 8, 1.0) for t in range(8)]
    assert rates[0] == 0.35 and max(rates) == rates[3] and rates[-1] < 0.15


def test_averages_end_a_training():
    X, y = EXAMPLES["vit"]
    models = {}
    for averaging in (0.0, 0.9):
        torch.manual_seed(0)
        models[averaging] = replace(VIT, averaging=averaging, steps=(40,)).make_model()
        start = [W.detach().clone() for W in models[averaging].parameters()]
        replace(VIT, averaging=averaging, steps=(40,)).fit(models[averaging], X, y, 1)
    last, mean = (list(models[a].parameters()) for a in (0.0, 0.9))
    apart = sum(float((a - b).detach().norm()) for a, b in zip(last, mean, strict=True))
    moved = sum(float((a - b).detach().norm()) for a, b in zip(last, start, strict=True))
    assert 0 < apart < moved / 2
    assert all(W.grad is None for W in last)


def test_an_enough_loss_stops_a_round():
    X, y = EXAMPLES["encoder"]
    taken = []
    quick = replace(ENCODER, enough=1e3, at_least=2)
    model = quick.make_model()
    model.register_forward_hook(lambda *_: taken.append(1))
    quick.fit(model, X, y, 1)
    assert len(taken) == 4


def test_images_are_bent_within_their_limits():
    torch.manual_seed(0)
    images = torch.zeros(200, 28, 28)
    images[:, 13:15, 13:15] = 1
    bounds = {"rotation": 0, "shear": 0, "scale": 0, "shift": 0, "elastic": 0}
    centre = torch.arange(28) - 13.5

    def mean_place(moved):
        return (moved.sum(1) @ centre) / moved.sum((1, 2))

    assert float(mean_place(warped(images, **bounds)).abs().max()) < 1e-3
    for name in ("shift", "elastic"):
        apart = mean_place(warped(images, **{**bounds, name: 0.1})).abs()
        assert 0.3 < float(apart.max()) <= 2.8 + 0.1
    spread = warped(images, **{**bounds, "scale": 0.5}).sum((1, 2))
    assert float(spread.min()) < 3 < 5 < float(spread.max())


def test_a_start_is_the_folder_that_was_declared(require, tmp_path):
    require("transformers", find_spec("transformers") is not None, "pip install '.[hf]'")
    training = tiny_hf(tmp_path)
    table = training.table()
    with pytest.raises(InputError, match="give the folder of tiny"):
        TrainingLearner(training_of(table)).start()
    with pytest.raises(InputError, match="declared"):
        training_of(table, start=bert(tmp_path / "other", seed=1))
    with pytest.raises(InputError, match=r"no config\.json"):
        training_of(table, start=tmp_path / "nowhere")
    with pytest.raises(InputError, match="setting of hf"):
        training_named(f"hf:{tmp_path / 'tiny'}", {"sha256": "0" * 64})
    config = json.loads((tmp_path / "tiny" / "config.json").read_text())
    for change in ({"model_type": "gpt2"}, {"num_hidden_layers": 10**6}, {"vocab_size": 10**12}):
        with pytest.raises(InputError):
            training.skeleton({**config, **change})
    frozen = replace(training, freeze=1)
    start = TrainingLearner(frozen).start()
    model = TrainingLearner(frozen).train(IDS[:9], EXAMPLES["hf"][1][:9], 1, start)
    before, after = start.module.state_dict(), model.module.state_dict()
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert all("layer.1." in name or name.startswith("readout.") for name in moved)
    assert any("layer.1." in name for name in moved)


def test_a_recorded_step_is_the_step(require):
    require("cuda", torch.cuda.is_available(), "no CUDA device")
    X, y = EXAMPLES["vit"]
    hashes = set()
    for graph in (True, True, False):
        training = replace(VIT, graph=graph, half=True, averaging=0.9, clip=1.0, steps=(20,))
        learner = TrainingLearner(training, device="cuda")
        model = learner.train(X, y, 1, learner.start())
        hashes.add(model.sha256)
    assert len(hashes) == 1


def test_images_of_another_shape_have_another_hash():
    """As many patches, the same weights: only the size says how they lie."""

    def start(size: tuple[int, int]) -> str:
        training = ViT(classes=2, size=size, patch=4, layers=1, d=8, heads=2, hidden=8)
        return TrainingLearner(training).start().sha256

    assert start((8, 16)) != start((16, 8)) and start((8, 16)) == start((8, 16))
