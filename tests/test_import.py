"""`import dudley` is light, and every public name is what its stub says."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dudley as du
from dudley.core.lazy import homes
from each import each

SOURCE = Path(du.__file__).parent
STUBS = sorted(SOURCE.rglob("__init__.pyi"))
HEAVY = ("torch", "flint", "matplotlib", "scipy")


def loaded_heavy(statement: str) -> list[str]:
    """The heavy modules that a fresh interpreter holds after `statement`."""
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    return [name for name in done.stdout.split() if name.split(".")[0] in HEAVY]


def test_import_loads_nothing_heavy():
    assert loaded_heavy("import dudley") == []


@pytest.mark.parametrize("name", ["flint", "scipy.optimize"])
def test_the_check_sees_what_is_heavy(name: str):
    assert name in loaded_heavy(f"import {name}")


# -- the stubs ------------------


def package_of(stub: Path) -> str:
    return ".".join(stub.parent.relative_to(SOURCE.parent).parts)


def test_there_are_stubs_to_compare():
    assert {"dudley", "dudley.lab"} <= {package_of(stub) for stub in STUBS}


@pytest.mark.parametrize("stub", STUBS, ids=package_of)
def test_a_stub_lists_what_the_package_has(stub: Path):
    package = import_module(package_of(stub))
    for name, home in homes(stub).items():
        module = import_module(home)
        expected = import_module(f"{home}.{name}") if module is package else getattr(module, name)
        assert getattr(package, name) is expected
    assert dir(package) == sorted(homes(stub)) == package.__all__
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = package.absent


LAZY = """
from dudley.core.lazy import attach_stub
__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()
"""


def beyond_lazy(source: str) -> list[str]:
    """Statements of an ``__init__`` that are neither its docstring nor those of a lazy one."""
    lazy = {ast.unparse(node) for node in ast.parse(LAZY).body}
    body = ast.parse(source).body
    body = body[1:] if ast.get_docstring(ast.parse(source)) else body
    lines = [ast.unparse(node) for node in body]
    return [line for line in lines if line not in lazy and not line.startswith("__version__ = ")]


@each("package", sorted(SOURCE.rglob("__init__.py")))
def test_a_package_is_empty_or_lazy(package: Path):
    source = package.read_text(encoding="utf-8")
    assert beyond_lazy(source) == []
    assert ("attach_stub" in source) == package.with_suffix(".pyi").exists()


def test_a_package_with_contents_is_seen():
    assert beyond_lazy('"""A package."""\n' + LAZY) == []
    assert beyond_lazy(LAZY + "from dudley.core import errors\nA = 1\n") == [
        "from dudley.core import errors",
        "A = 1",
    ]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("certify", {"model", "train", "holdout", "method", "delta"}),
        ("measure", {"checkpoint", "init", "layout", "heads", "rank_tolerance", "device"}),
    ],
)
def test_functions_show_their_arguments(name: str, arguments: set[str]):
    parameters = inspect.signature(getattr(du, name)).parameters
    assert arguments <= set(parameters)
    assert not any(p.kind is p.VAR_POSITIONAL for p in parameters.values())


IMPORT_ALL = """
import sys
from importlib import import_module
from pathlib import Path
from dudley.core.lazy import homes

PUBLIC = {package: homes(Path(stub)) for package, stub in STUBS}
before = {(p, n): getattr(import_module(p), n) for p, names in PUBLIC.items() for n in names}
for module in MODULES:
    try:
        import_module(module)
    except ImportError as absent:  # of an extra
        assert not str(absent.name).startswith("dudley"), module
    except Exception as refusal:
        assert type(refusal).__name__ == "DudleyError", (module, refusal)
rebound = [key for key, unit in before.items() if getattr(sys.modules[key[0]], key[1]) is not unit]
assert not rebound, rebound
print(len(before), "names,", sum(module in sys.modules for module in MODULES), "modules")
"""


def submodules() -> list[str]:
    files = [path.relative_to(SOURCE.parent) for path in SOURCE.rglob("*.py")]
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    return sorted(name for name in names if not name.endswith("__main__"))


@pytest.mark.slow
def test_importing_every_module_rebinds_no_public_name():
    stubs = [(package_of(stub), str(stub)) for stub in STUBS]
    code = f"STUBS = {stubs}\nMODULES = {submodules()}\n{IMPORT_ALL}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    names, modules = (int(word) for word in done.stdout.split() if word.isdigit())
    assert names > 100 and modules > 0.9 * len(submodules())
