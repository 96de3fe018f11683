"""torch's own layers: TransformerEncoder, one TransformerEncoderLayer, MultiheadAttention.

A state dict holds no number of heads: it comes from the live module, from ``--heads``, or from a
mapping file. Norm order and activation of a live module are read off it.

>>> from dudley.weights.layouts import LAYOUTS
>>> LAYOUTS["torch-encoder"].match("layers.1.self_attn.in_proj_weight").layer
1
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm


def _attention(at: str) -> tuple[Slot, ...]:
    return (
        Slot(f"{at}in_proj_weight", ("W_Q", "W_K", "W_v"), interleaved="none"),
        Slot(f"{at}in_proj_bias", ("b_Q", "b_K", "b_v"), "row", interleaved="none"),
        Slot(f"{at}q_proj_weight", ("W_Q",)),
        Slot(f"{at}k_proj_weight", ("W_K",)),
        Slot(f"{at}v_proj_weight", ("W_v",)),
        *linear(f"{at}out_proj", "c"),
    )


def _block(at: str) -> tuple[Slot, ...]:
    return (
        *_attention(f"{at}self_attn."),
        *linear(f"{at}linear1", "1"),
        *linear(f"{at}linear2", "2"),
        *norm(f"{at}norm1", "ln_1"),
        *norm(f"{at}norm2", "ln_2"),
    )


SKIPS = (
    Skip(r"(^|\.)bias_[kv]$", "one more key and value: not part of the measured network", True),
    Skip(r"(^|\.)multihead_attn\.", "cross-attention: not part of the measured network", True),
)


@reader
def architecture(config: Config) -> Architecture:
    order = None
    if config.values.get("norm_first") is not None:
        order = "pre" if config.flag("norm_first", False) else "post"
    return Architecture(
        H=config.size("num_heads"),
        order=order,
        eps=config.number("layer_norm_eps"),
        sigma=config.sigma("activation"),
        inputs="rows",
        odd=str(config.values.get("odd", "")),
    )


def config_of(module) -> dict:
    """What a live module says of itself: number of heads, order of norms, ε, activation."""
    import torch

    found: dict = {}
    odd: list[str] = []

    def tell(name: str, value) -> None:
        if found.setdefault(name, value) != value:
            odd.append(f"layers that differ in {name}: {found[name]} and {value}")

    encoder = any(isinstance(p, torch.nn.TransformerEncoderLayer) for p in module.modules())
    for part in module.modules():
        if encoder and isinstance(part, torch.nn.LayerNorm):
            tell("layer_norm_eps", part.eps)
        if isinstance(part, torch.nn.MultiheadAttention):
            tell("num_heads", part.num_heads)
            if part.add_zero_attn or part.bias_k is not None:
                odd.append("attention with a key and value of its own")
        if isinstance(part, torch.nn.TransformerEncoderLayer):
            tell("norm_first", bool(part.norm_first))
            tell("activation", _activation(part.activation))
            if not all(isinstance(n, torch.nn.LayerNorm) for n in (part.norm1, part.norm2)):
                odd.append("norm layers that are no LayerNorm")
    return found | ({"odd": odd[0]} if odd else {})


def _activation(function) -> str | None:
    import torch

    names = {torch.nn.functional.relu: "relu", torch.nn.functional.gelu: "gelu"}
    return names.get(function) or {"ReLU": "relu", "GELU": "gelu"}.get(type(function).__name__)


LAYOUTS.register("torch-encoder")(
    Layout(
        "torch-encoder",
        (*_block("layers.{layer}."), *norm("norm", "ln_f")),
        SKIPS,
        architecture,
        "layers.0.self_attn.in_proj_weight",
    )
)
LAYOUTS.register("torch-encoder-layer")(
    Layout("torch-encoder-layer", _block(""), SKIPS, architecture, "self_attn.in_proj_weight")
)
LAYOUTS.register("torch-attention")(
    Layout("torch-attention", _attention(""), SKIPS, architecture, "in_proj_weight")
)
