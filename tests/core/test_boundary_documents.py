"""JSON and TOML of strangers: each limit refuses at once, and what is honest passes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dudley.core.boundary import documents, limits
from dudley.core.errors import InputError
from each import each

JSON = {
    "two keys": ('{"a": 1, "a": 2}', "'a' twice"),
    "NaN": ('{"a": NaN}', "finite numbers"),
    "infinity by overflow": ('{"a": {"b": 1e999}}', "a.b: expected a finite number"),
    "a long integer": ('{"a": [1' + "0" * 30 + "]}", "a: expected an integer below 2\\^64"),
    "a lone surrogate": ('{"a": "\\ud800"}', "half of a surrogate pair"),
    "a lone surrogate in a key": ('{"\\udfff": 1}', "half of a surrogate pair"),
    "deep lists": ("[" * 10**5, "64 deep"),
    "deep objects": ('{"a":' * 10**5, "64 deep"),
    "many entries": ("[" + "0," * (limits.JSON_ENTRIES + 1) + "0]", "entries"),
    "a long key": (json.dumps({"k" * 5000: 1}), "at most 4,096 characters"),
    "no JSON": ("{", "JSON"),
    "no object": ("[1]", "a JSON object, got list"),
}
TOML = {
    "two keys": ("a = 1\na = 2", "valid TOML"),
    "nan": ("a.b = nan", "a.b: expected a finite number"),
    "a dotted key": ("a" + ".a" * 10**5 + " = 1", "64 deep"),
    "a quoted dotted key": ("'a b'" + ".'a b'" * 10**4 + " = 1", "64 deep"),
    "deep lists": ("a = " + "[" * 10**5, "64 deep"),
    "deep tables": ("a = " + "{a=" * 10**5, "64 deep"),
    "tables that lines nest": ("[" + ".".join("a" * 40) + "]\nx" + ".x" * 40 + " = 1", "64 deep"),
    "many entries": ("a = [" + "0," * (limits.TOML_ENTRIES + 1) + "]", "entries"),
    "a long file": ("#" * (limits.TOML_BYTES + 1), "bytes of TOML"),
}


@each("case", JSON)
def test_json_is_refused(case: str):
    text, words = JSON[case]
    with pytest.raises(InputError, match=words) as caught:
        documents.parse(text.encode(), "f.json")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 500


@pytest.mark.parametrize("case", TOML)
def test_toml_is_refused(case: str):
    text, words = TOML[case]
    with pytest.raises(InputError, match=words) as caught:
        documents.parse_toml(text, "f.toml")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 500


def test_brackets_in_texts_and_comments_do_not_nest():
    brackets = "[{" * 100
    assert documents.parse(json.dumps({"a": brackets, "b": '\\"' + brackets}), "f")["a"] == brackets
    text = f'a = "{brackets}"\nb = \'\'\'{brackets}\n\'\'\'\n# {brackets}\nc = """\\"{brackets}"""'
    assert documents.parse_toml(text, "f")["c"] == f'"{brackets}'


def test_lists_of_floats_are_no_dotted_keys():
    keys = "".join(f"b.k{i}.op = 1.0\n" for i in range(99))
    text = "a = [" + ", ".join(["1.5"] * 200) + "]\n" + keys
    assert len(documents.parse_toml(text, "f")["a"]) == 200


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"a = '\xff'")
    with pytest.raises(InputError, match="UTF-8, got a wrong byte at 5"):
        documents.read_toml(tmp_path / "a")
    with pytest.raises(InputError, match="a regular file, got a folder"):
        documents.read(tmp_path)


def test_findings_are_bounded_like_any_document_and_may_be_infinite(tmp_path: Path):
    from dudley.lab.record import findings

    path = tmp_path / "findings.json"
    claim = {"claim": "c", "verdict": "undecided", "found": "f"}
    path.write_text(json.dumps([claim | {"numbers": {"far": float("inf")}}]), encoding="utf-8")
    assert findings(tmp_path)[0].numbers == {"far": float("inf")}
    path.write_text("[" + "[]," * limits.JSON_ENTRIES + "[]]", encoding="utf-8")
    with pytest.raises(InputError, match="at most 1,048,576 entries"):
        findings(tmp_path)
    path.write_text(json.dumps([claim | {"numbers": {"far": 10**400}}]), encoding="utf-8")
    with pytest.raises(InputError, match="an integer below 2"):
        findings(tmp_path)
