"""The paper that the statements of this folder are from."""

from __future__ import annotations

from dudley.theorems.registry import register_paper

register_paper(
    "li2026",
    "Sharper Generalization Bounds for Transformer",
    "Li, Hu, Lian, Tian, Peng, Zhang, Li",
    2026,
)
