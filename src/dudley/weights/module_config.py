"""What a live torch module says of itself, as a config file would.

>>> layer = torch.nn.TransformerEncoderLayer(8, 2, norm_first=True)
>>> module_config(layer)["num_heads"], module_config(layer)["norm_first"]
(2, True)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dudley.core.backend import torch


def module_config(module: torch.nn.Module) -> dict[str, Any]:
    """Number of heads, order of norms, ε, activation; ``odd`` says what no layout describes."""
    config: dict[str, Any] = {}
    odd: list[str] = []

    def note(name: str, value: object) -> None:
        if config.setdefault(name, value) != value:
            odd.append(f"layers that differ in {name}: {config[name]} and {value}")

    encoder = any(isinstance(p, torch.nn.TransformerEncoderLayer) for p in module.modules())
    for part in module.modules():
        if encoder and isinstance(part, torch.nn.LayerNorm):
            note("layer_norm_eps", part.eps)
        if isinstance(part, torch.nn.MultiheadAttention):
            note("num_heads", part.num_heads)
            if part.add_zero_attn or part.bias_k is not None:
                odd.append("attention with a key and value of its own")
        if isinstance(part, torch.nn.TransformerEncoderLayer):
            note("norm_first", bool(part.norm_first))
            note("activation", _activation(part.activation))
            if not all(isinstance(n, torch.nn.LayerNorm) for n in (part.norm1, part.norm2)):
                odd.append("norm layers that are no LayerNorm")
    return config | ({"odd": odd[0]} if odd else {})


def _activation(function: Callable) -> str | None:
    names = {torch.nn.functional.relu: "relu", torch.nn.functional.gelu: "gelu"}
    return names.get(function) or {"ReLU": "relu", "GELU": "gelu"}.get(type(function).__name__)
