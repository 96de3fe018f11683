"""The committed certificates: every number that must hold, at the worst of its seeds.

Numbers are not only read: where a record says what they were computed from (errors, prices, the
code word), they are computed again.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.base import method_named
from dudley.certificates.codes.base import CODES, read
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.fit.forward import blank
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.occam.method import checked_frame
from dudley.certificates.price import Bill, Price
from dudley.certificates.samples import draw_examples

FOLDER = Path(__file__).resolve().parents[2] / "results" / "certificates"
NAMES = ("norm-cover", "occam", "pac-bayes", "language", "validity")
METHODS = ("hold-out", "hold-out, stopped", "norm-cover", "occam", "pac-bayes")
CAUGHT = ("hold-out", "norm-cover", "occam")  # leaky variants that must be seen to fail


def record(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def norm_cover(task: str, n: int, T: int = 32) -> list[dict[str, Any]]:
    wanted = {"name": task, "T": T, "s": 3}
    return [r for r in record("norm-cover")["cells"] if (r["task"], r["n"]) == (wanted, n)]


def occam(kind: str, task: str, n: int) -> list[dict[str, Any]]:
    """Rows by the task, n and the first node of the network: a head, or an embedding and a block.

    MNIST is found by its task's name alone (kind ""): its network may be any.
    """
    return [
        row
        for row in record("occam")["rows"]
        if (row["task"]["name"], row["n"]) == (task, n)
        and (not kind or row["network"]["layer"][0]["node"] == kind)
    ]


def worst(rows: list[dict[str, Any]], field: str, seeds: int = 2) -> float:
    """The largest number over seeds, of which there must be a few."""
    used = [row["seed"] for row in rows]
    assert len(set(used)) == len(used) >= seeds, f"seeds {used}"
    return max(row[field] for row in rows)


# -- what must hold ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "n", "most"),
    [("and", 100_000, 0.006), ("and", 10_000, 0.06), ("majority", 100_000, 0.008)],
)
def test_norm_cover_of_trained_heads(task, n, most):
    rows = norm_cover(task, n)
    assert worst(rows, "certificate", 3) <= most
    assert all(row["delta"] <= 0.05 and not row["vacuous"] for row in rows)


@pytest.mark.parametrize("task", ["and", "majority"])
@pytest.mark.parametrize(("n", "most"), [(100_000, 0.0007), (10_000, 0.007)])
def test_occam_of_one_head(task, n, most):
    rows = occam("head", task, n)
    assert worst(rows, "value") <= most
    assert all((row["task"]["T"], row["task"]["s"]) == (30, 3) for row in rows)


@pytest.mark.parametrize("task", ["and", "majority"])
def test_occam_of_a_full_transformer(task):
    rows = occam("embedding", task, 100_000)
    assert worst(rows, "value") <= 0.002
    for row in rows:
        assert row["task"]["T"] == 30 and row["facts"]["weights"] >= 6000
        block = row["network"]["layer"][1]
        assert block["node"] == "pre-ln-block" and block["mlp"]["W_1"] == "free"


def test_occam_of_mnist():
    """Zeros against ones, 10,000 images: rows of occam.json whose task is ``mnist01``."""
    rows = occam("", "mnist01", 10_000)
    assert rows, "no row of occam.json has the task mnist01 and n = 10000"
    assert worst(rows, "value") <= 0.025


# -- validity on trained models ---------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_no_method_fails_more_often_than_allowed(method):
    """Failures are counted again, and P[Bin(repetitions, δ) ≥ failures] is computed again."""
    whole = record("validity")
    record_of_method, δ = whole["methods"][method], whole["delta"]
    n, k = record_of_method["repetitions"], record_of_method["failures"]
    assert δ == record_of_method["config"]["delta"] == 0.1
    assert n >= 500 and n == len(record_of_method["certificates"]) == len(record_of_method["risks"])
    below = np.array(record_of_method["certificates"]) < np.array(record_of_method["risks"])
    assert int(below.sum()) <= k == round(record_of_method["share"] * n)
    if method != "pac-bayes":  # whose risk is known within a standard error
        assert int(below.sum()) == k
    p = float(stats.binom.sf(k - 1, n, δ))
    assert p == pytest.approx(record_of_method["p_value"], rel=1e-9) and p > 0.01
    assert record_of_method["mean_certificate"] == pytest.approx(
        np.mean(record_of_method["certificates"]), rel=1e-5
    )
    assert record_of_method["mean_risk"] == pytest.approx(
        np.mean(record_of_method["risks"]), rel=1e-5
    )
    noise = record_of_method["config"]["task"]["noise"]
    assert min(record_of_method["risks"]) >= noise * (1 - 1e-6) > 0.1  # no model can err less often
    assert record_of_method["vacuous"] < n and record_of_method["mean_certificate"] < 0.5


@pytest.mark.parametrize("method", CAUGHT)
def test_a_leaky_variant_is_seen_to_fail(method):
    leaky = record("validity")["methods"][method]["leaky"]
    p = float(stats.binom.sf(leaky["failures"] - 1, leaky["repetitions"], 0.1))
    assert p == pytest.approx(leaky["p_value"], rel=1e-6) and p < 1e-4


def test_the_hold_out_is_nearly_as_tight_as_it_may_be():
    """So that a number a little too small would be seen."""
    assert record("validity")["methods"]["hold-out"]["share"] > 0.1 / 3


def test_the_record_of_validity_says_where_it_was_made():
    content = record("validity")
    assert content["device"].startswith("cuda") and content["machine"]["gpu"]
    assert len(content["src_sha256"]) == 64 and set(content["seconds"]) == set(content["methods"])
    for method in METHODS:
        config = content["methods"][method]["config"]
        assert {"task", "model", "training", "n", "declared"} <= set(config)
        assert config["training"]["steps"] > 0


# -- how the numbers were made ----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_config_seed_and_versions_stand_beside(name):
    content = record(name)
    versions = content.get("versions") or content.get("machine") or content["provenance"]
    assert {"python", "numpy"} <= set(versions)
    if name == "norm-cover":
        assert content["cells"]
        for row in content["cells"]:
            assert row["fit"]["seed"] >= 0 and {"task", "n", "seed", "delta"} <= set(row)
    elif name == "occam":
        assert content["rows"] and content["delta"] == 0.05
        for row in content["rows"]:
            assert {"network", "encoding", "settings", "task", "n", "seed"} <= set(row)
    elif name == "pac-bayes":
        assert content["results"]
        for case, seeds in content["results"].items():
            assert content["configs"][case]["plan"] and seeds and all(s.isdigit() for s in seeds)
    elif name == "language":
        assert content["models"] and isinstance(content["seed"], int)
        assert all(row["recipe"]["seed"] == content["seed"] for row in content["models"])
    else:
        assert isinstance(content["seed"], int) and content["command"]


def test_norm_cover_numbers_follow_from_their_facts():
    for row in record("norm-cover")["cells"]:
        bill = Bill(row["delta"], tuple(Price(**price) for price in row["prices"]))
        assert bill.nats == pytest.approx(row["nats"], rel=1e-9)
        c = row["facts"]["log_cover"] + bill.log_confidence
        bound = binomial_upper(row["facts"]["errors_at_margin"], row["n"], c)
        assert row["certificate"] == pytest.approx(bound, rel=1e-6)
        assert row["test_errors"] / row["test_examples"] <= row["certificate"]


def test_occam_numbers_follow_from_their_facts():
    content = record("occam")
    for row in content["rows"]:
        bill = Bill(content["delta"], tuple(Price(**price) for price in row["prices"]))
        bits = row["choices"]["code"]["bits"]
        assert bits == row["facts"]["bits"] and bill.nats >= bits * math.log(2)
        bound = binomial_upper(row["facts"]["errors"], row["n"], bill.log_confidence)
        assert row["value"] == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("task", ["and", "majority"])
def test_occam_heads_are_certified_again_from_their_code_words(task):
    """The data from task and seed, the model from the word: both hashes, and the number."""
    for row in occam("head", task, 10_000):
        data = draw_examples(row["task"], row["n"], row["seed"])
        empty, unit = blank(row["network"], row["encoding"]), method_named("occam")
        declared = unit.read_declared({"delta": record("occam")["delta"]})
        name, description = read(
            CodeWord.from_json(row["choices"]["code"]), checked_frame(empty, declared)
        )
        weights = CODES[name].weights(description, checked_frame(empty, declared))
        model = Hypothesis(row["network"], row["encoding"], weights)
        assert (model.sha256, data.sha256) == (row["model_sha256"], row["data_sha256"])
        certificate = unit.certify(model, data, declared, unit.read_choices(row["choices"]))
        assert certificate.value == pytest.approx(row["value"], rel=1e-9)
