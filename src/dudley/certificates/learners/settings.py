"""Settings of another library's training, as a table: what breaks the rule is refused by name.

A training of a round may depend on the examples it is shown, the round and the seed. A setting that
brings in an evaluation set, a checkpoint or a callback would let it depend on something else.

>>> refused = {"eval": "an evaluation set is no part of a round"}
>>> expect_settings("arguments", {"max_steps": 30}, refused, ("seed",))
>>> expect_settings("arguments", {"eval_strategy": "epoch"}, refused, ("seed",))
Traceback (most recent call last):
dudley.core.errors.InputError: arguments: expected none called eval_strategy, got 'epoch'; an
evaluation set is no part of a round
>>> expect_settings("arguments", {"seed": 3}, refused, ("seed",))
Traceback (most recent call last):
dudley.core.errors.InputError: arguments: expected none called seed, got 3; the learner sets it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dudley.core.errors import InputError


def expect_settings(
    what: str, settings: Mapping[str, Any], refused: Mapping[str, str], fixed: tuple[str, ...]
) -> None:
    """Plain values by names; a refused name is one of ``refused``, or begins with one and ``_``."""
    if not isinstance(settings, Mapping):
        raise InputError(what, "a table of names and plain values", type(settings).__name__)
    for name, value in settings.items():
        why = ["the learner sets it"] * (name in fixed)
        why += [why for part, why in refused.items() if f"{name}_".startswith(f"{part}_")]
        if why:
            raise InputError(what, f"none called {name}", repr(value), why[0])
        if not isinstance(value, bool | int | float | str | None):
            fix = "a plain value can be declared in a file, an object cannot"
            raise InputError(f"{name} of the {what}", "a plain value", type(value).__name__, fix)
