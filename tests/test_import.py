"""`import dudley` is light: the calculus answers where torch, flint and the rest are absent."""

import subprocess
import sys

import pytest

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
