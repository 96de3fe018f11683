"""Phi-3, SmolLM3, Granite, StableLM, Starcoder2: Llama's blocks with a difference each.

    Phi-3        queries, keys and values in one tensor, both factors of the MLP in another
    SmolLM3      every fourth layer turns nothing
    Granite      fixed factors on tokens, scores, what is added, and logits
    StableLM     LayerNorm; a quarter of a head is turned; attention and MLP may read the same rows
    Starcoder2   LayerNorm and biases; an MLP without a gate

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["granite"].architecture({"residual_multiplier": 0.22}).residual_scale
0.22
"""

from __future__ import annotations

from dataclasses import replace

from dudley.core.errors import InputError
from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import Slot, linear, norm
from dudley.weights.layouts.llama import ATTENTION, LAYER, OUTSIDE, SLOTS, decoder, register_decoder
from dudley.weights.rotary import rotary_table, turns_of

_NORMS = (
    *norm(f"{LAYER}.input_layernorm", "ln_1"),
    *norm(f"{LAYER}.post_attention_layernorm", "ln_2"),
    *norm("norm", "ln_f"),
)
FUSED = (
    *OUTSIDE,
    *_NORMS,
    Slot(f"{LAYER}.self_attn.qkv_proj.weight", ("W_Q", "W_K", "W_v"), interleaved="none"),
    *linear(f"{LAYER}.self_attn.o_proj", "c"),
    Slot(f"{LAYER}.mlp.gate_up_proj.weight", ("W_1", "W_3"), interleaved="none"),
    *linear(f"{LAYER}.mlp.down_proj", "2"),
)
UNGATED = (
    *OUTSIDE,
    *_NORMS,
    *ATTENTION,
    *linear(f"{LAYER}.mlp.c_fc", "1"),
    *linear(f"{LAYER}.mlp.c_proj", "2"),
)


@reader
def phi3(config: Config) -> Architecture:
    groups = config.size("num_key_value_heads", "num_attention_heads")
    return decoder(config, bias=False, groups=groups) if groups else decoder(config)


@reader
def smollm3(config: Config) -> Architecture:
    """``no_rope_layers`` holds 1 where a layer turns, 0 where it does not."""
    tied = config.flag("tie_word_embeddings", True)
    arch = decoder(config, 2e6, tied=tied, window=config.window(default=False))
    every, L = config.size("no_rope_layer_interval") or 4, arch.L or 0
    turning = config.values.get("no_rope_layers")
    if turning is None:
        turning = [int((i + 1) % every != 0) for i in range(L)]
    if not isinstance(turning, list) or any(t not in (0, 1) for t in turning):
        expected = "a list of 0 and 1, one for each layer"
        raise InputError(f"{config.source}: no_rope_layers", expected, repr(turning))
    turns, odd = turns_of(arch, [rotary_table(config, 2e6) if t else None for t in turning])
    return replace(arch, turns=turns, odd=arch.odd or odd)


@reader
def granite(config: Config) -> Architecture:
    def factor(name: str) -> float:
        value = config.number(name)
        value = 1.0 if value is None else value
        if not value > 0:
            raise InputError(f"{config.source}: {name}", "a number > 0", value)
        return value

    L = config.size("num_hidden_layers")
    return decoder(
        config,
        embed_scale=factor("embedding_multiplier"),
        residual_scale=factor("residual_multiplier"),
        logit_scale=1 / factor("logits_scaling"),
        scales=(factor("attention_multiplier"),) * L if L else None,
        odd="" if L else "no num_hidden_layers, and so no scale of the scores",
    )


@reader
def stablelm(config: Config) -> Architecture:
    bias = config.flag("use_qkv_bias", False) if "use_qkv_bias" in config.values else None
    parallel = config.flag("use_parallel_residual", False)
    return decoder(
        config,
        part=0.25,
        order="parallel" if parallel else "pre",
        rms=False,
        eps=config.number("layer_norm_eps"),
        bias=bias,
    )


@reader
def starcoder2(config: Config) -> Architecture:
    return decoder(
        config,
        rms=False,
        eps=config.number("norm_epsilon"),
        gated=False,
        bias=config.flag("use_bias", True) if "use_bias" in config.values else None,
        tied=config.flag("tie_word_embeddings", True),
        window=config.size("sliding_window"),
    )


_PART = ("partial_rotary_factor", "rotary_pct")
_FACTORS = ("embedding_multiplier", "residual_multiplier", "logits_scaling", "attention_multiplier")
_QKV = "layers.0.self_attn.qkv_proj.weight"
register_decoder("phi3", FUSED, phi3, _QKV, _PART)
register_decoder("smollm3", SLOTS, smollm3, honours=("no_rope_layers",))
register_decoder("granite", SLOTS, granite, honours=_FACTORS)
register_decoder("stablelm", SLOTS, stablelm, honours=(*_PART, "use_parallel_residual"))
register_decoder("starcoder2", UNGATED, starcoder2)
