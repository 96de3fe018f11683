"""The paper that the statements of this folder are from."""

from __future__ import annotations

from dudley.theorems.registry import register_paper

register_paper(
    "trauger2024",
    "Sequence Length Independent Norm-Based Generalization Bounds for Transformers",
    "Trauger, Tewari",
    2024,
)
