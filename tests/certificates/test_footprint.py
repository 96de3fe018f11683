"""Certifying the example of the guide loads few modules, and none of the laboratory.

The rooms that a method does not need are named: whoever imports one of them for a small thing sees
this test fail. The command loads all that the library does, and what shows a certificate.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/howto/certify.md").read_text(encoding="utf-8")
REPORT = """
import atexit, json, sys
def report():
    names = [name for name, module in sys.modules.items() if name.startswith("dudley") and module]
    open("modules.json", "w").write(json.dumps(names))
atexit.register(report)
"""
LIBRARY = """
import dudley as du
from dudley.certificates.files import described
model = described("model.safetensors", "net.toml", {"name": "bits", "T": 8})
print(du.certify(model, **json.loads(sys.argv[1])).best.value)
"""
COMMAND = "from dudley.cli import main\nsys.argv[0] = 'dudley'\nmain()"
MODEL = ["certify", "model", "model.safetensors", "--network", "net.toml"]
MODEL += ["--encoding", '{"name": "bits", "T": 8}']
HOLD_OUT = {"core", "calculus", "classes", "networks", "certificates"}
AUTO = HOLD_OUT | {"models", "weights"}
SHOWN = {"cli", "show"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The files of the guide, made by its own block of Python."""
    pytest.importorskip("safetensors")
    folder = tmp_path_factory.mktemp("guide")
    (network,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    (script,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (folder / "net.toml").write_text(network, encoding="utf-8")
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True, capture_output=True)
    return folder


def rooms(folder: Path, code: str, *words: str) -> Counter[str]:
    """How many modules of each room are loaded when a script ends."""
    command = [sys.executable, "-c", REPORT + code, *words]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    names = json.loads((folder / "modules.json").read_text())
    return Counter(name.split(".")[1] for name in names if "." in name)


def test_the_library_loads_what_a_method_needs(folder):
    arguments = {"holdout": "holdout.npz", "method": "hold-out"}
    loaded = rooms(folder, LIBRARY, json.dumps(arguments))
    assert set(loaded) <= HOLD_OUT
    assert loaded["certificates"] <= 27
    assert loaded.total() <= 92


@pytest.mark.parametrize(
    ("words", "allowed", "certificates", "most"),
    [
        (["--method", "hold-out"], HOLD_OUT | SHOWN, 29, 109),
        (["--train", "train.npz"], AUTO | SHOWN, 51, 165),
    ],
    ids=["hold-out", "auto"],
)
def test_the_command_loads_what_the_methods_need_and_what_shows_them(
    folder, words, allowed, certificates, most
):
    if "--train" in words:
        pytest.importorskip("torch")  # the norms of weights, and the compressed model
    loaded = rooms(folder, COMMAND, *MODEL, "--holdout", "holdout.npz", *words)
    assert set(loaded) <= allowed
    assert 20 < loaded["certificates"] <= certificates
    assert loaded.total() <= most
