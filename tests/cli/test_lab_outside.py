"""Experiments of somebody else: a file that the user names, and installed packages."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest

import shown
from dudley.core import outside
from dudley.core.errors import InputError
from dudley.lab.experiment import EXPERIMENTS
from dudley.lab.figures.sketch import SKETCHES
from dudley.lab.finding import SMOKE
from dudley.lab.outside import GROUP, REGISTRIES, find
from dudley.lab.runners.packed_work import PackedWork

PAGE = Path(__file__).resolve().parents[2] / "docs/howto/experiment.md"
COINS = shown.files(PAGE.read_text(encoding="utf-8"))["coins.py"]


@pytest.fixture
def coins(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """The file of the how-to, in the folder that commands run in; nothing of it stays."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "coins.py"
    path.write_text(COINS, encoding="utf-8")
    names = {id(registry): set(registry) for registry in REGISTRIES}
    yield path
    for registry in REGISTRIES:
        for name in set(registry) - names[id(registry)]:
            registry.remove(name)
    outside.forget(path.resolve())


def test_a_file_is_run_like_any_other_experiment(dudley, coins: Path):
    done = dudley("lab", "run", "coins.py", "--scale", "smoke", "--out", "run")
    assert done.code == 0 and f"the deviation falls as 1/√m  {SMOKE}" in done.out
    assert "figures: dudley lab figures coins.py --results run" in done.out
    record = json.loads((coins.parent / "run/provenance.json").read_text(encoding="utf-8"))
    assert record["experiment"] == "coins" and record["file"]["name"] == "coins.py"
    drawn = dudley("lab", "figures", "coins.py", "--results", "run", "--out", "drawn", "--json")
    assert [item["id"] for item in drawn.json()["items"]] == ["deviation"]
    listed = dudley("lab", "list", "coins.py", "--json").json()["items"]
    assert "coins" in [item["id"] for item in listed]


def unpacked(work: PackedWork, queue) -> None:
    try:
        queue.put(work.unpack().__name__)
    except InputError as error:
        queue.put(str(error))


def elsewhere(work: PackedWork) -> str:
    """What another process makes of it."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=unpacked, args=(work, queue))
    process.start()
    text = queue.get(timeout=120)
    process.join()
    return text


@pytest.mark.slow
def test_a_worker_executes_the_same_file_or_none(coins: Path):
    find(str(coins))
    module = type(EXPERIMENTS["coins"]).__module__
    work = PackedWork.of(getattr(__import__(module), "flip"))  # noqa: B009
    assert elsewhere(work) == "flip"
    coins.write_text(COINS + "\n", encoding="utf-8")
    assert "expected the file that the run began with, got another on" in elsewhere(work)
    coins.unlink()
    assert "the file at the same path on every machine, got none on" in elsewhere(work)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", "expected one experiment in the file, got none"),
        ("1 / 0", "ZeroDivisionError"),
        (COINS.replace('name = "coins"', 'name = "../coins"'), "letters, digits"),
        (COINS.replace('name = "coins"', 'name = "edelman2021-and"'), "registered twice"),
        (
            COINS + '\n\n@experiment\nclass More(Coins):\n    name = "more"\n',
            "expected one experiment in the file, got coins, more",
        ),
    ],
)
def test_another_file_is_refused_in_one_line(dudley, coins: Path, text: str, expected: str):
    coins.write_text(text, encoding="utf-8")
    done = dudley("lab", "run", "coins.py", "--scale", "smoke")
    assert done.code == 2 and expected in done.err and done.err.count("\n") == 1
    assert not (coins.parent / "dudley-lab").exists()


def test_a_package_brings_experiments(coins: Path, monkeypatch):
    class Entry:
        name = "coins"

        @staticmethod
        def load():
            outside.execute(coins, "entry point", REGISTRIES)

    monkeypatch.setattr(outside, "entry_points", lambda group: [Entry] if group == GROUP else [])
    monkeypatch.setattr(outside, "_groups", set())
    assert find("coins").source == "De Moivre 1733" and "coins" in SKETCHES
