"""What any method certifies is possible: the check refuses forgeries, and nothing of ours."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from certificates.posteriors import copies, posterior
from dudley.certificates.base import method_named
from dudley.certificates.certificate import SCHEMA
from dudley.certificates.comparison.cost import cost_of
from dudley.certificates.possible import expect_possible
from dudley.certificates.verify import expect_shape
from dudley.core.errors import InputError

LANGUAGE = Path(__file__).resolve().parents[2] / "results" / "certificates" / "language.json"
CASES = {
    "occam": ("occam", {}),
    "norm-cover": ("norm-cover", {}),
    "hold-out": ("hold-out", {}),
    "hold-out of a pool": ("hold-out", {"pool": 900}),
    "hold-out, vacuous": ("hold-out", {"delta": 1e-300}),
    "pac-bayes": ("pac-bayes", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_method_certifies_is_possible(case: str):
    name, declared = CASES[case]
    data = copies(300)
    model = posterior() if name == "pac-bayes" else posterior().mean
    record = method_named(name)(model, data, **declared).to_json()
    assert expect_possible(expect_shape(json.loads(json.dumps(record))))


def of_the_newer_methods() -> dict[str, dict]:
    """One certificate of each method around a start, of picks and of what follows them."""
    import dudley as du
    from certificates.arounds import halves, linear_start
    from certificates.cuts import Cuts, line
    from dudley.certificates.around.coded import CodedAround
    from dudley.certificates.around.posterior import AroundPosterior
    from dudley.certificates.around.words import WordSpace

    data, start = halves(300), linear_start([[-1.0, 0.3], [1.0, -0.3]])
    word = CodedAround(WordSpace(start), WordSpace(start).write("start"))
    Q = AroundPosterior(start, "*", start.arrays(start.names("*")), {"weight": 0.1})
    picked = du.certify_training(Cuts(), data=line(60), seed=0)
    y = data.y
    made = {
        "occam-around": method_named("occam-around")(word, data, initial=100, pool=900),
        "pac-bayes-around": method_named("pac-bayes-around")(
            Q, data, start=start.sha256, draws=20, examples=8
        ),
        "pick-to-learn": picked.certificate,
        "retrained": du.certify_retrained(picked, line(60), line(50, seed=9).X).certificate,
        "selection": du.certify_selection(["a", "b"], np.stack([y, 1 - y], 1), y).certificate,
    }
    return {name: certificate.to_json() for name, certificate in made.items()}


IMPOSSIBLE = {
    "occam-around": {"start_failures": 201, "share_failures": 101, "counted": 301},
    "pac-bayes-around": {"mean_failure_at_most": 1.5, "mean_failures": -1, "draws": 0.5},
    "pick-to-learn": {"picks": 61, "error_of_the_rest": 2.0},
    "retrained": {"disagreements": 51, "picked_error_at_most": -0.1, "errors_of_the_sample": 61},
    "selection": {"errors": 301, "candidates": -2},
}


def test_the_newer_methods_are_possible_and_their_forgeries_are_not():
    records = of_the_newer_methods()
    assert records.keys() == IMPOSSIBLE.keys()
    for name, record in records.items():
        record["model"]["sha256"] = "0" * 64  # a toy's is no hash
        assert expect_possible(expect_shape(json.loads(json.dumps(record))))
        for fact, value in IMPOSSIBLE[name].items():
            with pytest.raises(InputError, match=fact):
                expect_possible(record | {"facts": record["facts"] | {fact: value}})


def test_what_the_newer_methods_cost_is_said_in_their_own_words():
    said = {name: cost_of(record).words for name, record in of_the_newer_methods().items()}
    assert said["occam-around"].startswith("the word costs 2 bits, 1.4 nats on 200 examples, with ")
    assert said["pac-bayes-around"].startswith("the divergence costs")
    assert "of 60 examples, " in said["retrained"] and "on 50 inputs" in said["retrained"]
    assert said["selection"] == "the choice among 2 costs 1 bits on 300 examples, with no error"


def certificates(value) -> list[dict]:
    if isinstance(value, list):
        return [found for part in value for found in certificates(part)]
    if not isinstance(value, dict):
        return []
    whole = [value] if value.get("schema") == SCHEMA else []
    return whole + certificates(list(value.values()))


def test_those_of_language_models_are():
    committed = certificates(json.loads(LANGUAGE.read_text(encoding="utf-8")))
    assert committed and all(map(expect_possible, committed))


def test_a_mean_of_losses_up_to_1_is_at_most_1():
    certificate = method_named("hold-out")(posterior().mean, copies(300), loss="ramp", margin=0.1)
    with pytest.raises(InputError, match="a finite number ≥ 0 and ≤ 1"):
        expect_possible(certificate.to_json() | {"value": 1.5})
