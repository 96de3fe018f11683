"""One tower of CLIP or SigLIP by itself: pre-norm encoders of a text or an image.

CLIP's text tower is causal. Its vision tower has a norm before the first block, and the last norm
is for the first row alone. SigLIP's text tower reads the last row by a linear map; its vision tower
pools by an attention whose query is trained. A folder with both towers holds two networks, and is
not read.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["clip_text_model"].architecture({"hidden_act": "quick_gelu"}).sigma
'quick-gelu'
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm, table
from dudley.weights.output import Output

_LAYER = "encoder.layers.{layer}"
_BLOCKS = (
    *norm(f"{_LAYER}.layer_norm1", "ln_1"),
    *linear(f"{_LAYER}.self_attn.q_proj", "Q"),
    *linear(f"{_LAYER}.self_attn.k_proj", "K"),
    *linear(f"{_LAYER}.self_attn.v_proj", "v"),
    *linear(f"{_LAYER}.self_attn.out_proj", "c"),
    *norm(f"{_LAYER}.layer_norm2", "ln_2"),
    *linear(f"{_LAYER}.mlp.fc1", "1"),
    *linear(f"{_LAYER}.mlp.fc2", "2"),
    *table("embeddings.position_embedding.weight", "P"),
)
TEXT = (
    *_BLOCKS,
    *table("embeddings.token_embedding.weight", "W_E"),
    *norm("final_layer_norm", "ln_f"),
)
IMAGE = (
    *_BLOCKS,
    *linear("embeddings.patch_embedding", "patch", "patches"),
    Slot("embeddings.class_embedding", ("cls",), "row"),
    *norm("pre_layrnorm", "ln_E"),
    *norm("post_layernorm", "ln_f"),
)
SKIPS = (
    Skip(r"embeddings\.position_ids$", "buffer: indices, no weights"),
    Skip(r"^(text|visual)_projection\.", "head: the space that both towers share", head=True),
    Skip(r"^head\.", "an attention that pools by a trained query, which is no node", vital=True),
)


def _tower(config: Config, output: Output, inputs: str, causal: bool) -> Architecture:
    return Architecture(
        d=config.size("hidden_size"),
        L=config.size("num_hidden_layers"),
        H=config.size("num_attention_heads"),
        T=config.size("max_position_embeddings"),
        order="pre",
        eps=config.number("layer_norm_eps"),
        sigma=config.sigma("hidden_act"),
        causal=causal,
        inputs=inputs,
        head=config.head(),
        outputs=(output,),
    )


def _family(name: str, slots, output: Output, inputs: str, causal: bool, refused: str = ""):
    @reader
    def architecture(config: Config) -> Architecture:
        return _tower(config, output, inputs, causal)

    anchor = "encoder.layers.0.self_attn.q_proj.weight"
    LAYOUTS.register(name)(
        Layout(name, slots, SKIPS, architecture, anchor, refused=refused, assumable=False)
    )


_LAST = Output("rows", "last", "pool", "identity")
_POOLED = "an attention with a trained query pools the rows, which is no node"
_family("clip_text_model", TEXT, Output("rows", "last"), "tokens", True)
_family("clip_vision_model", IMAGE, Output("rows", "first", only=True), "patches", False)
_family("siglip_text_model", (*TEXT, *linear("head", "pool")), _LAST, "tokens", False)
_family("siglip_vision_model", IMAGE, Output("rows"), "patches", False, _POOLED)
