"""Logs of lm-eval, Inspect, Hugging Face and scikit-learn as tables, in their current formats."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dudley as du
from dudley.certificates.outcomes.logs.base import LOGS
from dudley.core.errors import InputError, UnknownName
from each import each


def lm_eval_line(doc: int, filter: str = "none", **metrics: float) -> dict:
    """A line as lm-eval 0.4.13 writes it."""
    return {
        "doc_id": doc,
        "doc": {"question": "2+2?", "answer": "4"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": "Q: 2+2?\nA:", "arg_1": {"until": ["\n"]}}},
        "resps": [["4"]],
        "filtered_resps": ["4"],
        "filter": filter,
        "metrics": list(metrics),
        "doc_hash": f"{doc:064x}",
        "prompt_hash": "0" * 64,
        "target_hash": "1" * 64,
        **metrics,
    }


def lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def inspect_sample(number: int, value: object, epoch: int = 1) -> dict:
    """A sample as a log of format 2 has it."""
    scores = None if value is None else {"match": {"value": value, "answer": "4", "history": []}}
    return {
        "id": number, "epoch": epoch, "input": "2+2?", "target": "4", "messages": [],
        "output": {"model": "mockllm/model", "choices": []}, "scores": scores,
    }  # fmt: skip


def inspect_file(path: Path, *samples: dict, status: str = "success") -> Path:
    task = {"task": "sums", "model": "mockllm/model"}
    log = {"version": 2, "status": status, "eval": task, "samples": list(samples)}
    path.write_text(json.dumps(log), encoding="utf-8")
    return path


def test_lm_eval_metrics_and_filters(tmp_path: Path):
    path = lines(
        tmp_path / "samples_sums_2026-05-01.jsonl",
        *(lm_eval_line(i, acc=float(i > 0), acc_norm=1.0, bleu=0.25) for i in range(4)),
    )
    table = du.read_outcomes(path, "lm-eval", metric="acc")
    assert table.losses.tolist() == [1, 0, 0, 0] and table.binary and len(set(table.ids)) == 4
    graded = du.read_outcomes(path, "lm-eval", metric="bleu")
    assert graded.losses.tolist() == [0.75] * 4 and not graded.binary
    assert not du.read_outcomes(path, "lm-eval", metric="acc", binary=False).binary
    lower = du.read_outcomes(path, "lm-eval", metric="bleu", lower_is_better=True)
    assert lower.losses.tolist() == [0.25] * 4
    with pytest.raises(InputError, match="metric, one of: acc, acc_norm, bleu, got 3 of them"):
        du.read_outcomes(path, "lm-eval")
    two = [lm_eval_line(i, name, exact_match=1) for name in ("strict", "flexible") for i in (0, 1)]
    path = lines(tmp_path / "two.jsonl", *two)
    assert du.read_outcomes(path, "lm-eval", filter="strict").n == 2
    with pytest.raises(InputError, match="filter, one of: strict, flexible, got 2 of them"):
        du.read_outcomes(path, "lm-eval")


@each(
    "name, rows, words",
    [
        ("two runs", [lm_eval_line(0, acc=1)] * 2, "line 2: expected each document once, got 0"),
        ("no number", [lm_eval_line(0, acc=[1, 2])], "expected a number in acc, got list"),
        ("not a grade", [lm_eval_line(0, perplexity=12.0)], "grades in [0, 1] in every row"),
        ("between", [lm_eval_line(0, acc=0.5)], "grades 0 or 1"),
        ("NaN", [lm_eval_line(0, acc=float("nan"))], "grades in [0, 1] in every row"),
        ("another object", [{"a": 1}], "a sample with doc_id, filter and metrics"),
        ("no lines", [], "an object a line"),
    ],
)
def test_lm_eval_logs_that_are_refused(name: str, rows: list, words: str, tmp_path: Path):
    path = lines(tmp_path / "samples.jsonl", *rows)
    with pytest.raises(InputError) as refused:
        du.read_outcomes(path, "lm-eval")
    assert words.replace("an object a line", "a JSON object a line") in str(refused.value)


def test_inspect_values(tmp_path: Path):
    path = tmp_path / "log.json"
    values = ["C", "I", "N", True, "yes", "P"]
    samples = [inspect_sample(i, value) for i, value in enumerate(values)]
    table = du.read_outcomes(inspect_file(path, *samples), "inspect")
    assert table.losses.tolist() == [0, 1, 1, 0, 0, 1] and table.binary
    half = du.read_outcomes(path, "inspect", partial=0.5)
    assert half.losses.tolist() == [0, 1, 1, 0, 0, 0.5] and not half.binary
    epochs = [inspect_sample(i, 0.5, epoch) for i in (7, 8) for epoch in (1, 2)]
    graded = du.read_outcomes(inspect_file(path, *epochs), "inspect")
    assert graded.losses.tolist() == [0.5] * 4 and graded.ids.tolist() == [0, 0, 1, 1]
    samples = [inspect_sample(0, "C"), inspect_sample(1, None), inspect_sample(2, float("nan"))]
    inspect_file(path, *samples)
    assert du.read_outcomes(path, "inspect", unscored="error").losses.tolist() == [0, 1, 1]
    with pytest.raises(InputError, match="expected a score of match in every sample"):
        du.read_outcomes(path, "inspect")
    with pytest.raises(InputError, match="a run with status success, got 'error'"):
        du.read_outcomes(inspect_file(path, *samples, status="error"), "inspect")
    with pytest.raises(InputError, match="a word"):
        du.read_outcomes(inspect_file(path, inspect_sample(0, "B+")), "inspect")
    with pytest.raises(InputError, match="a log of Inspect"):
        du.read_outcomes(inspect_file(path, {"id": 1}), "inspect")


def test_an_inspect_archive(tmp_path: Path):
    path = tmp_path / "log.eval"
    summaries = [inspect_sample(i, "C" if i else "I") for i in range(3)]
    members = {"header.json": {"version": 2, "status": "success"}, "summaries.json": summaries}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(content))
    assert du.read_outcomes(path, "inspect").losses.tolist() == [1, 0, 0]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    with pytest.raises(InputError, match="inspect log convert"):
        du.read_outcomes(path, "inspect")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, json.dumps(content))
    stored = path.read_bytes()
    for mark, place in ((b"PK\3\4", 8), (b"PK\1\2", 10)):  # both say how a member is packed
        parts = stored.split(mark)
        packed = (part[: place - 4] + b"\x5d\0" + part[place - 2 :] for part in parts[1:])
        stored = mark.join([parts[0], *packed])
    path.write_bytes(stored)
    with pytest.raises(InputError) as refused:
        du.read_outcomes(path, "inspect")
    assert str(refused.value).count(path.name) == 1, refused.value
    assert "got 'header.json' packed with Zstandard; inspect log convert" in str(refused.value)
    path.write_bytes(b"PK\3\4 and no more")
    with pytest.raises(InputError, match="inspect log convert"):
        du.read_outcomes(path, "inspect")


def test_hugging_face_predictions(tmp_path: Path):
    logits = np.array([[0.0, 2.0], [3.0, 1.0], [1.0, 1.0], [0.0, 9.0]])
    labels = np.array([1, 1, 0, 1])
    output = SimpleNamespace(predictions=logits, label_ids=labels, metrics={"test_loss": 0.1})
    table = du.outcomes_of_predictions(output)
    assert table.losses.tolist() == [0, 1, 1, 0]  # of two largest alike: an error
    np.savez(tmp_path / "a.npz", predictions=logits, label_ids=labels)
    assert du.read_outcomes(tmp_path / "a.npz", "huggingface").sha256 == table.sha256
    rows = [{"prediction": "yes", "label": "no"}, {"prediction": "no", "label": "no"}]
    read = du.read_outcomes(lines(tmp_path / "a.jsonl", *rows), "huggingface")
    assert read.losses.tolist() == [1, 0]


def test_metrics_that_are_better_when_they_are_lower_are_losses(tmp_path: Path):
    """A Brier score of .9 is bad, and must not be read as a grade."""
    path = lines(tmp_path / "a.jsonl", *(lm_eval_line(i, brier_score=0.75) for i in range(4)))
    assert du.read_outcomes(path, "lm-eval").losses.tolist() == [0.75] * 4


def test_a_prediction_that_is_missing_is_refused(tmp_path: Path):
    rows = [{"prediction": "yes", "label": "no"}, {"prediction": "no"}]
    with pytest.raises(InputError, match="a value of label in every row"):
        du.read_outcomes(lines(tmp_path / "a.jsonl", *rows), "huggingface")


@each(
    "name, predictions, labels, words",
    [
        ("tokens", np.zeros((2, 5, 3)), np.zeros((2, 5), int), "n × classes, and n labels"),
        ("no labels", np.zeros((2, 3)), None, "n × classes, and n labels"),
        ("left out", np.zeros((2, 3)), [0, -100], "a label for every example, got -100"),
        ("NaN", [[0.0, np.nan]], [0], "finite logits"),
        ("another class", [[0.0, 1.0]], [2], "whole numbers from 0 to 1"),
        ("regression", [[0.0], [1.0]], [0.5, 1.0], "at least two classes"),
        ("ragged", [[0.0], [1.0, 2.0]], [0, 1], "logits n × classes"),
        ("tables", [{"a": 1}, {"a": 2}], [0, 1], "labels: expected texts or whole numbers"),
    ],
)
def test_predictions_that_are_refused(name: str, predictions, labels, words: str):
    with pytest.raises(InputError) as refused:
        du.outcomes_of_predictions(predictions, labels)
    assert words in str(refused.value)


def test_arrays_of_scikit_learn():
    shares = [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]
    table = du.outcomes_of_arrays(["cat", "cat", "dog"], shares, classes=np.array(["cat", "dog"]))
    assert table.losses.tolist() == [0, 1, 0] and table.score is not None
    assert du.outcomes_of_arrays([0, 1, 1], [0, 1, 0]).losses.tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="none: rows count alike"):
        du.outcomes_of_arrays([0], [0], sample_weight=[2])
    with pytest.raises(InputError, match="y_pred: expected 2 classes, got float64"):
        du.outcomes_of_arrays([0.5, 1.0], [0.4, 1.0])
    with pytest.raises(InputError, match="labels that stand in classes"):
        du.outcomes_of_arrays(["bird"], [[0.9, 0.1]], classes=["cat", "dog"])


def test_tools_are_listed_and_what_they_do_not_ask_for_is_refused(tmp_path: Path):
    assert set(LOGS) == {"lm-eval", "inspect", "huggingface"}
    with pytest.raises(UnknownName, match="did you mean lm-eval"):
        du.read_outcomes(tmp_path / "a", "lmeval")
    with pytest.raises(InputError, match="what this reader asks for"):
        du.read_outcomes(tmp_path / "a", "lm-eval", scorer="match")
    with pytest.raises(InputError, match="a readable file"):
        du.read_outcomes(tmp_path / "absent", "inspect")
