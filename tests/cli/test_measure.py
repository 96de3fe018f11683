"""`dudley measure` and `dudley derive --checkpoint`: tables, JSON, files, refusals."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from jsonschema import ValidationError

import checkpoints
import dudley as du
from dudley.weights.network import describe
from weight_files import adapter


@pytest.fixture(scope="module")
def tiny() -> du.Measurement:
    return du.measure("tiny-bert")


def test_the_table_shows_what_was_measured(dudley, tiny):
    done = dudley("measure", "tiny-bert")
    assert (done.code, done.err) == (0, "")
    for layer in ("outside the layers", "layer 0", "layer 1"):
        assert re.search(rf"^{layer}\n +in×out +op +fro", done.out, re.MULTILINE)
    row = tiny.row("W_1", 1)
    (line,) = re.findall(
        r"^  W_1 +8×12 +(.+)$", done.out[done.out.index("\nlayer 1\n") :], re.MULTILINE
    )
    for shown, norm in zip(line.split(), ("op", "fro", "l11", "col21"), strict=False):
        assert row.norms[norm] <= float(shown) <= row.norms[norm] * 1.001  # never below
    worst = max(tiny.heads("W_QK", 0), key=lambda row: row.op.upper)
    assert f"W_QK head {worst.head}" in done.out
    assert "1,304 weights" in done.out and "39 used, 1 skipped" in done.out
    assert max(map(len, done.out.splitlines())) <= 120


def listed(out: str) -> Iterator[tuple[str, int, str]]:
    """(name, how many, what for) of every line of the list of tensors."""
    text = re.sub(r"\n {6}(?=skipped|used)", "  ", out[out.index("tensors (*") :])
    for line in text.splitlines()[1:]:
        name, *_ = line.split()
        times = re.search(r" ×(\d+)  ", line)
        what = re.search(r"(used as|skipped:) \S+", line)
        assert what, line
        yield name, int(times[1]) if times else 1, what[0]


def test_every_tensor_is_listed(dudley, tiny):
    lines = list(listed(dudley("measure", "tiny-bert").out))
    assert sum(times for _, times, _ in lines) == len(tiny.tensors) == 40
    explanations = {name: what for name, _, what in lines}
    assert explanations["encoder.layer.*.attention.self.query.weight"] == "used as W_Q"
    assert explanations["embeddings.position_ids"] == "skipped: buffer:"
    assert explanations["pooler.dense.weight"] == "used as W_pool"


def test_json_holds_every_matrix_and_tensor(dudley, tiny):
    document = dudley("measure", "tiny-bert", "--json").json()
    (item,) = document["items"]
    assert document["kind"] == "measure" and item["id"] == "tiny-bert"
    assert item.pop("judgement")
    assert item == json.loads(json.dumps(tiny.to_json()))
    bad = json.loads(json.dumps(document))
    bad["items"][0]["rows"][0].pop("norms")
    done = dudley("measure", "tiny-bert", "--json")
    with pytest.raises(ValidationError):
        type(done)(0, json.dumps(bad), "").json()


def test_a_csv_is_written_whole(dudley, tiny, tmp_path):
    file = tmp_path / "norms.csv"
    assert dudley("measure", "tiny-bert", "--csv", file).code == 0
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [float(row["l11"]) for row in rows] == [row.norms["l11"] for row in tiny.rows]
    assert [path.name for path in tmp_path.iterdir()] == ["norms.csv"]


def test_heads_ranks_and_distances_are_shown_on_request(dudley, tmp_path):
    start = checkpoints.write(tmp_path / "start", *checkpoints.bert(seed=5))
    done = dudley("measure", "tiny-bert", "--per-head", "--init", start, "--rank-tolerance", 0.01)
    assert (done.code, done.err) == (0, "")
    assert re.search(r"^  W_Q head 1\s+8×4", done.out, re.MULTILINE)
    assert re.search(r"stable +rank +moved\.op +moved\.fro$", done.out, re.MULTILINE)
    assert f"distance from {start}" in done.out


@pytest.mark.parametrize("columns", [80, 100, 120])
@pytest.mark.parametrize("more", [(), ("--init", "tiny-bert", "--rank-tolerance", "0.01")])
def test_the_table_fits_the_terminal(dudley, monkeypatch, columns: int, more: tuple[str, ...]):
    monkeypatch.setenv("COLUMNS", str(columns))
    out = dudley("measure", "tiny-bert", *more).out
    assert max(map(len, out.splitlines())) <= columns
    words = [word.rstrip(":") for word in out[out.index("layer 0") :].split()]
    norms = ["op", "fro", "l11", "col21", "row21", "row2inf", "stable"]
    assert all(norm in words for norm in norms) and ("moved.fro" in words) == bool(more)


def lora(folder) -> Path:
    """An update of the first queries of tiny-bert, of rank two."""
    W_Q = "encoder.layer.0.attention.self.query"
    A, B = torch.eye(2, 8), torch.eye(8, 2)
    return adapter(folder, {f"{W_Q}.lora_A.weight": A, f"{W_Q}.lora_B.weight": B})


def test_an_adapter_is_measured_on_its_base_and_apart_from_it(dudley, tmp_path, tiny):
    words = ["measure", lora(tmp_path / "lora"), "--base", "tiny-bert", "--init", "tiny-bert"]
    (item,) = dudley(*words, "--json").json()["items"]
    rows = {(r["role"], r["layer"]): r for r in item["rows"] if r["head"] is None}
    moved = rows["W_Q", 0]["distance"]  # s·B·A with s = 6/2: twice 3 on the diagonal
    assert moved["op"] == pytest.approx(3) and moved["l11"] == pytest.approx(6)
    assert rows["W_K", 0]["distance"]["op"] == 0
    assert rows["W_K", 0]["norms"] == tiny.row("W_K", 0).norms
    factors = [use for use in item["tensors"] if "lora_" in use["name"]]
    assert len(factors) == 2 and all("added to" in use["why"] for use in factors)


def test_an_adapter_without_its_base_asks_for_it(dudley, tmp_path):
    assert "--base" in dudley("measure", lora(tmp_path / "lora")).refused()


def test_a_mapping_that_fits_nothing_is_refused(dudley, tmp_path):
    file = tmp_path / "other.toml"
    file.write_text('schema = "dudley.layout/1"\n[tensors]\n"other" = "W_E"\n')
    words = ["tiny-bert", "--layout", file, "--csv", tmp_path / "x.csv"]
    assert "other.toml" in dudley("measure", *words).refused()


REFUSED = {
    "nothing there": (["no-such-thing"], "no-such-thing"),
    "no layout": (["tiny-bert", "--layout", "bort"], "did you mean bert"),
    "no file": (["tiny-bert", "--layout", "absent.toml"], "absent.toml"),
    "heads": (["tiny-bert", "--heads", "3"], "2, as the config says"),
    "no folder": (["tiny-bert", "--csv", "/no/such/folder/x.csv"], "--csv"),
    "ending": (["tiny-bert", "--csv", "x.txt"], "ends in .csv"),
    "tolerance": (["tiny-bert", "--rank-tolerance", "nan"], "rank tolerance"),
    "device": (["tiny-bert", "--device", "abacus"], "abacus"),
    "base": (["tiny-bert", "--base", "tiny-bert"], "adapter"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_are_one_line(dudley, what: str):
    words, message = REFUSED[what]
    assert message in dudley("measure", *words).refused()


def test_nothing_is_left_behind_when_a_tensor_is_refused(dudley, tmp_path):
    config, tensors = checkpoints.bert()
    tensors["encoder.layer.1.output.dense.weight"][0, 0] = np.inf
    folder = checkpoints.write(tmp_path / "bad", config, tensors)
    out = tmp_path / "out"
    out.mkdir()
    line = dudley("measure", folder, "--csv", out / "x.csv").refused()
    assert "encoder.layer.1.output.dense.weight" in line and "model.safetensors" in line
    assert list(out.iterdir()) == []


def test_without_a_config_the_family_is_assumed_and_said(dudley, tmp_path):
    folder = checkpoints.write(tmp_path, None, checkpoints.llama()[1])
    words = "llama: assumed from the names of the tensors; no config names the model type"
    assert f"note: layout {words}" in dudley("measure", folder).out
    (item,) = dudley("measure", folder, "--json").json()["items"]
    assert item["assumed"] == words
    (item,) = dudley("measure", "tiny-bert", "--json").json()["items"]
    assert item["assumed"] is None
    output = dudley("measure", folder, "--layout", "mistral").out
    assert "note: layout mistral: as asked for; no config names the model type" in output


# -- derive --checkpoint ----------------------------------------------------------------------


def test_derive_says_what_the_library_says(dudley, tiny):
    done = dudley("derive", "--checkpoint", "tiny-bert", "T=4", "n=1e7", "epsilon=0.1")
    assert (done.code, done.err) == (0, "")
    description = describe(tiny, {"T": 4})
    cap = du.capacity(description.network, description.inputs, n=1e7, loss=description.loss)
    bound = cap.gap(0.05, union=du.Grid())
    assert f"risk − training loss ≤ {float(bound):.6g}" in done.out
    assert "86 numbers" in done.out and "network.0.W_E.op 2.545 → 2.828" in done.out
    for assumption in (*bound.assumptions, *description.assumptions):
        assert f"  · {assumption}" in done.out
    assert "LayerNorm, ε = 1e-12" in done.out and "gelu, 1.12905-Lipschitz [checked]" in done.out
    assert "tiny-bert (1,304 weights)" in done.out and "culprit: " in done.out


def test_derive_speaks_json_and_pays(dudley):
    words = ["derive", "--checkpoint", "tiny-bert", "n=1e7", "--explain", "--proof", "--json"]
    (item,) = dudley(*words).json()["items"]
    assert item["id"] == "tiny-bert" and item["union_nats"] > 100
    assert 0 < item["value"] < 1 and not item["vacuous"]
    assert {a["status"] for a in item["assumptions"]} >= {"paid", "declared", "checked"}
    assert item["explain"]["blocks"] and item["proof"]


def test_the_proof_ends_with_the_bound_that_pays(dudley):
    out = dudley("derive", "--checkpoint", "tiny-bert", "n=1e7", "--explain", "--proof").out
    ending = out[out.index("Together, at n = 1e+07") :]
    assert "[paid]" in ending and "└─ " in out


def test_without_n_the_assumptions_still_stand(dudley):
    done = dudley("derive", "--checkpoint", "tiny-bert", "T=4")
    assert done.code == 0 and "needs n = " in done.out and "dropout: off" in done.out
    (item,) = dudley("derive", "--checkpoint", "tiny-bert", "T=4", "--json").json()["items"]
    statuses = {a["name"]: a["status"] for a in item["assumptions"]}
    assert statuses["norms"] == "checked" and statuses["dropout"] == "declared"


def sample(folder, **arrays) -> str:
    np.savez(folder / "sample.npz", **arrays)
    return str(folder / "sample.npz")


@pytest.mark.slow
def test_derive_reads_levels_off_activations(dudley, tmp_path):
    """A bound that says something falls, and says of whose loss it is."""
    data = sample(tmp_path, X=np.random.default_rng(0).integers(0, 11, (300, 4)))
    words = ["derive", "--checkpoint", "tiny-bert", "T=4", "n=1e7"]
    plain, read = dudley(*words), dudley(*words, "--activations", data, "--proof")
    assert (read.code, read.err) == (0, "")
    assert "risk − training loss ≤ 0.1" in plain.out and "least_std" not in plain.out
    assert "risk − training loss with alarms ≤ 0.0" in read.out
    assert "training loss: an example counts 1 if a norm layer reads a row below" in read.out
    assert "91 numbers" in read.out  # five levels more
    assert "activations: on 300 examples no norm layer reads a row below" in read.out
    assert "√ε =" not in read.out and "Loss class with alarms" in read.out
    needs = [
        dudley(*words, *more, "--json").json()["items"][0]["needed_n_log10"]
        for more in ([], ["--activations", data])
    ]
    assert needs[1] < needs[0] - 0.2


ACTIVATIONS = {
    "no array X": ({"Y": np.zeros((2, 4), int)}, "an array X"),
    "an id beyond the vocabulary": ({"X": np.full((2, 4), 11)}, "token ids below 11"),
    "rows for tokens": ({"X": np.zeros((2, 4, 8))}, "token ids below 11"),
    "more tokens than T": ({"X": np.zeros((2, 5), int)}, "T ≤ 4"),
    "no examples": ({"X": np.zeros((0, 4), int)}, "token ids below 11"),
}


@pytest.mark.parametrize("what", ACTIVATIONS)
def test_derive_refuses_activations_that_do_not_fit(dudley, tmp_path, what: str):
    arrays, message = ACTIVATIONS[what]
    words = ["--checkpoint", "tiny-bert", "T=4", "--activations", sample(tmp_path, **arrays)]
    assert message in dudley("derive", *words).refused()


def test_derive_refuses_activations_without_a_checkpoint(dudley, tmp_path):
    data = sample(tmp_path, X=np.zeros((2, 4), int))
    assert "--checkpoint" in dudley("derive", "bert-base", "--activations", data).refused()


@pytest.mark.slow
def test_derive_takes_an_adapter_with_its_base(dudley, tmp_path):
    words = ["--checkpoint", lora(tmp_path / "lora"), "--base", "tiny-bert", "T=4", "n=1e6"]
    with_it = dudley("derive", *words, "--json").json()["items"][0]
    plain = dudley("derive", "--checkpoint", "tiny-bert", "T=4", "n=1e6", "--json").json()
    assert with_it["lipschitz_log10"] > plain["items"][0]["lipschitz_log10"]


@pytest.mark.slow
def test_derive_from_an_initial_value(dudley, tmp_path):
    start = checkpoints.write(tmp_path / "start", *checkpoints.bert(seed=5))
    done = dudley("derive", "--checkpoint", "tiny-bert", "--init", start, "n=1e7")
    assert done.code == 0 and "initial weights: fixed before" in done.out


DERIVE = {
    "no network": ([], "--checkpoint"),
    "too long": (["--checkpoint", "tiny-bert", "T=7"], "at most 6 rows"),
    "an unknown name": (["--checkpoint", "tiny-bert", "W_Q.op=3"], "W_Q.op"),
    "options without it": (["single-head", "--layout", "bert"], "--checkpoint"),
    "half a head": (["--checkpoint", "tiny-bert", "H=2.5"], "H"),
    "a base without it": (["single-head", "--base", "tiny-bert"], "--checkpoint"),
    "a file and a checkpoint": (["single-head", "--checkpoint", "tiny-bert"], "name=value"),
}


@pytest.mark.parametrize("what", DERIVE)
def test_derive_refuses_in_one_line(dudley, what: str):
    words, message = DERIVE[what]
    assert message in dudley("derive", *words).refused()


@pytest.mark.slow
def test_derive_takes_the_number_of_heads_where_no_config_says_it(dudley, tmp_path):
    config, tensors = checkpoints.distilbert()  # whose ε and order need no config
    folder = checkpoints.write(tmp_path / "some", {"activation": "gelu"}, tensors)
    assert "give H=…" in dudley("derive", "--checkpoint", folder, "T=4").refused()
    done = dudley("derive", "--checkpoint", folder, "T=4", "H=2")
    assert done.code == 0 and "layout: distilbert: assumed from" in done.out
    whole = checkpoints.write(tmp_path / "whole", config, tensors)
    plain = dudley("derive", "--checkpoint", whole, "T=4")
    assert dudley("derive", "--checkpoint", whole, "T=4", "H=2").out == plain.out
    line = dudley("derive", "--checkpoint", whole, "T=4", "H=4").refused()
    assert "heads: expected 2, as the config says, got 4" in line


@pytest.mark.slow
def test_a_larger_classifier_has_a_larger_bound(dudley, tmp_path):
    values = []
    for factor in (1.0, 100.0):
        config, tensors = checkpoints.classifiers()["bert"]
        tensors["classifier.weight"] *= np.float32(factor)
        folder = checkpoints.write(tmp_path / str(factor), config, tensors)
        words = ["--checkpoint", folder, "T=4", "n=1e9", "margin=1", "--json"]
        values.append(dudley("derive", *words).json()["items"][0]["value"])
        assert "w.l2" in dudley("derive", *words[:-1], "w.l2=1").refused()
    assert values[0] < values[1]


def test_the_judgement_is_the_same_in_json(dudley):
    done = dudley("measure", "tiny-bert", "--init", "tiny-bert", "--sibling", "tiny-bert", "--json")
    assert (done.code, done.err) == (0, "")
    (item,) = done.json()["items"]
    judgement = item["judgement"]
    assert judgement["largest"]["op"]["place"] == "W_QK of layer 1, head 0"
    assert judgement["moved"]["median"] == 0.0 and judgement["apart"]["value"] == 1.0
    assert judgement["sibling"]["stable_rank"] == judgement["stable_rank"]
