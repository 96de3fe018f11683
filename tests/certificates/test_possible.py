"""What any method certifies is possible: the check refuses forgeries, and nothing of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from certificates.posteriors import copies, posterior
from dudley.certificates.base import method_named
from dudley.certificates.certificate import SCHEMA
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
