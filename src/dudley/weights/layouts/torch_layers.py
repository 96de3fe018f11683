"""torch's own layers: TransformerEncoder, one TransformerEncoderLayer, MultiheadAttention.

A state dict holds no number of heads: it comes from the live module, from ``--heads``, or from a
mapping file. Norm order and activation of a live module are read off it (``module_config``).

>>> from dudley.weights.layout import LAYOUTS
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
