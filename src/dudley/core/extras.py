"""Optional dependencies: one clear error where one is absent.

What needs torch imports it from `core.backend`, which turns an ImportError into this one.

>>> raise missing("torch", "a search with gradients")
Traceback (most recent call last):
dudley.core.extras.ExtraMissing: a search with gradients needs torch, which is absent: in a clone
of dudley, pip install '.[torch]'
"""

from __future__ import annotations

from importlib.util import find_spec

from dudley.core.errors import DudleyError


class ExtraMissing(DudleyError, ImportError):
    """Something was asked for that needs an optional dependency, which is not installed."""


def missing(module: str, purpose: str, extra: str = "torch") -> ExtraMissing:
    """The error to raise: what needs the module, and the extra that brings it.

    No package index has dudley, so that an extra is installed from a clone.
    """
    fix = f"in a clone of dudley, pip install '.[{extra}]'"
    return ExtraMissing(f"{purpose} needs {module}, which is absent: {fix}")


def expect_installed(module: str, purpose: str, extra: str = "torch") -> None:
    """Refuse at once where a module is absent that is imported only after long work."""
    if find_spec(module) is None:
        raise missing(module, purpose, extra)
