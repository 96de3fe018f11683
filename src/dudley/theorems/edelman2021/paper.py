"""The paper that the statements of this folder are from."""

from __future__ import annotations

from dudley.theorems.registry import register_paper

register_paper(
    "edelman2021",
    "Inductive Biases and Variable Creation in Self-Attention Mechanisms",
    "Edelman, Goel, Kakade, Zhang",
    2021,
)
