"""How the location of a run is spelled, and what is refused."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing
from dudley.lab import RunLocation, Store
from dudley.lab.store.database import StoreFailed
from each import each


@pytest.mark.parametrize("words", ["runs/and", "a#b", "/x/postgresql", "50%", "."])
def test_what_is_no_address_is_a_folder(words: str):
    location = RunLocation.of(words)
    assert location == RunLocation.of(Path(words)) == RunLocation.of(location)
    assert (location.folder, location.url, location.run) == (Path(words), None, None)
    assert (location / "x").folder == Path(words) / "x"


@pytest.mark.parametrize(
    ("words", "url", "run"),
    [
        ("postgresql://u@h/d#r", "postgresql://u@h/d", "r"),
        ("postgresql://u@h:5433/d?sslmode=require#a/b-1.c", None, "a/b-1.c"),
        ("postgres://h/d#ε", None, "ε"),
        ("postgresql:///d?host=/run/postgresql#r", None, "r"),
    ],
)
def test_an_address_is_a_database_and_a_run(words: str, url: str | None, run: str):
    location = RunLocation.of(words)
    assert (location.url, location.run) == (url or words.partition("#")[0], run)
    assert location.folder is None and (location / "x").run == f"{run}/x"
    assert RunLocation.of(str(location)) == location == pickle.loads(pickle.dumps(location))


@each(
    ("words", "match"),
    [
        ("postgresql://h/d", "a word after #, got ''; end the address"),
        ("postgresql://h/d#", "a word after #"),
        ("postgresql://h/d#a b", "a word after #, got 'a b'"),
        ("postgresql://h/d#/a", "a word after #"),
        ("postgresql://h/d#a//b", "a word after #"),
        ("postgresql://h/#r", "database#run, got postgresql://h/"),
        ("mysql://h/d#r", "a folder, or postgresql://user@host/database#run, got mysql://h/d"),
        ("postgresql://h:x/d#r", "an address that cannot be read"),
        (Path("postgresql://h/d#r"), "an address as a string"),
        (Path("postgres:/h"), "an address as a string"),
    ],
)
def test_others_are_refused(words: str | Path, match: str):
    with pytest.raises(InputError, match=match):
        RunLocation.of(words)


@pytest.mark.parametrize(
    "words", ["postgresql://ada:s3cr:et@h/d#r", "postgresql://ada@h/d?x=1&password=s3cr:et#r"]
)
def test_a_password_is_never_shown(words: str):
    location = RunLocation.of(words)
    for shown in (str(location), repr(location), location.description, repr(location / "x")):
        assert "s3cr" not in shown and "ada" in shown
    assert location.url is not None and "s3cr:et" in location.url
    with pytest.raises(InputError) as error:
        RunLocation.of(words.replace("/d", "/"))
    assert "s3cr" not in str(error.value)


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ExtraMissing, match=r"PostgreSQL needs psycopg.*'\.\[postgres\]'"):
        Store.open("postgresql://h/d#r")


def test_a_server_that_is_not_there_is_told_in_one_line(postgres):
    with pytest.raises(StoreFailed, match=r"store postgresql://u@127.0.0.1:1/d#r: .*refused") as e:
        Store.open("postgresql://u:hidden@127.0.0.1:1/d#r")
    assert "\n" not in str(e.value) and "hidden" not in str(e.value)
