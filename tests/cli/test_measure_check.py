"""`dudley measure --check-with`: the difference printed, exit 1 above the tolerance, refusals."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

import pytest

from dudley.weights import forward
from library_models import save


@pytest.fixture
def gemma(require, tmp_path) -> str:
    require("transformers", find_spec("transformers") is not None, "pip install '.[hf]'")
    return str(save("gemma2", tmp_path / "gemma2"))


def test_the_command_prints_the_difference(dudley, gemma):
    done = dudley("measure", gemma, "--check-with", "transformers")
    assert done.code == 0 and "checked against Gemma2ForCausalLM of transformers" in done.out
    assert "the logits of every token, on 3 random inputs of 8 rows, seed 0" in done.out
    assert done.out.endswith("the same network\n")


def test_json_holds_it(dudley, gemma):
    done = dudley("measure", gemma, "--check-with", "transformers", "--json")
    check = done.json()["items"][0]["forward"]
    assert check["agrees"] and 0 < check["relative"] < check["tolerance"]


def test_a_difference_above_the_tolerance_is_exit_1(dudley, gemma, monkeypatch):
    strict = partial(forward.check_forward, tolerance=0.0)
    monkeypatch.setattr(forward, "check_forward", strict)
    done = dudley("measure", gemma, "--check-with", "transformers")
    assert done.code == 1 and done.out.endswith("another network\n")


def test_refusals_print_nothing_else(dudley, monkeypatch):
    assert "known: transformers" in dudley("measure", "tiny-bert", "--check-with", "jax").refused()
    monkeypatch.setattr("dudley.core.extras.find_spec", lambda name: object())
    words = ("measure", "tiny-bert", "--check-with", "transformers", "--base", "tiny-bert")
    assert "an adapter, with --base" in dudley(*words).refused()
    monkeypatch.setattr("dudley.core.extras.find_spec", lambda name: None)
    done = dudley("measure", "tiny-bert", "--check-with", "transformers")
    assert "pip install '.[hf]'" in done.refused()
