"""Verify for language models: from files, every single change is seen, nothing is executed."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from safetensors.numpy import save_file

from certificates.language_toys import frequencies, sentences
from dudley.certificates import tensors, verify as check
from dudley.certificates.methods.language import files
from dudley.certificates.methods.language.certificate import certify
from dudley.certificates.methods.language.corpus import Alphabet, Corpus
from dudley.certificates.methods.language.method import LanguageMethod
from dudley.core.errors import DudleyError, InputError
from each import each

pytestmark = pytest.mark.usefixtures("certified_once")

CORPUS = sentences(400)
MODEL = frequencies(CORPUS)
RECORDS = {
    "all": certify(MODEL, CORPUS, population="sentences").to_json(),
    "part": certify(MODEL, CORPUS, population="sentences", evaluated=200).to_json(),
}


# From part of the documents a place is certified by some bets: another pair that certifies the same
# place makes another certificate of the same number, and that one holds too.
FREE = {("choices", "bet"), ("choices", "second")}


@pytest.fixture
def folder(tmp_path):
    """A certificate, its model and its documents, as files."""
    (tmp_path / "certificate.json").write_text(json.dumps(RECORDS["all"]), encoding="utf-8")
    files.save(MODEL, tmp_path / "model.safetensors")
    files.save_documents(CORPUS, tmp_path / "documents.npz")
    return tmp_path


def leaves(value, path=()):
    """Every place of a JSON value that holds no object and no list, or an empty one."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        inner = isinstance(part, dict | list) and len(part) > 0
        yield from leaves(part, (*path, key)) if inner else [(*path, key)]


def at(record, path):
    for key in path:
        record = record[key]
    return record


def changed(record, path, value):
    other = copy.deepcopy(record)
    at(other, path[:-1])[path[-1]] = value
    return other


def others(old):
    """Values near the old one and far from it, and of another kind."""
    if isinstance(old, bool):
        return [not old, None]
    if isinstance(old, int):
        return [old + 1, old - 1, str(old)]
    if isinstance(old, float):
        return [old * (1 + 1e-9), old / 2, None]
    return [old + "x", old[:-1] if old else "y"] if isinstance(old, str) else [1, "x"]


def refuted(record) -> bool:
    try:
        return not check.verify(record, MODEL, CORPUS).holds
    except DudleyError:
        return True


def test_the_toy_says_something():
    values = {kind: told["value"] for kind, told in RECORDS.items()}
    limit = RECORDS["all"]["facts"]["limit"]
    assert RECORDS["all"]["facts"]["mean_loss"] < values["all"] < limit


@pytest.mark.parametrize("kind", RECORDS)
def test_what_was_made_holds(kind):
    verification = check.verify(json.loads(json.dumps(RECORDS[kind])), MODEL, CORPUS)
    assert verification.holds, [str(d) for d in verification.differences]
    assert verification.recomputed > 40
    assert {"population = sentences", "delta = 0.05", "gpt.T = 24"} <= set(
        verification.declarations
    )


@pytest.mark.parametrize("kind", RECORDS)
def test_any_single_change_is_seen(kind):
    record, seen = RECORDS[kind], 0
    for path in leaves(record):
        if path[0] in check.UNVERIFIED or (kind == "part" and path in FREE):
            continue
        for value in others(at(record, path)):
            assert refuted(changed(record, path, value)), (path, value)
            seen += 1
    assert seen > 80


@each(
    ("name", "value"),
    [
        *(("delta", 0.1), ("among", 2), ("evaluated", 300), ("seed", 1), ("dimensions", [10])),
        *(("levels", [3]), ("gpt.V", 31), ("gpt.T", 23), ("gpt.T", None), ("unknown", 1)),
    ],
)
def test_what_is_declared_enters_the_number(name, value):
    assert refuted(changed(RECORDS["all"], ("declared", name), value))


def test_what_is_declared_and_enters_no_number_is_listed():
    verification = check.verify(
        changed(RECORDS["all"], ("declared", "population"), "others"), MODEL, CORPUS
    )
    assert verification.holds and "population = others" in verification.declarations


@pytest.mark.parametrize("change", [{"more": 1}, {"place": 3}, {"smoothing": 99}, {"bet": True}])
def test_choices_outside_their_lists(change):
    assert refuted(RECORDS["all"] | {"choices": RECORDS["all"]["choices"] | change})
    assert refuted(RECORDS["part"] | {"choices": RECORDS["part"]["choices"] | {"place": 1}})


def test_other_models_and_other_documents_are_seen():
    verification = check.verify(RECORDS["all"], frequencies(CORPUS, sign=-1.0), CORPUS)
    assert {"model.sha256", "value"} <= {d.field for d in verification.differences}
    fewer = check.verify(RECORDS["all"], MODEL, CORPUS.part(np.arange(399)))
    assert {"data.sha256", "data.n"} <= {d.field for d in fewer.differences}
    codes = CORPUS.codes.copy()
    codes[0, 0] = codes[0, 0] % 30 + 1
    moved = Corpus(codes, CORPUS.lengths, CORPUS.alphabet, CORPUS.shortest)
    fields = [d.field for d in check.verify(RECORDS["all"], MODEL, moved).differences]
    assert "data.sha256" in fields


def test_the_method_is_the_function_and_other_kinds_are_refused():
    certificate = LanguageMethod()(MODEL, CORPUS, population="sentences", evaluated=200)
    record = certificate.to_json() | {"provenance": RECORDS["part"]["provenance"]}
    assert record == RECORDS["part"]
    with pytest.raises(InputError, match="documents"):
        LanguageMethod()(MODEL, np.zeros(3))
    with pytest.raises(InputError, match="a coded one"):
        LanguageMethod()(CORPUS, CORPUS)


# -- files ------------------------------------------------------------------------------------


def test_files_go_there_and_back(folder):
    again = files.load(folder / "model.safetensors")
    assert again == MODEL and again.sha256 == MODEL.sha256
    assert files.documents(folder / "documents.npz").sha256 == CORPUS.sha256
    signs = Alphabet("abcdé ")
    small = Corpus.of(["abé cd", "dab cé"], ["x", "y"], 10, 4, signs)
    files.save_documents(small, folder / "small.npz")
    assert files.documents(folder / "small.npz").sha256 == small.sha256


@pytest.mark.parametrize(
    "change",
    [
        *({"schema": "dudley.model/1"}, {"extra": 1}, {"gpt": 3}, {"gpt": {"V": 32}}, {"seed": -1}),
        *({"code": {"bits": 3, "base64": "AA"}}, {"code": None}, {"dimensions": [1 << 30]}),
        *({"levels": "x"}, {"gpt": MODEL.gpt.to_json() | {"d": 1 << 20}}),
        {"gpt": MODEL.gpt.to_json() | {"V": 1 << 30}},
    ],
)
def test_headers_that_are_off_are_refused(folder, change):
    path = folder / "model.safetensors"
    record, arrays = tensors.read(path)
    tensors.write(path, record | change, arrays)
    with pytest.raises(InputError):
        files.load(path)


def test_weights_that_are_not_those_of_the_word_are_refused(folder):
    path = folder / "model.safetensors"
    record, arrays = tensors.read(path)
    tensors.write(path, record, arrays | {"b": arrays["b"] + 0.25})
    with pytest.raises(InputError, match="decodes to"):
        files.load(path)
    save_file(arrays, str(path))  # no header
    with pytest.raises(InputError, match="header"):
        files.load(path)


class Bomb:
    def __reduce__(self):
        return (exec, ("raise SystemExit('executed')",))


@pytest.mark.parametrize(
    "change",
    [
        {"codes": np.array([Bomb()], dtype=object)},
        *({"signs": np.array(3)}, {"signs": np.array(["a"])}, {"shortest": np.array(4.5)}),
        *({"shortest": np.array(400)}, {"lengths": CORPUS.lengths[:5]}, {"more": np.zeros(1)}),
        *({"source": np.zeros(400, int)}, {"source": np.arange(3)}),
    ],
)
def test_documents_that_are_off_are_refused(folder, change):
    path = folder / "documents.npz"
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez(path, **(arrays | change))
    with pytest.raises(InputError):
        files.documents(path)


def test_sources_are_read_and_broken_files_refused(folder):
    path = folder / "documents.npz"
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez(path, **arrays, source=np.array([f"page {i}" for i in range(400)]))
    assert files.documents(path).n == 400
    for raw in (b"", pickle.dumps(Bomb()), b"PK\x03\x04 cut off"):
        path.write_bytes(raw)
        with pytest.raises(InputError):
            files.documents(path)
    with pytest.raises(InputError, match="no file"):
        files.documents(folder / "none.npz")


def test_the_published_schema_fits():
    from importlib.resources import files as resources

    from jsonschema import Draft202012Validator

    text = resources("dudley").joinpath("schemas", "certificate.schema.json").read_text("utf-8")
    for record in RECORDS.values():
        Draft202012Validator(json.loads(text)).validate(record)


def test_parts_are_read_by_the_method(folder):
    record = check.read(folder / "certificate.json")
    read = check.parts(record, folder / "model.safetensors", folder / "documents.npz")
    assert check.verify(record, *read).holds
    with pytest.raises(InputError, match="header"):
        check.parts(record | {"method": "occam"}, folder / "model.safetensors", folder / "d.npz")
