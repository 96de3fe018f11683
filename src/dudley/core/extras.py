"""Optional dependencies: one clear error where one is absent.

What needs torch imports it from `core.backend`, which turns an ImportError into this one.

>>> raise missing("torch", "a search with gradients")
Traceback (most recent call last):
dudley.core.extras.ExtraMissing: a search with gradients needs torch, which is absent: pip
install 'dudley[torch]'
"""

from __future__ import annotations

from dudley.core.errors import DudleyError


class ExtraMissing(DudleyError, ImportError):
    """Something was asked for that needs an optional dependency, which is not installed."""


def missing(module: str, purpose: str, extra: str = "torch") -> ExtraMissing:
    """The error to raise: what needs the module, and the extra that brings it."""
    return ExtraMissing(f"{purpose} needs {module}, which is absent: pip install 'dudley[{extra}]'")
