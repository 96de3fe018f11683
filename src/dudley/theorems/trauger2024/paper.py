"""The paper that the statements of this folder are from."""

from __future__ import annotations

from dudley.theorems.registry import register_paper

register_paper(
    "trauger2024",
    "Sequence Length Independent Norm-Based Generalization Bounds for Transformers",
    "Trauger, Tewari",
    2024,
    label="AISTATS 2024",
    version="the text of AISTATS 2024 (PMLR 238, arXiv 2310.13088)",
    unexamined="later versions, if there are any",
)
