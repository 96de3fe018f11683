"""Recipes: zeros and ones of MNIST by the command that a user runs, and what they declare."""

from __future__ import annotations

import json
import math
import stat
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates.data import read
from dudley.certificates.encodings import encoding_of
from dudley.certificates.fit import heads
from dudley.certificates.fit.recipes import BLOCKS, RECIPES, SEARCHED, head_fits, tables
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.occam.method import Occam
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.methods.pac_bayes.prior import Zero
from dudley.certificates.pictures import POPULATION, TRIED, pictures
from dudley.cli.app import app
from dudley.core.watch import Watch


@pytest.fixture(scope="module")
def run():
    from typer.testing import CliRunner

    def call(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return call


def recorded(task: str, n: int, seed: int) -> dict:
    """A cell of the committed record of norm covers, T = 32 and s = 3."""
    record = Path(__file__).resolve().parents[2] / "results" / "certificates" / "norm-cover.json"
    wanted = {"name": task, "T": 32, "s": 3}
    cells = json.loads(record.read_text(encoding="utf-8"))["cells"]
    (cell,) = (c for c in cells if (c["task"], c["n"], c["seed"]) == (wanted, n, seed))
    return cell


@pytest.mark.parametrize("task", ["and", "majority"])
def test_the_recipe_tries_the_settings_of_the_record(task):
    tried = [fit.to_json() for fit in head_fits({"name": "bits", "T": 32}, 1)]
    used = recorded(task, 100_000, 1)["fit"]
    assert used | {"softness": tuple(used["softness"])} in tried


@pytest.mark.slow
def test_the_command_reaches_the_number_of_the_record(run, tmp_path):
    options = ("--T", 32, "--n", 100_000, "--method", "norm-cover", "--out", tmp_path)
    done = run("certify", "train", "majority", *options)
    assert done.exit_code == 0, done.output
    cell = recorded("majority", 100_000, 0)
    written = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    assert written["data"]["sha256"] == cell["data_sha256"]
    assert written["value"] == pytest.approx(cell["certificate"], rel=1e-6)


@pytest.mark.slow
def test_a_user_certifies_mnist(run, tmp_path):
    options = ("certify", "train", "mnist01", "--method", "occam", "--n", 400, "--out", tmp_path)
    done = run(*options)
    assert done.exit_code == 0, done.output
    assert "population" in done.output and "2,115 fresh examples" in done.output
    written = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    assert written["declared"]["population"] == POPULATION
    assert written["declared"]["among"] == TRIED
    assert written["value"] < 0.2 and not written["vacuous"]
    data = read(tmp_path / "train.npz")
    assert data.sha256 == pictures(400, 0).sha256 and data.X.shape == (400, 28, 28)
    for file in tmp_path.iterdir():  # others may read what they are to check
        assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE(
            (tmp_path / "train.npz").stat().st_mode
        )
    assert run("verify", tmp_path).exit_code == 0


def comparing() -> Hypothesis:
    """Two blocks of a picture, compared."""
    W = np.zeros((49, 1))
    W[24], W[26] = 1.0, -1.0
    return Hypothesis(tables(BLOCKS), BLOCKS, {"0.v": np.zeros((49, 1)), "0.W_v": W})


@pytest.mark.parametrize("method", RECIPES)
def test_every_certificate_of_mnist_pays_for_the_networks_given_up(
    run, tmp_path, monkeypatch, method
):
    """The network is one of three, whatever the method: ln 3 among its prices."""
    model = comparing()
    wide = {name: np.full_like(W, 0.1) for name, W in model.weights.items()}
    made = Posterior(model, wide, Zero()) if method == "pac-bayes" else model
    monkeypatch.setitem(RECIPES._units, method, lambda *_: made)
    done = run("certify", "train", "mnist01", "--method", method, "--n", 300, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    record = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    (paid,) = (price for price in record["prices"] if price["name"] == "method")
    assert record["declared"]["among"] == 3 and paid["nats"] == pytest.approx(math.log(3))


def test_the_lists_of_a_fit_are_not_those_of_the_decoder():
    """A longer search is another training, not another list: bits alone are paid."""
    encoding = encoding_of(BLOCKS)
    certificate = Occam()(comparing(), pictures(500, 1))
    assert [price.name for price in certificate.prices] == ["code"]
    assert certificate.declared.levels == Occam.declares().levels != tuple(SEARCHED["levels"])
    assert encoding.inputs.d == 49 and certificate.value < 0.5


def test_norm_covers_of_pictures_need_not_raise_the_least_margin(monkeypatch):
    tried = []

    def best(data, encoding, configs, watch):
        tried.extend(configs)
        return None, configs[0]

    monkeypatch.setattr(heads, "fit_best", best)
    for encoding, polished in ((BLOCKS, [400, 0]), ({"name": "bits", "T": 4}, [400, 400])):
        tried.clear()
        RECIPES["norm-cover"](pictures(10, 0), encoding, 5, Watch())
        assert [config.polish for config in tried] == polished
        assert {config.seed for config in tried} == {5}
