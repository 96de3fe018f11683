"""A damaged run folder is named and skipped in listings, and refused in one line when asked for."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from cli.conftest import dudley
from dudley.lab.pages.results import committed_folder
from dudley.web.app import create_app
from dudley.web.check import ask
from dudley.web.safety import Settings
from tiny_run import tiny

__all__ = ["dudley"]  # a fixture
NAME, SCALE = "edelman2021-parity", "laptop"
RECORD, FINDINGS = "provenance.json", "findings.json"
Damage = Callable[[Path], None]


def text(name: str, content: str | bytes) -> Damage:
    """Another content of a file."""
    raw = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).unlink() or ((folder / name).write_bytes(raw) and None)


def changed(name: str, change: Callable[[Any], Any]) -> Damage:
    """A JSON file with something changed."""

    def apply(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(change(json.loads(path.read_text()))), encoding="utf-8")

    return apply


def record(**fields: Any) -> Damage:
    return changed(RECORD, lambda document: document | fields)


def without(field: str) -> Damage:
    return changed(RECORD, lambda record: {k: v for k, v in record.items() if k != field})


def replaced(name: str, make: Callable[[Path], None]) -> Damage:
    """Something else at the place of a file."""
    return lambda folder: (folder / name).unlink() or make(folder / name)


def truncated(name: str, share: float) -> Damage:
    def apply(folder: Path) -> None:
        raw = (folder / name).read_bytes()
        (folder / name).write_bytes(raw[: int(len(raw) * share)])

    return apply


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)  # of holes: it takes no room


RECORDS: dict[str, Damage] = {
    "record empty": text(RECORD, ""),
    "record no JSON": text(RECORD, "{"),
    "record a list": text(RECORD, "[]"),
    "record in Latin-1": text(RECORD, "é".encode("latin-1")),
    "record in UTF-16": text(RECORD, '{"a": 1}'.encode("utf-16")),
    "record binary": text(RECORD, bytes(range(256))),
    "record nested deeply": text(RECORD, "[" * 200_000),
    "record truncated": truncated(RECORD, 0.5),
    "record huge": replaced(RECORD, huge),
    "record gone": lambda folder: (folder / RECORD).unlink(),
    "record a folder": replaced(RECORD, Path.mkdir),
    "record a link out": replaced(RECORD, lambda path: path.symlink_to("/etc/hostname")),
    "record a link to itself": replaced(RECORD, lambda path: path.symlink_to(path)),
    "record a pipe": replaced(RECORD, os.mkfifo),
    "record without experiment": without("experiment"),
    "record without machine": without("machine"),
    "record without digest": without("src_sha256"),
    "experiment a number": record(experiment=3),
    "experiment a path": record(experiment="../../x"),
    "scale a list": record(scale=["laptop"]),
    "config a list": record(config=[1]),
    "machine a text": record(machine="mine"),
    "seconds a text": record(seconds="long"),
    "seconds infinite": record(seconds=float("inf")),
    "seconds NaN": record(seconds=float("nan")),
    "earlier starts a number": record(earlier_starts=3),
    "earlier starts without digest": record(earlier_starts=[{}]),
    "findings empty": text(FINDINGS, ""),
    "findings an object": text(FINDINGS, "{}"),
    "findings of numbers": text(FINDINGS, "[1, 2]"),
    "findings in Latin-1": text(FINDINGS, '["é"]'.encode("latin-1")),
    "findings gone": lambda folder: (folder / FINDINGS).unlink(),
    "findings truncated": truncated(FINDINGS, 0.9),
    "findings with an unknown verdict": changed(FINDINGS, lambda t: [t[0] | {"verdict": "proved"}]),
    "findings with a field more": changed(FINDINGS, lambda f: [f[0] | {"more": 1}]),
    "findings with a claim of numbers": changed(FINDINGS, lambda f: [f[0] | {"claim": 3}]),
    "findings with numbers in a list": changed(FINDINGS, lambda f: [f[0] | {"numbers": []}]),
}


def tables(apply: Callable[[Path], None]) -> Damage:
    def every(folder: Path) -> None:
        for path in folder.glob("*.parquet"):
            apply(path)

    return every


def written(path: Path, **columns: Any) -> None:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


TABLES: dict[str, Damage] = {
    "tables truncated": tables(lambda path: truncated(path.name, 0.7)(path.parent)),
    "tables empty": tables(lambda path: path.write_bytes(b"") and None),
    "tables of text": tables(lambda path: path.write_text("a,b\n1,2\n") and None),
    "tables gone": tables(Path.unlink),
    "tables with other columns": tables(lambda path: written(path, other=np.arange(3))),
    "tables huge": tables(lambda path: path.unlink() or huge(path)),
    "tables folders": tables(lambda path: path.unlink() or path.mkdir()),
    "an experiment that nobody knows": record(experiment="nobody"),
}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two whole runs, the second of them to be damaged."""
    monkeypatch.chdir(tmp_path)
    for name in ("bad", "good"):
        shutil.copytree(committed_folder() / NAME / SCALE, tmp_path / "runs" / name)
    return tmp_path / "runs"


def listed(runs: Path) -> dict[str, dict[str, str]]:
    answer = ask(create_app(Settings(runs=runs)), "/api/experiments")
    assert answer.status == 200, answer.body
    return {one["place"]: one for one in answer.json()["runs"]}


def refused(runs: Path, dudley) -> None:
    """Asked for directly: one line, and 4xx or exit code 2."""
    answer = ask(create_app(Settings(runs=runs)), "/api/experiments/runs/bad")
    assert answer.status in (400, 404), answer.body
    assert "\n" not in answer.json()["error"]
    dudley("report", runs / "bad").refused()
    dudley("lab", "figures", NAME, "--results", runs / "bad", "--out", "figures").refused()


@pytest.mark.parametrize("case", RECORDS)
def test_a_damaged_record_is_named_and_skipped(dudley, runs: Path, case: str):
    RECORDS[case](runs / "bad")
    entries = listed(runs)
    assert entries["good"]["state"] == "finished"
    assert entries["bad"]["state"] == "unreadable"
    assert entries["bad"]["found"] and "\n" not in entries["bad"]["found"]
    refused(runs, dudley)


@pytest.mark.parametrize("case", TABLES)
def test_a_damaged_table_stops_no_listing(dudley, runs: Path, case: str):
    TABLES[case](runs / "bad")
    assert listed(runs)["good"]["state"] == "finished"
    refused(runs, dudley)


@pytest.mark.parametrize("case", ["record truncated", "findings empty", "record gone"])
def test_damaged_committed_results_stop_no_listing(dudley, runs: Path, case: str):
    committed = runs.parent / "results" / NAME
    shutil.copytree(runs / "good", committed / "laptop")
    shutil.copytree(runs / "good", committed / "smoke")
    RECORDS[case](committed / "laptop")
    results = ("--results", committed.parent)
    done = dudley("lab", "list", *results)
    assert done.code == 0 and "laptop: unreadable, skipped:" in done.out
    items = dudley("lab", "list", *results, "--json").json()["items"]
    (item,) = [item for item in items if item["id"] == NAME]
    assert list(item["damaged"]) == ["laptop"] and list(item["results"]) == ["smoke"]
    assert dudley("serve", "--check", *results, "--runs", runs).code == 0
    app = create_app(Settings(runs=runs, results=committed.parent))
    assert ask(app, f"/api/experiments/committed/{NAME}/laptop").status == 400
    dudley("lab", "figures", NAME, "--scale", "laptop", *results).refused()


def test_a_finished_run_whose_record_is_damaged_is_not_overwritten(dudley, runs: Path):
    text(RECORD, "{")(runs / "bad")
    dudley("lab", "run", NAME, "--scale", SCALE, "--out", runs / "bad").refused()
    assert (runs / "bad" / RECORD).read_text() == "{"


def rows(statement: str) -> Damage:
    def apply(folder: Path) -> None:
        with sqlite3.connect(folder / "store.sqlite") as connection:
            connection.execute(statement)
        connection.close()

    return apply


NOT_READ = "work in words"  # needed by no command but status
STORES: dict[str, Damage] = {
    "no database": text("store.sqlite", "SQLite format 3? no"),
    "empty": text("store.sqlite", ""),
    "truncated": truncated("store.sqlite", 0.3),
    "a folder": replaced("store.sqlite", Path.mkdir),
    "a link to itself": replaced("store.sqlite", lambda path: path.symlink_to(path)),
    "a config that is no JSON": rows("UPDATE trials SET config = '{'"),
    "a config that is a list": rows("UPDATE trials SET config = '[1]'"),
    "a key that is no number": rows("UPDATE trials SET key = 'zz'"),
    NOT_READ: rows("UPDATE batches SET work = 'much', done = 'some'"),
    "of the future": rows("UPDATE runs SET schema = 99"),
    "no runs": rows("DELETE FROM runs"),
    "no table of batches": rows("DROP TABLE batches"),
}


@pytest.mark.parametrize("case", STORES)
def test_a_damaged_store_is_named_and_skipped(dudley, tmp_path: Path, case: str):
    for name in ("bad", "good"):
        tiny(tmp_path / name)
        for log in tmp_path.glob(f"{name}/store.sqlite-*"):
            log.unlink()
    STORES[case](tmp_path / "bad")
    entries = listed(tmp_path)
    assert entries["good"]["state"] == "not finished"
    assert entries["bad"]["state"] == ("not finished" if case == NOT_READ else "unreadable")
    dudley("lab", "status", tmp_path / "bad").refused()
    if case != NOT_READ:
        dudley("lab", "export", tmp_path / "bad", "--out", tmp_path / "out").refused()
        dudley("lab", "diff", tmp_path / "good", tmp_path / "bad").refused()
