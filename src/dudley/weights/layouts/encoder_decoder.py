"""T5, BART, Whisper: an encoder, and a decoder that reads what the encoder gives.

Every matrix is measured. The decoder's stand in brackets: ``W_Q[decoder]`` of its own rows,
``W_Q[cross]`` where it reads the encoder's. The calculus knows one sequence of rows, so that no
bound is given; nor does it know T5's relative positions or Whisper's convolutions.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["bart"].match("decoder.layers.1.encoder_attn.q_proj.weight").roles
('W_Q[cross]',)
"""

from __future__ import annotations

from dataclasses import replace

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm, table

CROSS = "a decoder reads a second sequence by cross-attention, which is no node"


def _of(part: str, *slots: Slot) -> tuple[Slot, ...]:
    """The same tensors in a part of the network."""
    return tuple(replace(slot, part=part) for slot in slots)


def _attention(at: str, names: str, out: str) -> tuple[Slot, ...]:
    four = zip((*(names.format(n) for n in "qkv"), out), "QKvc", strict=True)
    return tuple(slot for name, role in four for slot in linear(f"{at}.{name}", role))


def _bart_layers(side: str, part: str) -> tuple[Slot, ...]:
    at = f"{side}.layers.{{layer}}"
    return _of(
        part,
        *_attention(f"{at}.self_attn", "{}_proj", "out_proj"),
        *norm(f"{at}.self_attn_layer_norm", "ln_1"),
        *linear(f"{at}.fc1", "1"),
        *linear(f"{at}.fc2", "2"),
        *norm(f"{at}.final_layer_norm", "ln_2"),
        *table(f"{side}.embed_positions.weight", "P"),
        *norm(f"{side}.layernorm_embedding", "ln_E"),
        *norm(f"{side}.layer_norm", "ln_f"),
    )


_CROSS = "decoder.layers.{layer}"
BART = (
    *table("shared.weight", "W_E"),
    *_bart_layers("encoder", ""),
    *_bart_layers("decoder", "decoder"),
    *_of("cross", *_attention(f"{_CROSS}.encoder_attn", "{}_proj", "out_proj")),
    *_of("cross", *norm(f"{_CROSS}.encoder_attn_layer_norm", "ln_1")),
    Slot("lm_head.weight", ("W_out",)),
    Slot("final_logits_bias", ("b_out",), "row"),
)
WHISPER = (
    *(slot for slot in BART if slot.roles[0] not in ("W_E", "W_out", "b_out")),
    *table("decoder.embed_tokens.weight", "W_E"),
    Slot("proj_out.weight", ("W_out",)),
)


def _t5_side(side: str, part: str, mlp: int) -> tuple[Slot, ...]:
    at = f"{side}.block.{{layer}}.layer"
    wide = f"{at}.{mlp}.DenseReluDense"
    relative = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    return _of(
        part,
        *table(relative, "R"),
        *_attention(f"{at}.0.SelfAttention", "{}", "o"),
        *norm(f"{at}.0.layer_norm", "ln_1"),
        *linear(f"{wide}.wi", "1"),
        *linear(f"{wide}.wi_0", "1"),
        *linear(f"{wide}.wi_1", "3"),
        *linear(f"{wide}.wo", "2"),
        *norm(f"{at}.{mlp}.layer_norm", "ln_2"),
        *norm(f"{side}.final_layer_norm", "ln_f"),
    )


_READS = "decoder.block.{layer}.layer.1"
T5 = (
    *table("shared.weight", "W_E"),
    *_t5_side("encoder", "", 1),
    *_t5_side("decoder", "decoder", 2),
    *_of("cross", *_attention(f"{_READS}.EncDecAttention", "{}", "o")),
    *_of("cross", *norm(f"{_READS}.layer_norm", "ln_1")),
    Slot("lm_head.weight", ("W_out",)),
)
SKIPS = (
    Skip(r"^(classification_head|qa_outputs|classifier|projector)\.", "another head", head=True),
    Skip(r"^encoder\.conv\d\.", "a convolution, which is no node", vital=True),
)


@reader
def architecture(config: Config) -> Architecture:
    return Architecture(
        d=config.size("d_model"),
        H=config.size("num_heads", "encoder_attention_heads"),
        k=config.size("d_kv"),
        tied=config.flag("tie_word_embeddings", True),
        head=config.head(),
    )


def _family(name: str, slots, anchor: str, why: str, sides=("encoder", "decoder"), at=""):
    twins = tuple((f"{at}{side}.embed_tokens.weight", f"{at}shared.weight") for side in sides)
    outside = ("lm_head.weight", "final_logits_bias", "proj_out.weight")
    LAYOUTS.register(name)(
        Layout(
            name, slots, SKIPS, architecture, anchor, outside, twins, refused=why, assumable=False
        )
    )


_BART = "encoder.layers.0.self_attn.q_proj.weight"
_T5 = "encoder.block.0.layer.0.SelfAttention.q.weight"
_family("bart", BART, _BART, CROSS, at="model.")
_family("whisper", WHISPER, _BART, f"convolutions before the encoder; {CROSS}", ())
_family("t5", T5, _T5, f"relative positions are added to the scores; {CROSS}")
