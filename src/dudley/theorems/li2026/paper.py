"""The paper that the statements of this folder are from."""

from __future__ import annotations

from dudley.theorems.registry import register_paper

register_paper(
    "li2026",
    "Sharper Generalization Bounds for Transformer",
    "Li, Hu, Lian, Tian, Peng, Zhang, Li",
    2026,
    label="arXiv v1",
    version="arXiv 2603.21541v1 of 23 March 2026",
    unexamined="later versions, if there are any",
)
