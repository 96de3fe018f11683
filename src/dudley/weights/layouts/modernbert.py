"""ModernBERT: a pre-norm encoder with rotary positions of two bases, GELU gates, and windows.

The norm of the tokens serves as the first norm of the first block too.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["modernbert"].architecture({"local_attention": 128}).window
65
"""

from __future__ import annotations

from dataclasses import replace

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Slot, linear, names_of, norm, table
from dudley.weights.output import Output
from dudley.weights.rotary import USUAL, angles_by_kind

_LAYER = "layers.{layer}"
SLOTS = (
    *table("embeddings.tok_embeddings.weight", "W_E"),
    *norm("embeddings.norm", "ln_E"),
    *norm(f"{_LAYER}.attn_norm", "ln_1"),
    Slot(f"{_LAYER}.attn.Wqkv.weight", ("W_Q", "W_K", "W_v"), interleaved="none"),
    Slot(f"{_LAYER}.attn.Wqkv.bias", ("b_Q", "b_K", "b_v"), "row", interleaved="none"),
    *linear(f"{_LAYER}.attn.Wo", "c"),
    *norm(f"{_LAYER}.mlp_norm", "ln_2"),
    Slot(f"{_LAYER}.mlp.Wi.weight", ("W_1", "W_3"), interleaved="none"),
    Slot(f"{_LAYER}.mlp.Wi.bias", ("b_1", "b_3"), "row", interleaved="none"),
    *linear(f"{_LAYER}.mlp.Wo", "2"),
    *norm("final_norm", "ln_f"),
)
HEADS = (
    *linear("head.dense", "pre"),
    *norm("head.norm", "ln_pre"),
    *linear("classifier", "cls"),
    *linear("decoder", "out"),
)


@reader
def architecture(config: Config) -> Architecture:
    row = {"cls": "first", "mean": "mean"}.get(config.values.get("classifier_pooling", "cls"))
    dense = "pre", config.sigma("classifier_activation") or "gelu", True
    around = config.size("local_attention") or 128
    outputs = (Output("classes", row, *dense),) if row else ()
    arch = Architecture(
        d=config.size("hidden_size"),
        L=config.size("num_hidden_layers"),
        H=config.size("num_attention_heads"),
        T=config.size("max_position_embeddings"),
        order="pre",
        first_norm=False,
        eps=config.number("norm_eps"),
        sigma=config.sigma("hidden_activation"),
        gated=True,
        rope=True,
        bias=config.flag("attention_bias", False),
        window=around // 2 + 1,
        tied=config.flag("tie_word_embeddings", True),
        head=config.head(),
        outputs=(*outputs, Output("language", "any", *dense)),
    )
    every = config.size("global_attn_every_n_layers") or 3
    kinds = config.values.get("layer_types") or [
        "sliding_attention" if i % every else "full_attention" for i in range(arch.L or 0)
    ]
    bases = {
        "full_attention": config.number("global_rope_theta") or 160000.0,
        "sliding_attention": config.number("local_rope_theta") or USUAL,
    }
    turns, odd = angles_by_kind(arch, config, kinds, bases)
    return replace(arch, turns=turns, odd=odd)


LAYOUTS.register("modernbert")(
    Layout(
        "modernbert",
        (*SLOTS, *HEADS),
        (),
        architecture,
        "layers.0.attn.Wqkv.weight",
        names_of(HEADS),
        assumable=False,
    )
)
