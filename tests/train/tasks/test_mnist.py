"""The digits 0 and 1: what ships, how it is cut into tokens, which images a trial has."""

import numpy as np
import pytest
from hatchling.builders.wheel import WheelBuilder

from dudley.core.backend import torch
from dudley.core.errors import DudleyError, InputError
from dudley.core.philox import Stream, key, keys_tensor
from dudley.train.tasks import mnist
from dudley.train.tasks.mnist import Mnist01, images, tokens_of

KEYS = keys_tensor([key("mnist", e) for e in range(3)])


def test_what_ships():
    for split, zeros, ones in (("train", 5923, 6742), ("test", 980, 1135)):
        pictures, labels = images(split)
        assert pictures.shape == (zeros + ones, 28, 28) and pictures.dtype == np.uint8
        assert np.bincount(labels).tolist() == [zeros, ones]
    ink = [images("train")[0][images("train")[1] == y].mean() for y in (0, 1)]
    assert ink[0] > 2 * ink[1]  # a zero is drawn with more ink than a one


def test_another_file_is_refused(monkeypatch):
    monkeypatch.setattr(mnist, "SHA256", "0" * 64)
    mnist.images.cache_clear()
    with pytest.raises(InputError, match="sha256"):
        images("train")
    mnist.images.cache_clear()


def test_the_wheel_holds_data_and_notice(request):
    files = WheelBuilder(str(request.config.rootpath)).recurse_included_files()
    packed = {file.distribution_path for file in files}
    assert {f"dudley/train/data/{name}" for name in ("mnist01.npz", "README.md")} <= packed


def test_the_notice_names_licence_holders_and_hash():
    notice = (mnist.files("dudley.train") / "data" / "README.md").read_text(encoding="utf-8")
    for said in ("LeCun", "Cortes", "Share Alike 3.0", mnist.SHA256):
        assert said in notice


def test_flat_tokens():
    X, y = tokens_of("test", "flat")
    pictures, labels = images("test")
    assert X.shape == (2115, 13, 64) and X.dtype == torch.float32
    assert torch.equal(y, torch.from_numpy(labels).long())
    for i in (0, 7, 2114):
        pixels = [*pictures[i].ravel().tolist(), *[0] * 48]
        assert X[i].flatten().tolist() == pytest.approx([v / 255 for v in pixels])


def test_patches():
    X = tokens_of("test", "patches")[0]
    pictures = images("test")[0]
    assert X.shape == (2115, 16, 64)
    for i in (0, 7, 2114):
        wide = np.zeros((32, 32))
        wide[2:30, 2:30] = pictures[i]
        for r in range(4):
            for c in range(4):
                patch = wide[8 * r : 8 * r + 8, 8 * c : 8 * c + 8].ravel() / 255
                assert X[i, 4 * r + c].tolist() == pytest.approx(patch.tolist())


def test_a_trial_has_a_subset_of_its_own():
    task = Mnist01(m=500)
    chosen, data = task.indices(KEYS), task.sample(KEYS)
    X, y = tokens_of("train", "flat")
    for e in range(3):
        assert len(chosen[e].unique()) == 500
        assert torch.equal(data.inputs[e], X[chosen[e]]) and torch.equal(
            data.labels[e], y[chosen[e]]
        )
    assert len(chosen.unique()) > 1200
    assert torch.equal(Mnist01(m=20).sample(KEYS[1:2]).inputs[0], data.inputs[1, :20])


def test_all_are_evaluated_on_all_test_images():
    data = Mnist01(m=5, tokens="patches").held_out(KEYS)
    X, y = tokens_of("test", "patches")
    assert torch.equal(data.inputs, X[None]) and data.cell is not None
    assert data.cell.tolist() == [0, 0, 0] and torch.equal(data.labels, y.expand(3, -1))


@pytest.mark.parametrize("wrong", [{"m": 0}, {"m": 12_666}, {"tokens": "rows"}])
def test_refusals(wrong):
    with pytest.raises(DudleyError):
        Mnist01(**{"m": 10, **wrong})


def test_there_is_one_split():
    with pytest.raises(InputError, match="HOLDOUT"):
        Mnist01(m=10).held_out(KEYS, stream=Stream.VALIDATION)
