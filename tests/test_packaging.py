"""The repository as a package: the lock, the licence, the version, the CI script, the layers."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dudley

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")

PIN = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9][0-9a-z.]*)(?P<marker> ; [^\\]+?)?"
    r"(?P<hashes>( --hash=sha256:[0-9a-f]{64})+)"
)


def pins(lock: str) -> dict[str, str]:
    """Name ↦ version of a lock file; a line that is not pinned and hashed raises."""
    lines = [line for line in lock.splitlines() if not line.lstrip().startswith("#")]
    logical = re.sub(r" *\\\n *", " ", "\n".join(lines)).splitlines()
    versions = {}
    for line in filter(None, map(str.strip, logical)):
        match = PIN.fullmatch(line)
        if match is None:
            raise ValueError(f"not a pinned and hashed requirement: {line[:80]!r}")
        if match["name"] in versions:
            raise ValueError(f"pinned twice: {match['name']}")
        versions[match["name"]] = match["version"]
    return versions


def kept_out(names: set[str]) -> set[str]:
    """Those that must not be in the lock: torch, and the packages of its GPU builds."""
    return {n for n in names if n in {"torch", "triton"} or n.startswith(("nvidia-", "cuda-"))}


def test_every_requirement_in_the_lock_is_pinned_and_hashed():
    assert len(pins(LOCK)) > 20


@pytest.mark.parametrize(
    "line",
    [
        "numpy==2.4.6",
        f"numpy>=2 --hash=sha256:{'0' * 64}",
        "--index-url=somewhere",
        f"./numpy.whl --hash=sha256:{'0' * 64}",
        f"numpy @ file:///numpy.whl --hash=sha256:{'0' * 64}",
    ],
)
def test_a_loose_line_is_refused(line: str):
    with pytest.raises(ValueError, match="not a pinned and hashed"):
        pins(LOCK + line + "\n")


def test_torch_and_its_gpu_packages_stay_out_of_the_lock():
    assert kept_out(set(pins(LOCK))) == set()
    assert not re.search(r"nvidia-|torch==|triton", LOCK)
    assert kept_out({"nvidia-cublas", "triton", "numpy"}) == {"nvidia-cublas", "triton"}


def test_the_lock_names_no_host_and_no_path():
    assert not re.search(r"://|--(extra-)?index-url|--find-links|-[fi] |@ |file:", LOCK)
    # A path starts after a blank; no comment and no pin has one.
    assert not re.search(r"(^|\s)[.~]?/", LOCK)


def test_the_lock_covers_the_core_dev_and_lab_requirements():
    extras = PYPROJECT["project"]["optional-dependencies"]
    locked = pins(LOCK)
    for text in [*PYPROJECT["project"]["dependencies"], *extras["dev"], *extras["lab"]]:
        wanted = Requirement(text)
        if wanted.name == "dudley":  # its own extras
            continue
        version = locked.get(canonicalize_name(wanted.name))
        assert version is not None, f"{text} is not in requirements.lock: run make lock"
        assert wanted.specifier.contains(version), f"{text}, but {version} is locked"


def test_licence_is_apache():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text and "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert PYPROJECT["project"]["license"] == "Apache-2.0"


def test_one_version_everywhere():
    version = PYPROJECT["project"]["version"]
    assert dudley.__version__ == version
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(version)}$", citation, re.MULTILINE)


def test_the_command_is_installed():
    (script,) = entry_points(group="console_scripts", name="dudley")
    assert script.value == "dudley.cli:main"
    assert callable(script.load())


def test_ci_begins_with_the_two_commands_of_a_stranger_before_anything_is_installed():
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    lines = run.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    steps = re.findall(r"git clone|\bmake [a-z-]+|apt-get install|pip .*install", text)
    assert "set -euo pipefail" in text.splitlines()
    first = ["git clone", "make tour", "make test"]
    assert steps[: len(first)] == first and "DUDLEY_BARE=1" in text.partition("apt-get")[0]
    later = [step for step in steps[len(first) :] if step.startswith("make ")]
    proved = ["make check", "make proof"]
    assert later == ["make docs-deps", *proved, "make test", "make test-slow"]


def test_a_bare_run_skips_what_it_asks_for_and_a_second_run_has_just_that(tmp_path: Path):
    """As in `.ci/run`: the same tests, whatever is installed on this machine."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_toy.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('what', ['plain', 'extra'])\n"
        "def test_toy(what, request):\n"
        "    if what == 'extra':\n"
        "        request.getfixturevalue('require')('extra', True, 'unused')\n",
        encoding="utf-8",
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")

    def run(option: str, **more: str) -> str:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("DUDLEY_", "PYTEST_"))}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
        done = subprocess.run([*command, option], cwd=tmp_path, env=env | more, text=True,
                              capture_output=True, timeout=120)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "1 passed, 1 skipped" in run("--skipped-to=skipped", DUDLEY_BARE="1")
    assert (tmp_path / "skipped").read_text(encoding="utf-8") == "test_toy.py::test_toy[extra]\n"
    assert "1 passed, 1 deselected" in run("--only-from=skipped", DUDLEY_REQUIRE="extra")


def test_a_wheel_carries_the_formal_proofs():
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["only-include"] == ["src/dudley", "proof"]
    assert wheel["sources"] == {"src/dudley": "dudley", "proof": "dudley/_proof"}
    assert (ROOT / "proof" / "Certificates.v").is_file()


def test_the_declared_python_is_the_one_make_asks_for():
    assert PYPROJECT["project"]["requires-python"] == ">=3.11"
    assert "sys.version_info < (3, 11)" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert sys.version_info >= (3, 11)


def test_package_data_are_found_beside_the_modules():
    package = Path(dudley.__file__).parent
    assert (package / "py.typed").is_file()
    assert list(package.rglob("*.toml")), "no example network ships with the package"


def test_require_goes_on_skips_or_fails(require, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DUDLEY_BARE", raising=False)
    monkeypatch.setenv("DUDLEY_REQUIRE", "chromium, postgres")
    require("postgres", True, "unused")
    with pytest.raises(pytest.skip.Exception, match="ray: not installed"):
        require("ray", False, "not installed")
    with pytest.raises(pytest.fail.Exception, match="'postgres', which is absent: no server"):
        require("postgres", False, "no server")
    monkeypatch.delenv("DUDLEY_REQUIRE")
    with pytest.raises(pytest.skip.Exception):
        require("postgres", False, "no server")


def test_no_document_and_no_message_installs_from_an_index_that_has_no_dudley():
    """`pip install dudley` fails: a clone, or the path of one, is what can be installed."""
    indexed = re.compile(r"pip install (-\S+ )*'?dudley\b")
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    files += [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    paths = [str(path.relative_to(ROOT)) for path in files if path != Path(__file__).resolve()
             and indexed.search(" ".join(path.read_text(encoding="utf-8").split()))]  # fmt: skip
    assert paths == []
