"""Strangers' Python: a file runs once, a source that fails leaves nothing registered."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dudley.core import outside
from dudley.core.errors import InputError
from dudley.core.registry import Registry

SOURCE = """
import sys
animals, plants = sys.modules["{name}"].REGISTRIES
animals.register("cat")(object())
plants.register("oak")(object())
"""


@pytest.fixture
def registries(monkeypatch):
    pair = Registry("animal"), Registry("plant")
    monkeypatch.setattr(sys.modules[__name__], "REGISTRIES", pair, raising=False)
    monkeypatch.setattr(outside, "_executed", set())
    monkeypatch.setattr(outside, "_groups", set())
    return pair


def write(path: Path, tail: str = "") -> Path:
    path.write_text(SOURCE.format(name=__name__) + tail, encoding="utf-8")
    return path


def test_a_file_is_executed_once(tmp_path, registries):
    path = write(tmp_path / "mine.py")
    for _ in range(2):  # a second execution would register the cat twice
        outside.execute(path, "--animals", registries)
    assert [*registries[0], *registries[1]] == ["cat", "oak"]
    assert outside.executed() == [path.resolve()]


def test_a_file_that_was_forgotten_is_executed_again(tmp_path, registries):
    path = write(tmp_path / "mine.py")
    outside.execute(path, "--animals", registries)
    for registry in registries:
        for name in list(registry):
            registry.remove(name)
    outside.forget(path)
    outside.execute(path, "--animals", registries)
    assert "cat" in registries[0]


@pytest.mark.parametrize("tail", ["1/0", "raise SystemExit(0)"])
def test_a_file_that_fails_leaves_nothing(tmp_path, registries, tail):
    registries[0].register("dog")(object())
    path, modules = write(tmp_path / "bad.py", tail), set(sys.modules)
    with pytest.raises(InputError, match=r"--animals: expected bad.py to register animals"):
        outside.execute(path, "--animals", registries)
    assert [*registries[0], *registries[1]] == ["dog"] and set(sys.modules) == modules
    assert not outside.loading()
    write(path)
    outside.execute(path, "--animals", registries)  # once it is mended
    assert list(registries[0]) == ["dog", "cat"]


@pytest.mark.parametrize("name", ["mine.txt", "absent.py"])
def test_what_is_no_python_file_is_not_executed(tmp_path, registries, name):
    write(tmp_path / "mine.txt")
    with pytest.raises(InputError, match=r"a Python file \(\.py\)"):
        outside.execute(tmp_path / name, "--animals", registries)
    assert not registries[0]


class Entry:
    def __init__(self, name, load):
        self.name, self.load = name, load


def test_an_entry_point_that_fails_is_left_out_and_the_others_load_once(monkeypatch, registries):
    animals, _ = registries
    calls = []

    def broken():
        animals.register("cat")(object())
        raise ImportError("half of it\nis missing")

    def good():
        calls.append(outside.loading())
        outside.load_entry_points("zoo", registries)  # as a module that reads a registry does
        animals.register("dog")(object())

    declared = [Entry("torn", broken), Entry("good", good)]
    monkeypatch.setattr(outside, "entry_points", lambda group: declared)
    with pytest.warns(RuntimeWarning, match="zoo entry point 'torn' is left out: half of it is"):
        outside.load_entry_points("zoo", registries)
    outside.load_entry_points("zoo", registries)
    assert list(animals) == ["dog"] and calls == [True]
