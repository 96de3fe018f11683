"""GPT-NeoX (Pythia) and Phi: LayerNorm, attention and MLP side by side, a part of a head turned.

GPT-NeoX stores the query, key and value of head 0, then those of head 1; each part has a norm of
its own, and without ``use_parallel_residual`` one stands behind the other. In Phi both parts read
the rows of one norm.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["gpt_neox"].architecture({}).order, LAYOUTS["phi"].architecture({}).order
('parallel', 'parallel')
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm, table
from dudley.weights.layouts.llama import ATTENTION, LAYER, OUTSIDE, decoder, register_decoder

SLOTS = (
    *table("embed_in.weight", "W_E"),
    *norm(f"{LAYER}.input_layernorm", "ln_1"),
    Slot(f"{LAYER}.attention.query_key_value.weight", ("W_Q", "W_K", "W_v"), interleaved="heads"),
    Slot(
        f"{LAYER}.attention.query_key_value.bias", ("b_Q", "b_K", "b_v"), "row", interleaved="heads"
    ),
    *linear(f"{LAYER}.attention.dense", "c"),
    *norm(f"{LAYER}.post_attention_layernorm", "ln_2"),
    *linear(f"{LAYER}.mlp.dense_h_to_4h", "1"),
    *linear(f"{LAYER}.mlp.dense_4h_to_h", "2"),
    *norm("final_layer_norm", "ln_f"),
    *linear("embed_out", "out"),
    *linear("lm_head", "out"),
    Slot("score.weight", ("W_cls",)),
)
SKIPS = (
    Skip(r"rotary_emb\.inv_freq$", "buffer: rotary frequencies, no weights"),
    Skip(r"attention\.(bias|masked_bias)$", "buffer: the causal mask, no weights"),
    Skip(r"^(classifier|qa_outputs)\.", "another head", head=True),
)
PHI = (
    *OUTSIDE,
    *norm(f"{LAYER}.input_layernorm", "ln_1"),
    *ATTENTION[:-2],
    *linear(f"{LAYER}.self_attn.dense", "c"),
    *linear(f"{LAYER}.mlp.fc1", "1"),
    *linear(f"{LAYER}.mlp.fc2", "2"),
    *norm("final_layernorm", "ln_f"),
)
HONOURED = ("partial_rotary_factor", "rotary_pct", "use_parallel_residual")


def _without_gate(config: Config, part: float, order: str, bias: bool | None) -> Architecture:
    return decoder(
        config,
        part=part,
        order=order,
        rms=False,
        eps=config.number("layer_norm_eps"),
        gated=False,
        bias=bias,
        window=None,
    )


@reader
def gpt_neox(config: Config) -> Architecture:
    parallel = config.flag("use_parallel_residual", True)
    bias = config.flag("attention_bias", True)
    return _without_gate(config, 0.25, "parallel" if parallel else "pre", bias)


@reader
def phi(config: Config) -> Architecture:
    return _without_gate(config, 0.5, "parallel", None)


_anchor = "layers.0.attention.query_key_value.weight"
_outside = ("embed_out.weight", "embed_out.bias", "lm_head.weight", "lm_head.bias", "score.weight")
LAYOUTS.register("gpt_neox")(
    Layout("gpt_neox", SLOTS, SKIPS, gpt_neox, _anchor, _outside, honours=HONOURED, assumable=False)
)
register_decoder("phi", PHI, phi, honours=HONOURED[:2])
