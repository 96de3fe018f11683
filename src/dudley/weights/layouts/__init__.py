"""Families of checkpoints, one per file; importing this package registers them all."""

from __future__ import annotations

from dudley.weights.layout import LAYOUTS
from dudley.weights.layouts import bert, distilbert, gpt2, llama, torch_layers, vit

__all__ = ["LAYOUTS", "bert", "distilbert", "gpt2", "llama", "torch_layers", "vit"]
