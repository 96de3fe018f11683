"""OPT: GPT-2's blocks with separate queries, keys and values, relu, and positions from 2 on.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["opt"].architecture({"do_layer_norm_before": False}).order
'post'
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm, table
from dudley.weights.output import Output

_LAYER = "layers.{layer}"
SLOTS = (
    *table("embed_tokens.weight", "W_E"),
    *table("embed_positions.weight", "P"),
    *linear(f"{_LAYER}.self_attn.q_proj", "Q"),
    *linear(f"{_LAYER}.self_attn.k_proj", "K"),
    *linear(f"{_LAYER}.self_attn.v_proj", "v"),
    *linear(f"{_LAYER}.self_attn.out_proj", "c"),
    *norm(f"{_LAYER}.self_attn_layer_norm", "ln_1"),
    *linear(f"{_LAYER}.fc1", "1"),
    *linear(f"{_LAYER}.fc2", "2"),
    *norm(f"{_LAYER}.final_layer_norm", "ln_2"),
    *norm("final_layer_norm", "ln_f"),
    Slot("lm_head.weight", ("W_out",)),
    Slot("score.weight", ("W_cls",)),
)
SKIPS = (
    Skip(r"project_(in|out)\.", "tokens of another width than the blocks", vital=True),
    Skip(r"^qa_outputs\.", "another head", head=True),
)


@reader
def architecture(config: Config) -> Architecture:
    d = config.size("hidden_size")
    before = config.flag("do_layer_norm_before", True)
    odd = ""
    if config.size("word_embed_proj_dim") not in (None, d):
        odd = "tokens of another width than the blocks (word_embed_proj_dim)"
    return Architecture(
        d=d,
        L=config.size("num_hidden_layers"),
        H=config.size("num_attention_heads"),
        T=config.size("max_position_embeddings"),
        order="pre" if before else "post",
        eps=1e-5,
        sigma=config.sigma("activation_function") or "relu",
        causal=True,
        bias=config.flag("enable_bias", True),
        tied=config.flag("tie_word_embeddings", True),
        first_position=2,
        head=config.head(),
        outputs=(Output("classes"), Output("language")),
        odd=odd,
    )


_anchor = "layers.0.self_attn.q_proj.weight"
_outside = ("lm_head.weight", "score.weight")
LAYOUTS.register("opt")(
    Layout("opt", SLOTS, SKIPS, architecture, _anchor, _outside, assumable=False)
)
