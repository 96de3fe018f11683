"""``dudley audit``: its table, its JSON and its exit codes."""

from __future__ import annotations

import json

import pytest

from dudley.cli import main
from dudley.cli.commands.audit import parse_duration
from dudley.core.errors import InputError


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(["audit", *words])
    return left.value.code, capsys.readouterr()


def test_the_table_shows_the_refutation(capsys):
    code, out = run(capsys, "trauger2024/lemma-3.5", "--jobs", "1")
    assert code == 0
    assert "refuted" in out.out and "stands" in out.out and "6931" in out.out


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_the_table_fits_the_terminal(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out = run(capsys, "trauger2024/corollary-D.0.1", "--jobs", "1")
    lines = out.out.splitlines()
    assert max(map(len, lines)) <= columns
    assert sum("stands" in line for line in lines) == 2
    assert any("refuted" in line and "witness" in line for line in lines)


def test_json_stands_alone(capsys):
    code, out = run(capsys, "trauger2024/lemma-3.5", "--jobs", "1", "--json")
    items = json.loads(out.out)["items"]
    assert code == 0 and {i["form"] for i in items} == {"printed", "derived", "best"}
    assert all(i["lower"] <= i["claimed"] for i in items if i["form"] != "printed")


def test_in_parallel_as_alone(capsys):
    _, alone = run(capsys, "trauger2024/lemma-3.5", "--jobs", "1", "--json")
    _, beside = run(capsys, "trauger2024/lemma-3.5", "--jobs", "2", "--json")
    assert json.loads(alone.out)["items"] == json.loads(beside.out)["items"]


def test_a_spent_budget_exits_with_three(capsys):
    code, out = run(capsys, "--budget", "0", "--jobs", "1")
    assert code == 3 and "left undone" in out.out


@pytest.mark.parametrize("words", [("--budget", "soon"), ("no/such",), ("--seed", "-1")])
def test_bad_words_are_refused_in_one_line(capsys, words):
    code, out = run(capsys, *words)
    assert code == 2 and len(out.err.strip().splitlines()) == 1


@pytest.mark.parametrize("text, seconds", [("90", 90), ("60s", 60), ("1.5m", 90), ("2h", 7200)])
def test_durations(text, seconds):
    assert parse_duration(text) == seconds
    with pytest.raises(InputError):
        parse_duration("-" + text)
