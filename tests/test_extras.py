"""Each extra is enough for the commands that are documented with it, alone.

The commands of an extra run in an interpreter of their own, where every installed package that
neither dudley nor the extra asks for, directly or through others, cannot be imported. What belongs
to an extra is read from pyproject.toml and from the metadata of the installed packages.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import checkpoints

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GUIDE = (ROOT / "docs/howto/certify.md").read_text(encoding="utf-8")
BLOCK = """
import json, site, sys
blocked, shared = set(json.loads(sys.argv.pop(1))), site.getsitepackages()
from importlib.machinery import PathFinder
class Installed(PathFinder):  # a package that is absent has no spec; looking for it is no error
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if path is None and name in blocked:  # but a package may carry a copy, as ray does
            path = [home for home in sys.path if home not in shared]
        return PathFinder.find_spec(name, path, target)
sys.meta_path[:] = [Installed if finder is PathFinder else finder for finder in sys.meta_path]
"""
COMMANDS_IN_TURN = (
    BLOCK
    + """
from dudley.cli import main
for words in json.loads(sys.argv.pop(1)):
    try:
        main(words)
    except SystemExit as leaving:
        if leaving.code:
            sys.exit(f"exit {leaving.code} of {words}")
"""
)
SWEEP = ["d=64", "k=64", "X.row2inf=1", "W.l11=2", "epsilon=0.5", "--sweep", "n=1e3:1e7:log5"]
MODEL = ["--network", "net.toml", "--encoding", '{"name": "bits", "T": 8}']
MODEL += ["--train", "train.npz", "--holdout", "holdout.npz", "--out", "certificate.json"]
FILES = ["--model", "certificate.model.safetensors", "--data", "holdout.npz"]
COMMANDS = {
    "": [
        ["derive", "single-head", "n=1e5", "--explain"],
        ["theorems", "show", "trauger2024/lemma-3.4"],
        ["compare", *SWEEP, "--out", "bounds.html"],
        ["audit", "li2026/lemma-B.6"],
    ],
    "torch": [
        ["certify", "model", "model.safetensors", *MODEL],
        ["verify", "certificate.json", *FILES],
        ["report", "certificate.json", *FILES, "--out", "page.html"],
        ["measure", "checkpoint"],
        ["certify", "train", "and", "--T", "8", "--n", "300", "--out", "trained"],
    ],
    "plots": [["compare", *SWEEP, "--out", "bounds.svg"]],
    "lab": [["lab", "run", "edelman2021-parity", "--scale", "smoke", "--dry-run"]],
    "web": [["serve", "--check"]],
}
REFUSED = [  # commands, the extras that are there, and what the refusal says
    (["certify", "model", "model.safetensors", *MODEL], "", "needs safetensors", "torch"),
    (["verify", "certificate.json", *FILES], "", "needs safetensors", "torch"),
    (
        ["report", "certificate.json", *FILES, "--out", "page.html"],
        "",
        "needs safetensors",
        "torch",
    ),
    (["tour", "--n", "100"], "torch", "needs matplotlib", "plots"),
    (["tour", "--n", "100"], "", "needs torch", "torch"),
]
SLOW = {"lab": [["lab", "run", "edelman2021-and", "--scale", "smoke", "--out", "run"]]}
MODULES = {
    "compiled": "from dudley.train.ensemble.bit_attention.compiled import Compiled",
    "hf": "import tokenizers, transformers",
    "pandas": "import dudley as du; du.Dense(4, du.L2(1.0)).to_pandas()",
    "postgres": "import psycopg",
    "ray": "import ray",
    "slurm": "import submitit",
}


def reached(extra: str) -> set[str]:
    """The distributions that the package asks for with an extra; skips where one is absent."""
    words = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"].get(extra, [])]
    pending, names = [Requirement(word) for word in words], set[tuple[str, str]]()
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        for part in {"", *requirement.extras}:
            if (name, part) in names:
                continue
            names.add((name, part))
            if name == "dudley":
                needed = PROJECT["optional-dependencies"].get(part, [])
            else:
                try:
                    needed = metadata.requires(name) or []
                except metadata.PackageNotFoundError:
                    pytest.skip(f"{name}, of the extra {extra!r}, is not installed")
            pending += [other for other in map(Requirement, needed) if holds(other, part)]
    return {name for name, _ in names}


def holds(requirement: Requirement, extra: str) -> bool:
    """Does it apply on this machine, with this extra of the package that asks for it?"""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


@cache
def others(extra: str) -> list[str]:
    """The packages that can be imported here, and belong to no distribution of the extra."""
    allowed = reached(extra) | {"dudley"}
    return sorted(
        package
        for package, homes in metadata.packages_distributions().items()
        if not {canonicalize_name(home) for home in homes} & allowed
    )


def run(folder: Path, extra: str, code: str, *words: str) -> str:
    """What a script prints where only the extra is installed."""
    command = [sys.executable, "-c", code, json.dumps(others(extra)), *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def write_files(folder: Path) -> None:
    """The files of the guide to certificates, and a checkpoint."""
    pytest.importorskip("safetensors")
    (network,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    (script,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (folder / "net.toml").write_text(network, encoding="utf-8")
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True, capture_output=True)
    checkpoints.write(folder / "checkpoint", *checkpoints.bert())


@pytest.mark.parametrize(
    "extra",
    [pytest.param(e, id=e or "none", marks=[pytest.mark.slow] if e else []) for e in COMMANDS],
)
def test_an_extra_is_enough_for_its_commands(tmp_path, extra):
    if extra == "torch":
        write_files(tmp_path)
    run(tmp_path, extra, COMMANDS_IN_TURN, json.dumps(COMMANDS[extra]))


@pytest.mark.slow
@pytest.mark.parametrize("extra", SLOW)
def test_an_extra_is_enough_for_its_long_commands(tmp_path, extra):
    run(tmp_path, extra, COMMANDS_IN_TURN, json.dumps(SLOW[extra]))


@pytest.mark.parametrize("extra", MODULES)
def test_an_extra_brings_what_it_is_for(tmp_path, extra):
    run(tmp_path, extra, BLOCK + MODULES[extra])


@pytest.mark.slow
def test_what_an_extra_does_not_bring_is_named(tmp_path):
    """Exit 2, one line that names the package and the extra, and nothing is computed before it."""
    write_files(tmp_path)
    model = [["certify", "model", "model.safetensors", *MODEL]]
    run(tmp_path, "torch", COMMANDS_IN_TURN, json.dumps(model))
    for words, extra, reason, fix in REFUSED:
        start = BLOCK + "from dudley.cli import main\nmain(json.loads(sys.argv.pop(1)))"
        command = [sys.executable, "-c", start, json.dumps(others(extra)), json.dumps(words)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2 and done.stdout == "", (words, done.stderr)
        assert reason in done.stderr and f"pip install '.[{fix}]'" in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("extra", "absent"),
    [
        ("", {"torch", "matplotlib", "sqlalchemy", "pyarrow", "safetensors", "fastapi"}),
        ("torch", {"matplotlib", "sqlalchemy", "pyarrow", "fastapi"}),
        ("plots", {"torch", "sqlalchemy", "pyarrow", "fastapi"}),
        ("web", {"torch", "matplotlib", "sqlalchemy", "pyarrow"}),
    ],
)
def test_what_does_not_belong_to_an_extra_is_blocked(tmp_path, extra, absent):
    installed = set(metadata.packages_distributions())
    assert absent & installed <= set(others(extra))
    for package in sorted(absent & installed)[:1]:
        with pytest.raises(AssertionError, match=f"No module named '{package}'"):
            run(tmp_path, extra, BLOCK + f"import {package}")


def test_every_extra_of_the_package_is_tried():
    """But for those of its developers."""
    assert {*COMMANDS, *MODULES} == {"", *PROJECT["optional-dependencies"]} - {"docs", "dev"}
