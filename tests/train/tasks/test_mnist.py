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


@pytest.mark.parametrize("how", ["flat", "patches"])
def test_pixels_are_scaled(how):
    """By the usual formulas; with the default every bit is what it was."""
    raw = torch.from_numpy(mnist.TOKENS[how](images("train")[0])).float()
    assert torch.equal(tokens_of("train", how)[0], raw / 255)
    standardised, signed = (tokens_of("train", how, p)[0] for p in ("standardised", "signed"))
    torch.testing.assert_close(standardised, (raw / 255 - 0.1307) / 0.3081)
    torch.testing.assert_close(signed, 2 * raw / 255 - 1)
    assert float(standardised.min()) == pytest.approx(-0.1307 / 0.3081)  # what is added is black


def test_a_task_scales_what_it_trains_and_tests_on():
    plain, task = Mnist01(m=20), Mnist01(m=20, pixels="standardised")
    assert "pixels" not in plain.config() and task.config()["pixels"] == "standardised"
    for name in ("sample", "held_out"):
        before, after = (getattr(one, name)(KEYS).inputs for one in (plain, task))
        torch.testing.assert_close(after, (before - 0.1307) / 0.3081)


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


@pytest.mark.parametrize("wrong", [{"m": 0}, {"m": 12_666}, {"tokens": "rows"}, {"pixels": "z"}])
def test_refusals(wrong):
    with pytest.raises(DudleyError):
        Mnist01(**{"m": 10, **wrong})


def test_there_is_one_split():
    with pytest.raises(InputError, match="HOLDOUT"):
        Mnist01(m=10).held_out(KEYS, stream=Stream.VALIDATION)
