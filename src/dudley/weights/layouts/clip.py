"""CLIP's text tower by itself: a causal pre-norm encoder with quick GELU.

A folder with both towers holds two networks, and is not read.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["clip_text_model"].architecture({"hidden_act": "quick_gelu"}).sigma
'quick-gelu'
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, linear, norm, table
from dudley.weights.output import Output

_LAYER = "encoder.layers.{layer}"
SLOTS = (
    *table("embeddings.token_embedding.weight", "W_E"),
    *table("embeddings.position_embedding.weight", "P"),
    *norm(f"{_LAYER}.layer_norm1", "ln_1"),
    *linear(f"{_LAYER}.self_attn.q_proj", "Q"),
    *linear(f"{_LAYER}.self_attn.k_proj", "K"),
    *linear(f"{_LAYER}.self_attn.v_proj", "v"),
    *linear(f"{_LAYER}.self_attn.out_proj", "c"),
    *norm(f"{_LAYER}.layer_norm2", "ln_2"),
    *linear(f"{_LAYER}.mlp.fc1", "1"),
    *linear(f"{_LAYER}.mlp.fc2", "2"),
    *norm("final_layer_norm", "ln_f"),
)
SKIPS = (
    Skip(r"embeddings\.position_ids$", "buffer: indices, no weights"),
    Skip(r"^text_projection\.", "head: the space that both towers share", head=True),
)


@reader
def architecture(config: Config) -> Architecture:
    return Architecture(
        d=config.size("hidden_size"),
        L=config.size("num_hidden_layers"),
        H=config.size("num_attention_heads"),
        T=config.size("max_position_embeddings"),
        order="pre",
        eps=config.number("layer_norm_eps"),
        sigma=config.sigma("hidden_act"),
        causal=True,
        head=config.head(),
        outputs=(Output("rows", "last"),),
    )


_anchor = "encoder.layers.0.self_attn.q_proj.weight"
LAYOUTS.register("clip_text_model")(
    Layout("clip_text_model", SLOTS, SKIPS, architecture, _anchor, assumable=False)
)
