"""mwigo2026's statements by their short names, for the tests about them."""

from __future__ import annotations

from dudley.theorems.registry import load

STATEMENTS = {i: s for i, s in load().items() if s.paper == "mwigo2026"}
MATRICES = ("W_Q", "W_K", "W_v")


def value(id: str, inputs: dict, form: str = "derived") -> float:
    return STATEMENTS[f"mwigo2026/{id}"].evaluate_on(inputs, form).value


def example(id: str, **changes) -> dict:
    renamed = {name.replace("__", "."): v for name, v in changes.items()}
    return dict(STATEMENTS[f"mwigo2026/{id}"].example) | renamed
