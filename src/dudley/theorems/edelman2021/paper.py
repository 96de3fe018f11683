"""The paper that the statements of this folder are from."""

from __future__ import annotations

from dudley.theorems.registry import register_paper

register_paper(
    "edelman2021",
    "Inductive Biases and Variable Creation in Self-Attention Mechanisms",
    "Edelman, Goel, Kakade, Zhang",
    2021,
    label="draft 2021",
    version="the draft of 2021 that was submitted for double-blind review",
    unexamined="arXiv 2110.10090v2, the version of ICML 2022, which has other norms and numbers",
)
