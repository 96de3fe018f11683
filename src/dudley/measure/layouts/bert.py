"""BERT and RoBERTa: post-norm encoders, separate queries, keys and values, segments.

>>> from dudley.measure.layouts import LAYOUTS
>>> LAYOUTS["roberta"].architecture({"hidden_size": 8, "num_attention_heads": 2}).heads()
(2, 2, 4)
"""

from __future__ import annotations

from dudley.measure.architecture import Architecture, Config, reader
from dudley.measure.layout import LAYOUTS, Layout, Skip, linear, norm, table

_LAYER = "encoder.layer.{layer}"
SLOTS = (
    *table("embeddings.word_embeddings.weight", "W_E"),
    *table("embeddings.position_embeddings.weight", "P"),
    *table("embeddings.token_type_embeddings.weight", "W_S"),
    *norm("embeddings.LayerNorm", "ln_E"),
    *linear(f"{_LAYER}.attention.self.query", "Q"),
    *linear(f"{_LAYER}.attention.self.key", "K"),
    *linear(f"{_LAYER}.attention.self.value", "v"),
    *linear(f"{_LAYER}.attention.output.dense", "c"),
    *norm(f"{_LAYER}.attention.output.LayerNorm", "ln_1"),
    *linear(f"{_LAYER}.intermediate.dense", "1"),
    *linear(f"{_LAYER}.output.dense", "2"),
    *norm(f"{_LAYER}.output.LayerNorm", "ln_2"),
)
SKIPS = (
    Skip(r"embeddings\.(position_ids|token_type_ids)$", "buffer: indices, no weights"),
    Skip(r"(^|\.)pooler\.", "pooler: reads the encoder's output; the readout is declared"),
    Skip(r"^(cls|lm_head)\.", "pre-training head: not part of the encoder"),
    Skip(r"^(classifier|qa_outputs|score)\.", "task head: the readout is declared"),
)


@reader
def architecture(config: Config) -> Architecture:
    kind = config.values.get("position_embedding_type", "absolute")
    odd = "" if kind == "absolute" else f"position_embedding_type is {kind!r}, not 'absolute'"
    if config.flag("is_decoder", False) and config.flag("add_cross_attention", False):
        odd = "a decoder with cross-attention"
    return Architecture(
        d=config.size("hidden_size"),
        L=config.size("num_hidden_layers"),
        H=config.size("num_attention_heads"),
        T=config.size("max_position_embeddings"),
        order="post",
        eps=config.number("layer_norm_eps"),
        sigma=config.sigma("hidden_act"),
        causal=config.flag("is_decoder", False),
        odd=odd,
    )


_anchor = "encoder.layer.0.attention.self.query.weight"
for _name in ("bert", "roberta", "xlm-roberta", "camembert"):
    LAYOUTS.register(_name)(Layout(_name, SLOTS, SKIPS, architecture, _anchor))
