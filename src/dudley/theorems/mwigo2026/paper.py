"""The paper that the statements of this folder are from."""

from __future__ import annotations

from dudley.theorems.registry import register_paper

register_paper(
    "mwigo2026",
    "Generalization bound for a Shallow Transformer trained using Gradient Descent",
    "Mwigo, Dasgupta",
    2026,
)
