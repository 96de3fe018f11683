"""Past 400 lines a file is two files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "benchmarks", "scripts")
MOST = 400


def too_long(root: Path) -> dict[str, int]:
    """The Python files below the four folders of a root that have more lines than allowed."""
    counts = {
        str(path.relative_to(root)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in FOLDERS
        for path in (root / folder).rglob("*.py")
    }
    return {path: count for path, count in counts.items() if count > MOST}


def test_no_file_is_too_long():
    assert len(list((ROOT / "src").rglob("*.py"))) > 300
    assert too_long(ROOT) == {}


def test_a_line_too_many_is_seen(tmp_path: Path):
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
    (tmp_path / "tests" / "test_long.py").write_text("a = 1\n" * (MOST + 1), encoding="utf-8")
    (tmp_path / "src" / "fits.py").write_text("a = 1\n" * MOST, encoding="utf-8")
    assert too_long(tmp_path) == {"tests/test_long.py": MOST + 1}
