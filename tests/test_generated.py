"""Generated files are fresh, and a stale one is seen."""

import importlib.util
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "generate.py"


def load():
    spec = importlib.util.spec_from_file_location("generate", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = load()


@pytest.fixture(scope="module")
def fresh() -> dict[str, str]:
    """Every generated file, made once."""
    return generate.generated()


@pytest.fixture
def once(fresh: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is generated changes during a test, so it is not made again and again."""
    monkeypatch.setattr(generate, "generated", lambda: fresh)


@pytest.mark.slow
def test_what_is_committed_is_fresh(once: None, capsys: pytest.CaptureFixture):
    """Texts; `make check` runs the whole script, which draws the figures too."""
    assert check(ROOT, capsys) == (0, "")


def check(root: Path, capsys: pytest.CaptureFixture) -> tuple[int, str]:
    """The exit code of `generate --check`, and what it says."""
    capsys.readouterr()
    code = generate.main(["--no-figures", "--check", "--root", str(root)])
    return code, capsys.readouterr().err


@pytest.fixture
def copy(once: None, tmp_path: Path, capsys: pytest.CaptureFixture) -> Path:
    """The generated files, fresh, in a place where they may be spoilt."""
    assert generate.main(["--no-figures", "--root", str(tmp_path)]) == 0
    assert check(tmp_path, capsys) == (0, "")
    return tmp_path


def spoil(file: Path) -> None:
    """One letter becomes another."""
    text = file.read_text(encoding="utf-8")
    assert "e" in text
    file.write_text(text.replace("e", "é", 1), encoding="utf-8")


def content(paths: Iterable[str]) -> str:
    return "".join(f"generate: {path} is stale; run make generate\n" for path in paths)


@pytest.mark.slow
def test_every_stale_file_is_named_and_mended(copy: Path, fresh: dict[str, str], capsys):
    for path in fresh:
        spoil(copy / path)
    assert check(copy, capsys) == (1, content(fresh))
    assert generate.main(["--no-figures", "--root", str(copy)]) == 0
    assert {path: (copy / path).read_text(encoding="utf-8") for path in fresh} == fresh
    assert check(copy, capsys) == (0, "")


@pytest.mark.slow
def test_a_stale_file_is_named_alone(copy: Path, fresh: dict[str, str], capsys):
    for path in fresh:
        before = (copy / path).read_text(encoding="utf-8")
        spoil(copy / path)
        assert check(copy, capsys) == (1, content([path]))
        (copy / path).write_text(before, encoding="utf-8")


@pytest.mark.slow
def test_an_absent_file_is_stale(copy: Path, fresh: dict[str, str], capsys):
    shutil.rmtree(copy / "docs")
    assert check(copy, capsys) == (1, content(path for path in fresh if path.startswith("docs/")))


@pytest.mark.slow
def test_what_is_generated_is_always_the_same(fresh: dict[str, str]):
    assert generate.generated() == fresh


def test_the_reference_follows_the_registries():
    from dudley.classes.covers.base import COVERS
    from dudley.core.norms import NORMS
    from dudley.core.vocabulary import VOCABULARY
    from dudley.networks.activations import ACTIVATIONS
    from dudley.networks.files import fields_of
    from dudley.networks.normalisers import NORMALISERS
    from dudley.networks.registry import NODES

    text = generate.reference()
    for name in [*NORMS, *COVERS, *ACTIVATIONS, *NORMALISERS, *VOCABULARY]:
        assert f"| `{name}` |" in text, name
    for _, cover in COVERS.items():
        assert cover.citation in text
    for name, unit in NODES.items():
        part = text[text.index(f"### `{name}`\n") :].partition("\n### ")[0]
        assert all(f"`{key}`" in part for key in fields_of(unit)), name
        if hasattr(unit, "lemma"):
            assert f"$${unit.lemma.latex}$$" in part


def test_no_table_cell_is_cut_by_a_bar():
    """Every row of a table has as many cells as its head."""
    rows, wrong = 0, []
    width = None
    for line in generate.reference().splitlines():
        if not line.startswith("| "):
            width = None
            continue
        cells = line.replace("\\|", "").count("|")
        width = width or cells
        rows += 1
        if cells != width:
            wrong.append(line)
    assert rows > 50 and wrong == []
