"""Certifying the example of the guide loads few modules, and none of the laboratory.

What ``dudley.certificates.certify`` imports at module level, and what that imports in turn, is what
a reader walks through to understand `du.certify`: its size is bounded. What is loaded when a script
runs also has the units of registries, one file each, and depends on the method: it is bounded for
two of them. The rooms that a method does not need are named: whoever imports one of them for a
small thing sees this test fail. The library also estimates the work before it begins. The command
loads all that the library does, and what shows a certificate: its words (`comparison`) say which
one wins, and why one says nothing; how results are shown; and the options of its sisters.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
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
MOST_IMPORTED = 66  # half of the 132 files that the first layout took


def source_of(module: str) -> Path | None:
    path = ROOT.joinpath("src", *module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that an import executes; those for type checkers alone are left out."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            checked = "TYPE_CHECKING" in ast.unparse(node.test)
            yield from statements(node.orelse if checked else [*node.body, *node.orelse])
        elif isinstance(node, ast.Try | ast.With | ast.ClassDef):
            yield from statements(node.body)


def imported(source: str) -> set[str]:
    """Modules of the package that a source imports at module level."""
    names = set[str]()
    for node in statements(ast.parse(source).body):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.startswith("dudley") and source_of(name)}


def closure(start: str) -> set[str]:
    """Modules that the import of one executes, packages included."""
    modules, waiting = set[str](), [start]
    while waiting:
        parts = waiting.pop().split(".")
        for module in (".".join(parts[:i]) for i in range(1, len(parts) + 1)):
            if module not in modules:
                modules.add(module)
                path = source_of(module)
                assert path is not None
                waiting += imported(path.read_text(encoding="utf-8"))
    return modules


def test_what_certify_imports_is_half_of_what_it_was():
    modules = closure("dudley.certificates.certify")
    assert {"dudley.certificates.auto", "dudley.core.errors"} < modules
    assert len(modules) <= MOST_IMPORTED
    assert not {module for module in modules if module.startswith(("dudley.lab", "dudley.train"))}


def test_python_loads_the_closure_and_units_of_registries():
    code = "import json, sys, dudley.certificates.certify\n"
    code += "print(json.dumps([name for name in sys.modules if name.startswith('dudley')]))"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, modules = set(json.loads(made.stdout)), closure("dudley.certificates.certify")
    assert modules <= loaded
    assert {name.rpartition(".")[0] for name in loaded - modules} <= {"dudley.core.norms"}


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("def f():\n    import dudley.lab\n", set()),
        ("if TYPE_CHECKING:\n    import dudley.lab\n", set()),
        ("try:\n    import dudley.lab\nexcept ImportError: pass\n", {"dudley.lab"}),
        ("from dudley import lab, capacity\n", {"dudley", "dudley.lab"}),
    ],
)
def test_imports_at_module_level_are_counted(source: str, modules: set[str]):
    assert imported(source) == modules


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
    assert loaded["certificates"] <= 29
    assert loaded.total() <= 92


@pytest.mark.parametrize(
    ("words", "allowed", "certificates", "most"),
    [
        (["--method", "hold-out"], HOLD_OUT | SHOWN, 37, 123),
        (["--train", "train.npz"], AUTO | SHOWN, 60, 195),
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
