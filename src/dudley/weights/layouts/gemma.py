"""Gemma 1, 2, 3: norms multiply by 1 + weight, tokens by √d; GELU gates; one table in and out.

Gemma 2 and 3 have a norm before and one behind each part, and layers that look back a window only.
Gemma 2 caps scores and logits. Gemma 3 normalises queries and keys instead, and turns them by two
bases; with ``use_bidirectional_attention`` it is an encoder (EmbeddingGemma).

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["gemma"].architecture({"hidden_size": 16}).embed_scale
4.0
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dudley.core.errors import InputError
from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import Slot, norm
from dudley.weights.layouts.llama import (
    ATTENTION,
    GATED,
    LAYER,
    OUTSIDE,
    decoder,
    register_decoder,
)
from dudley.weights.rotary import USUAL, angles_by_kind

_SHARED = (*OUTSIDE, *ATTENTION, *GATED, *norm("norm", "ln_f", 1))
SLOTS = (
    *_SHARED,
    *norm(f"{LAYER}.input_layernorm", "ln_1", 1),
    *norm(f"{LAYER}.post_attention_layernorm", "ln_2", 1),
)
SANDWICH = (
    *_SHARED,
    *norm(f"{LAYER}.input_layernorm", "ln_1", 1),
    *norm(f"{LAYER}.post_attention_layernorm", "ln_2", 1),
    *norm(f"{LAYER}.pre_feedforward_layernorm", "ln_3", 1),
    *norm(f"{LAYER}.post_feedforward_layernorm", "ln_4", 1),
)
NORMED = (
    *SANDWICH,
    Slot(f"{LAYER}.self_attn.q_norm.weight", ("g_q",), "column", plus=1),
    Slot(f"{LAYER}.self_attn.k_norm.weight", ("g_k",), "column", plus=1),
)


def _gemma(config: Config, base: float = USUAL, **more) -> Architecture:
    """What all have in common."""
    d = config.size("hidden_size")
    values = {
        "sigma": config.sigma("hidden_activation") or "gelu-tanh",
        "tied": config.flag("tie_word_embeddings", True),
        "embed_scale": math.sqrt(d) if d else 1.0,
        "odd": "" if d else "tokens are multiplied by √d, and no hidden_size to tell it from",
    }
    return decoder(config, base, **(values | more))


@reader
def gemma(config: Config) -> Architecture:
    """An activation "gelu" of the oldest configs means the one by tanh."""
    names = ("hidden_activation", "hidden_act")
    sigmas = {config.sigma(name) for name in names} - {None, "gelu"} or {"gelu-tanh"}
    made = _gemma(config, window=None, sigma=min(sigmas, key=str))
    return made if len(sigmas) == 1 else replace(made, odd="two activations in the config")


@reader
def gemma2(config: Config) -> Architecture:
    return _sandwich(config, _cap(config, "attn_logit_softcapping", 50.0), 30.0)


@reader
def gemma3(config: Config) -> Architecture:
    """Which layers look back a window only: ``layer_types``, or all but every sixth."""
    both = config.flag("use_bidirectional_attention", False)
    arch = _sandwich(config, None, None)
    L, every = arch.L or 0, config.size("sliding_window_pattern") or 6
    kinds = config.values.get("layer_types") or [
        "full_attention" if (i + 1) % every == 0 else "sliding_attention" for i in range(L)
    ]
    bases = {
        "full_attention": config.number("rope_theta") or 1e6,
        "sliding_attention": config.number("rope_local_base_freq") or USUAL,
    }
    turns, odd = angles_by_kind(arch, config, kinds, bases)
    window = arch.window // 2 + 1 if both and arch.window else arch.window
    return replace(
        arch, turns=turns, odd=arch.odd or odd, qk_norm=True, causal=not both, window=window
    )


def _sandwich(config: Config, score_cap: float | None, cap: float | None) -> Architecture:
    scalar, L = config.number("query_pre_attn_scalar"), config.size("num_hidden_layers")
    scalar = 256.0 if scalar is None else scalar
    if not scalar > 0:
        raise InputError(f"{config.source}: query_pre_attn_scalar", "a number > 0", scalar)
    known: dict[str, Any] = {} if L else {"odd": "no num_hidden_layers to scale the scores by"}
    return _gemma(
        config,
        **known,
        order="sandwich",
        scales=(1 / math.sqrt(scalar),) * (L or 0),
        score_cap=score_cap,
        logit_cap=_cap(config, "final_logit_softcapping", cap),
        window=config.size("sliding_window") if "sliding_window" in config.values else 4096,
    )


def _cap(config: Config, name: str, absent: float | None) -> float | None:
    """A cap; null in the config means none, and no word of it means the family's own."""
    return config.number(name) if name in config.values else absent


_CAPS = ("query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping")
register_decoder("gemma", SLOTS, gemma)
register_decoder("gemma2", SANDWICH, gemma2, honours=_CAPS)
_HONOURED = ("query_pre_attn_scalar", "final_logit_softcapping", "use_bidirectional_attention")
register_decoder("gemma3_text", NORMED, gemma3, honours=_HONOURED)
