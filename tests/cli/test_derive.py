"""`dudley derive`: text for people, one JSON object for programs, the tree and the proof."""

from __future__ import annotations

import json
import math
import re

import pytest
from jsonschema import ValidationError

import dudley as du
from dudley.classes.covers.base import COVERS
from dudley.networks import files
from each import each
from shown import complaints

DEEP = """\
schema = "dudley.net/1"
title = "deep and steep"
[input]
T = 4
d = 8
X.row2inf = 1e6
[[layer]]
node = "{block}"
repeat = {L}
{more}
W_v.op = 1e6
W_c.op = 1e6
[output]
node = "readout"
w.l2 = 1.0
"""
HEADS = "H = 2\nW_Q.op = 1e6\nW_K.op = 1e6\n"
NORM = "ln = {{ eps = {eps} }}\nmlp = {{ k = 8, W_1.op = 1e6, W_2.op = 1e6 }}"
DEEP_FILES = {
    "trauger": DEEP.format(L=96, block="trauger-block", more="W_QK.op = 1e6"),
    "post-ln": DEEP.format(L=24, block="post-ln-block", more=HEADS + NORM.format(eps="1e-12")),
    "stacked heads": DEEP.format(L=96, block="head", more="W_QK.op = 1e6"),
}


def no_wall_of_digits(text: str) -> None:
    assert not re.search(r"\d[\d,]{25}", text), "a wall of digits"
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)


def test_the_report_says_what_the_library_says(dudley):
    done = dudley("derive", "single-head", "n=1e6", "delta=0.01", "epsilon=0.1")
    described = files.load("single-head")
    cap = du.capacity(described.network, described.inputs, n=1e6, loss=described.loss)
    assert done.code == 0 and complaints(done.err) == ""
    assert str(cap.gap(0.01)) in done.out
    assert "one head, l1-bounded weights (12,352 weights)" in done.out
    assert f"{cap.rademacher():.4g}" in done.out
    assert f"log N(0.1)           {cap.entropy(0.1):.3g}" in done.out
    assert f"needs n = {math.ceil(10 ** cap.log10_needed_n(0.5, 0.01)):,}" in done.out
    assert "culprit: W_QK" in done.out


def test_without_n_there_is_no_gap(dudley):
    done = dudley("derive", "single-head")
    assert done.code == 0 and "needs n = " in done.out and "risk" not in done.out


def test_a_network_of_many_outputs_has_no_rademacher_line(dudley):
    done = dudley("derive", "trauger2024-head", "n=1e8")
    assert "risk − training loss" in done.out and "Rademacher, n" not in done.out


def test_overrides_move_the_answer(dudley):
    def gap(*words: str) -> float:
        return dudley("derive", "single-head", "n=1e6", "--json", *words).json()["items"][0][
            "value"
        ]

    assert gap("W_QK.l11=5") < gap() < gap("X.row2inf=2")
    assert gap("delta=0.5") < gap("delta=0.001")
    assert gap("T=1e6") == gap()
    assert gap("margin=0.5") > gap("margin=1")
    assert gap("loss.range=4", "loss.lipschitz=2") > gap()


def test_a_training_error_gives_the_bound_of_one_scale(dudley):
    words = ("single-head", "n=1e6", "margin=0.5", "train_error=0.01")
    described = files.load("single-head", {"margin": 0.5})
    cap = du.capacity(described.network, described.inputs, n=1e6, loss=described.loss)
    bound = cap.gap(0.05, train_error=0.01)
    needed = cap.log10_needed_n(0.5, train_error=0.01)
    done = dudley("derive", *words, "--proof")
    assert str(bound) in done.out and "One scale, margins" in done.out
    assert f"gap ≤ 0.5 at training error 0.01 needs n = {math.ceil(10**needed):,}" in done.out
    (item,) = dudley("derive", *words, "--json").json()["items"]
    assert (item["value"], item["train_error"]) == (float(bound), 0.01)
    assert item["needed_n_log10"] == needed
    assert dudley("derive", "single-head", "train_error=2").code != 0


@each("flags", [[], ["--explain"], ["--proof"], ["--explain", "--proof"]])
@each("words", [[], ["n=1e6"], ["n=10", "epsilon=0.01"]])
def test_json_obeys_the_schema(dudley, words, flags):
    done = dudley("derive", "single-head", *words, *flags, "--json")
    assert done.code == 0 and complaints(done.err) == ""
    document = done.json()
    assert document["kind"] == "derive"
    (item,) = document["items"]
    assert item["id"] == "single-head"
    assert ("value" in item) == ("n=1e6" in words or "n=10" in words)
    assert ("explain" in item, "proof" in item) == ("--explain" in flags, "--proof" in flags)
    assert ("entropy" in item) == ("epsilon=0.01" in words)


def test_json_holds_the_numbers_of_the_library(dudley):
    (item,) = dudley("derive", "single-head", "n=1e6", "--json").json()["items"]
    described = files.load("single-head")
    bound = du.capacity(described.network, described.inputs, n=1e6).gap(0.05)
    assert item["value"] == float(bound)
    assert item["log_value"] == pytest.approx(math.log(float(bound)), rel=1e-12)
    assert [t["value"] for t in item["terms"]] == [t.value for t in bound.terms]
    assert [a["status"] for a in item["assumptions"]] == [a.status.value for a in bound.assumptions]
    assert item["vacuous"] is bound.vacuous is False


def test_the_schema_can_refuse(dudley):
    done = dudley("derive", "single-head", "n=1e6", "--explain", "--json")
    document = done.json()
    changes = (
        lambda d: d.update(schema="dudley/2"),
        lambda d: d.pop("provenance"),
        lambda d: d["items"][0].pop("assumptions"),
        lambda d: d["items"][0].update(value="large"),
        lambda d: d["items"][0]["assumptions"][0].pop("status"),
        lambda d: d["items"][0]["assumptions"][0].update(status="true"),
        lambda d: d["items"][0]["explain"]["blocks"].clear(),
    )
    for change in changes:
        bad = json.loads(json.dumps(document))
        change(bad)
        with pytest.raises(ValidationError):
            type(done)(0, json.dumps(bad), "").json()
    with pytest.raises(AssertionError, match="strict"):
        type(done)(0, done.out.replace("false", "NaN"), "").json()
    document["items"][0]["later"] = 1  # fields may be added
    type(done)(0, json.dumps(document), "").json()


def test_explain_prints_the_tree(dudley):
    out = dudley("derive", "single-head", "n=1e6", "--explain").out
    tree = out[out.index("shares of the entropy") :]
    for words in ("└─ Chain", "├─ Head", "└─ Readout", "W_QK", "W_v", "W_c", "64×64", "l11 ≤ 20"):
        assert words in tree
    assert len(re.findall(r"share \d+\.\d%", tree)) == 4
    assert len(re.findall("|".join(map(re.escape, [*COVERS, "peeled"])), tree)) >= 4


def test_proof_prints_every_step(dudley):
    out = dudley("derive", "trauger2024-head", "n=1e8", "--proof").out
    described = files.load("trauger2024-head")
    cap = du.capacity(described.network, described.inputs, n=1e8, loss=described.loss)
    assert out.endswith(cap.proof() + "\n")
    for i, step in enumerate(cap.prove().steps, 1):
        assert f"\n{i}. {step.lemma.title}\n" in out
    assert "Together, at n = 1e+08" in out


@pytest.mark.parametrize("name", DEEP_FILES)
def test_deep_networks_print_a_power_and_a_culprit(dudley, tmp_path, name: str):
    file = tmp_path / "deep.toml"
    file.write_text(DEEP_FILES[name], encoding="utf-8")
    done = dudley("derive", file, "n=1e6", "epsilon=0.1", "--explain")
    assert done.code == 0 and complaints(done.err) == ""
    no_wall_of_digits(done.out)
    assert "vacuous" in done.out
    assert re.search(r"needs n = 10\^\d+\.\d\d", done.out)
    assert re.search(r"log N\(0\.1\) +(10\^\d+|\d)", done.out)
    assert re.search(r"culprit: W\S* \(layer 1 most\) holds [1-9]\d*% of the entropy", done.out)


def test_deep_networks_speak_json(dudley, tmp_path):
    file = tmp_path / "deep.toml"
    file.write_text(DEEP_FILES["trauger"], encoding="utf-8")
    (item,) = dudley("derive", file, "n=1e6", "epsilon=0.1", "--explain", "--json").json()["items"]
    assert item["vacuous"] and item["value"] == 1.0
    assert item["needed_n_log10"] > 6
    assert item["lipschitz_log10"] > 300
    assert item["entropy"]["log_value"] > 0


@pytest.mark.parametrize("name", ["gpt2-small"])  # README shows bert-base
def test_the_shapes_of_practice_print_no_wall_of_digits(dudley, name: str):
    done = dudley("derive", name, "n=1e6")
    assert done.code == 0
    no_wall_of_digits(done.out)
    assert re.search(r"needs n = 10\^1\d\.\d\d", done.out) and "culprit: " in done.out
    assert "vacuous" in done.out


@pytest.mark.parametrize("word", ["X.row2inf=0", "W_v.l11=0", "W_QK.l11=0", "w.l1=0"])
def test_a_radius_of_zero_is_no_accident(dudley, word: str):
    text = dudley("derive", "single-head", "n=1e6", "epsilon=0.1", word, "--explain", "--proof")
    assert (text.code, text.err) == (0, "")
    no_wall_of_digits(text.out)
    (item,) = dudley("derive", "single-head", "n=1e6", word, "--explain", "--json").json()["items"]
    assert 0 < item["value"] < 0.3


def test_a_trained_model_in_the_place_of_a_network_is_told_its_option(dudley, tmp_path):
    line = dudley("derive", tmp_path).refused()
    assert line.rstrip().endswith(f"a trained model is named by --checkpoint {tmp_path}")


def test_latex_is_the_proof_alone(dudley):
    done = dudley("derive", "single-head", "n=1e6", "--proof", "--latex")
    assert done.out.startswith("\\documentclass") and done.out.endswith("\\end{document}\n")
    assert "risk − training loss".replace("−", "$-$") in done.out


@each("flags", [["--latex"], ["--latex", "--explain"], ["--latex", "--proof", "--json"]])
def test_latex_is_of_a_proof(dudley, flags):
    assert "--latex" in dudley("derive", "single-head", "n=1e6", *flags).refused()
