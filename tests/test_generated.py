"""Generated files are fresh, and a stale one is seen."""

import importlib.util
import shutil
import subprocess
import sys
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


def test_what_is_committed_is_fresh():
    assert generate.stale(ROOT) == [], "run make generate"


def test_the_script_says_so():
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The generated files, fresh, in a place where they may be spoilt."""
    assert generate.main(["--no-figures", "--root", str(tmp_path)]) == 0
    assert generate.main(["--no-figures", "--check", "--root", str(tmp_path)]) == 0
    return tmp_path


@pytest.mark.parametrize("path", sorted(generate.generated()))
def test_a_stale_file_is_named(copy: Path, capsys: pytest.CaptureFixture, path: str):
    file = copy / path
    fresh = file.read_text(encoding="utf-8")
    file.write_text(fresh.replace("e", "é", 1), encoding="utf-8")
    capsys.readouterr()
    assert generate.main(["--no-figures", "--check", "--root", str(copy)]) == 1
    assert capsys.readouterr().err == f"generate: {path} is stale; run make generate\n"
    assert generate.main(["--no-figures", "--root", str(copy)]) == 0
    assert file.read_text(encoding="utf-8") == fresh


def test_an_absent_file_is_stale(copy: Path):
    shutil.rmtree(copy / "docs")
    assert generate.main(["--no-figures", "--check", "--root", str(copy)]) == 1


def test_the_reference_follows_the_registries():
    from dudley.classes import COVERS
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
