"""The paper that the statements of this folder are from."""

from __future__ import annotations

from dudley.theorems.registry import register_paper

register_paper(
    "mwigo2026",
    "Generalization bound for a Shallow Transformer trained using Gradient Descent",
    "Mwigo, Dasgupta",
    2026,
    label="submission 5721",
    version="the anonymous submission 5721 to Transactions on Machine Learning Research",
    unexamined="the paper published there in 2026, which has another abstract: it assumes a regime "
    "of bounded drift, and has experiments with text and images",
)
