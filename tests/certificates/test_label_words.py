"""The shipped selection of label words: its file holds, and the script makes its files."""

import importlib.util
from pathlib import Path

from dudley.certificates.verify import parts, read, verify
from dudley.networks.files import EXAMPLES

FOLDER = EXAMPLES / "label-words"
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "label_words.py"


def test_the_shipped_certificate_holds_and_says_something():
    file = read(FOLDER / "certificate.json")
    paths = FOLDER / "candidates.json", FOLDER / "outcomes.npz"
    assert verify(file, *parts(file, *paths)).holds
    assert not file["vacuous"] and file["value"] < 0.04


def test_the_script_makes_the_shipped_files(tmp_path):
    spec = importlib.util.spec_from_file_location("label_words", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make(tmp_path)
    made, shipped = (read(folder / "certificate.json") for folder in (tmp_path, FOLDER))
    assert {**made, "provenance": 0} == {**shipped, "provenance": 0}
