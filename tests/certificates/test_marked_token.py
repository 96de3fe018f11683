"""The shipped head that cannot do without attention: its file holds, and its scores are not 0."""

import importlib.util
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates.base import METHODS
from dudley.certificates.data import Dataset, read as read_data
from dudley.certificates.files import load
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.verify import read, verify
from dudley.networks.files import EXAMPLES

FOLDER = EXAMPLES / "marked-token"
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "marked_token.py"


@pytest.fixture(scope="module")
def recipe():
    spec = importlib.util.spec_from_file_location("marked_token", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_shipped_certificate_holds_and_says_something():
    file = read(FOLDER / "certificate.json")
    model, data = load(FOLDER / "model.safetensors"), read_data(FOLDER / "train.npz")
    assert verify(file, model, data).holds
    assert not file["vacuous"] and file["value"] < 0.0102 and file["facts"]["errors"] == 0
    assert file["facts"]["nonzeros"]["0.v"] > 0


def test_the_data_are_those_of_the_script(recipe):
    shipped = read_data(FOLDER / "train.npz")
    assert shipped.sha256 == recipe.examples(recipe.N, recipe.SEED).sha256
    model = load(FOLDER / "model.safetensors")
    assert isinstance(model, Hypothesis)
    assert not (model.margins(recipe.examples(20_000, seed=1)) <= 0).any()


def test_without_its_scores_no_value_is_worth_much(recipe):
    """All that a head without scores can use is a threshold on the sum of eight values."""
    signs = np.array(list(itertools.product([-1, 1], repeat=8)))
    label, total = signs[:, 0] > 0, signs.sum(1)
    errors = [int(((total > cut) != label).sum()) for cut in np.arange(-9, 10, 2) + 0.0]
    assert min(errors) == 93
    model = load(FOLDER / "model.safetensors")
    assert isinstance(model, Hypothesis)
    weights = dict(model.weights) | {"0.v": np.zeros((4, 1))}
    blind = Hypothesis(model.tables, model.encoding_table, weights)
    data: Dataset = recipe.examples(4000, seed=2)
    assert (blind.margins(data) <= 0).mean() > 0.33
    shipped = json.loads((FOLDER / "certificate.json").read_text(encoding="utf-8"))
    assert METHODS["occam"](blind, data.part(slice(0, 2000))).value > 0.3 > shipped["value"]


@pytest.mark.slow
def test_the_script_makes_the_shipped_files(recipe, tmp_path):
    recipe.make(tmp_path)
    made, shipped = (load(folder / "model.safetensors") for folder in (tmp_path, FOLDER))
    assert made.sha256 == shipped.sha256
