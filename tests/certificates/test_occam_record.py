"""The committed record of Occam certificates: code words decoded and counted again, aims met."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates.base import METHODS
from dudley.certificates.codes.base import decode, frame_of
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.data import rows_of
from dudley.certificates.fit.forward import blank
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.pictures import pictures
from dudley.certificates.samples import draw_examples

OCCAM = METHODS["occam"]
FILE = Path(__file__).parents[2] / "results" / "certificates" / "occam.json"
ROWS = json.loads(FILE.read_text(encoding="utf-8"))["rows"]
SMALL = [row for row in ROWS if row["n"] <= 10_000]


def named(row) -> str:
    return f"{row['case']}, seed {row['seed']}"


def test_every_case_has_three_seeds_and_holds():
    cases = {row["case"] for row in ROWS}
    assert {case.split()[0] for case in cases} == {"head", "transformer", "mnist01"}
    assert sorted((row["case"], row["seed"]) for row in ROWS) == sorted(
        (case, seed) for case in cases for seed in range(3)
    )
    for row in ROWS:
        assert row["holds"] and row["value"] <= row["must"], named(row)


@pytest.mark.parametrize("row", SMALL, ids=named)
def test_a_code_word_gives_the_recorded_number(row):
    """The model is what its bits decode to; nothing is trained."""
    declared = OCCAM.read_declared(row.get("declared", {}))
    empty = blank(row["network"], row["encoding"])
    weights = decode(CodeWord.from_json(row["choices"]["code"]), frame_of(empty, declared))
    model = Hypothesis(row["network"], row["encoding"], weights)
    data = draw_examples(row["task"], row["n"], row["seed"])
    assert (model.sha256, data.sha256) == (row["model_sha256"], row["data_sha256"])
    certificate = OCCAM.certify(model, data, declared, OCCAM.read_choices(row["choices"]))
    assert certificate.value == pytest.approx(row["value"], rel=1e-12)
    assert certificate.facts.errors == row["facts"]["errors"]


def test_mnist_pays_its_bits_and_saw_no_picture_apart():
    rows = [row for row in ROWS if row["task"]["name"] == "mnist01"]
    apart = rows_of(pictures(split="apart").X)
    for row in rows:
        assert row["value"] <= row["aim"] == 0.015
        assert not apart & rows_of(draw_examples(row["task"], row["n"], row["seed"]).X)
        paid = sum(price["nats"] for price in row["prices"])
        assert paid >= row["facts"]["bits"] * np.log(2)
        assert row["test"]["n"] == 2115
