"""GPT-2: pre-norm, causal; c_attn is queries, keys and values in one; Conv1D stores W as in×out.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["gpt2"].match("h.0.attn.c_attn.weight").roles
('W_Q', 'W_K', 'W_v')
"""

from __future__ import annotations

import math

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm, table
from dudley.weights.output import Output

_LAYER = "h.{layer}"
SLOTS = (
    *table("wte.weight", "W_E"),
    *table("wpe.weight", "P"),
    *norm(f"{_LAYER}.ln_1", "ln_1"),
    Slot(f"{_LAYER}.attn.c_attn.weight", ("W_Q", "W_K", "W_v"), "in-out", interleaved="none"),
    Slot(f"{_LAYER}.attn.c_attn.bias", ("b_Q", "b_K", "b_v"), "row", interleaved="none"),
    *linear(f"{_LAYER}.attn.c_proj", "c", "in-out"),
    *norm(f"{_LAYER}.ln_2", "ln_2"),
    *linear(f"{_LAYER}.mlp.c_fc", "1", "in-out"),
    *linear(f"{_LAYER}.mlp.c_proj", "2", "in-out"),
    *norm("ln_f", "ln_f"),
    Slot("lm_head.weight", ("W_out",)),
    Slot("score.weight", ("W_cls",)),
)
SKIPS = (
    Skip(r"h\.\d+\.attn\.(bias|masked_bias)$", "buffer: the causal mask, no weights"),
    Skip(r"^(classifier|multiple_choice_head|v_head)\.", "another head", head=True),
)


@reader
def architecture(config: Config) -> Architecture:
    d, L, H = config.size("n_embd"), config.size("n_layer"), config.size("n_head")
    by_width = config.flag("scale_attn_weights", True)
    by_layer = config.flag("scale_attn_by_inverse_layer_idx", False)
    scales, odd = None, "cross-attention" if config.flag("add_cross_attention", False) else ""
    if d and H and L:
        scale = 1 / math.sqrt(d / H) if by_width else 1.0
        scales = tuple(scale / (i + 1 if by_layer else 1) for i in range(L))
    elif by_layer or not by_width:
        odd = "another scale of the scores, and no n_embd, n_head and n_layer to tell it from"
    return Architecture(
        d=d,
        L=L,
        H=H,
        T=config.size("n_positions", "n_ctx"),
        order="pre",
        eps=config.number("layer_norm_epsilon"),
        sigma=config.sigma("activation_function"),
        causal=True,
        scales=scales,
        tied=config.flag("tie_word_embeddings", True),
        head=config.head(),
        outputs=(Output("classes"), Output("language")),
        odd=odd,
    )


LAYOUTS.register("gpt2")(
    Layout(
        "gpt2",
        SLOTS,
        SKIPS,
        architecture,
        "h.0.attn.c_attn.weight",
        ("lm_head.weight", "score.weight"),
    )
)
