"""A tiny model of each family as ``transformers`` makes it, with random weights and odd settings.

A setting that a family honours has a value here at which forgetting it would show.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
HIDDEN = {"intermediate_size": 20}
TEXT = SIZES | HIDDEN | IDS | {"vocab_size": 31, "max_position_embeddings": 24}
GROUPED = TEXT | {"num_key_value_heads": 2}
WIDE = GROUPED | {"head_dim": 8}
GPT2 = {"vocab_size": 31, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 24} | IDS
DISTIL = {"vocab_size": 31, "dim": 16, "hidden_dim": 20, "n_layers": 2, "n_heads": 4}
IMAGE = SIZES | HIDDEN | {"image_size": 8, "patch_size": 4}
BROAD = GROUPED | {"num_attention_heads": 2, "num_key_value_heads": 1}  # heads of width 8
CAPS = {"query_pre_attn_scalar": 9, "final_logit_softcapping": 0.7}


def turns(base: float = 500.0, **more: Any) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": base} | more


LLAMA3 = turns(
    rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
    original_max_position_embeddings=16,
)  # fmt: skip
HALF = {"rope_parameters": turns(partial_rotary_factor=0.5)}
NARROW = {"embedding_size": 12}
MODERN = TEXT | {"cls_token_id": 1, "sep_token_id": 2}
OPT = SIZES | IDS | {"vocab_size": 31, "ffn_dim": 20, "word_embed_proj_dim": 16}
TWO_BASES = {
    "full_attention": turns(1e5, rope_type="linear", factor=4.0),
    "sliding_attention": turns(),
}
# Name ↦ the class, its config's class, and settings; the name begins with the model type.
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertModel", "BertConfig", TEXT),
    "bert classes": ("BertForSequenceClassification", "BertConfig", TEXT),
    "bert tokens": ("BertForMaskedLM", "BertConfig", TEXT),
    "roberta": ("RobertaForSequenceClassification", "RobertaConfig", TEXT | {"pad_token_id": 1}),
    "roberta tokens": ("RobertaForMaskedLM", "RobertaConfig", TEXT | {"pad_token_id": 2}),
    "xlm-roberta": ("XLMRobertaForMaskedLM", "XLMRobertaConfig", TEXT | {"pad_token_id": 1}),
    "camembert": ("CamembertModel", "CamembertConfig", TEXT | {"pad_token_id": 1}),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig", DISTIL),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2 | {"scale_attn_by_inverse_layer_idx": True}),
    "vit": ("ViTForImageClassification", "ViTConfig", IMAGE),
    "llama": ("LlamaForCausalLM", "LlamaConfig", WIDE | {"rope_parameters": LLAMA3}),
    "llama classes": ("LlamaForSequenceClassification", "LlamaConfig", GROUPED),
    "mistral": ("MistralForCausalLM", "MistralConfig", GROUPED | {"sliding_window": 4}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", GROUPED | {"rope_parameters": turns()}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", WIDE),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", WIDE),
    "gemma2": (
        "Gemma2ForCausalLM",
        "Gemma2Config",
        WIDE | CAPS | {"attn_logit_softcapping": 0.5},
    ),
    "gemma3_text": (
        "Gemma3ForCausalLM",
        "Gemma3TextConfig",
        WIDE | CAPS | {"sliding_window_pattern": 2, "rope_parameters": TWO_BASES},
    ),
    "gemma3_text encoder": (
        "Gemma3TextModel",
        "Gemma3TextConfig",
        WIDE | {"use_bidirectional_attention": True, "sliding_window": 12},
    ),
    "phi3": (
        "Phi3ForCausalLM",
        "Phi3Config",
        GROUPED | HALF,
    ),
    "smollm3": ("SmolLM3ForCausalLM", "SmolLM3Config", GROUPED | {"no_rope_layers": [0, 1]}),
    "granite": (
        "GraniteForCausalLM",
        "GraniteConfig",
        GROUPED
        | {"embedding_multiplier": 12.0, "logits_scaling": 8.0}
        | {"residual_multiplier": 0.22, "attention_multiplier": 0.7},
    ),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", BROAD | {"use_qkv_bias": True}),
    "stablelm parallel": (
        "StableLmForCausalLM",
        "StableLmConfig",
        GROUPED | HALF | {"use_parallel_residual": True},
    ),
    "starcoder2": ("Starcoder2ForCausalLM", "Starcoder2Config", GROUPED),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", TEXT | HALF),
    "gpt_neox one by one": (
        "GPTNeoXForSequenceClassification",
        "GPTNeoXConfig",
        TEXT | HALF | {"use_parallel_residual": False},
    ),
    "phi": ("PhiForCausalLM", "PhiConfig", GROUPED),
    "opt": ("OPTForCausalLM", "OPTConfig", OPT),
    "opt norms behind": ("OPTForCausalLM", "OPTConfig", OPT | {"do_layer_norm_before": False}),
    "electra": ("ElectraForSequenceClassification", "ElectraConfig", TEXT | NARROW),
    "electra tokens": ("ElectraForMaskedLM", "ElectraConfig", TEXT | NARROW),
    "albert": ("AlbertForSequenceClassification", "AlbertConfig", TEXT | NARROW),
    "albert tokens": ("AlbertForMaskedLM", "AlbertConfig", TEXT | NARROW),
    "modernbert": ("ModernBertForMaskedLM", "ModernBertConfig", MODERN | {"local_attention": 8}),
    "modernbert classes": (
        "ModernBertForSequenceClassification",
        "ModernBertConfig",
        MODERN | {"classifier_pooling": "mean", "global_attn_every_n_layers": 2},
    ),
    "deit": ("DeiTForImageClassification", "DeiTConfig", IMAGE),
    "dinov2": ("Dinov2Model", "Dinov2Config", IMAGE),
    "clip_text_model": ("CLIPTextModel", "CLIPTextConfig", TEXT),
    "clip_vision_model": ("CLIPVisionModel", "CLIPVisionConfig", IMAGE),
    "siglip_text_model": ("SiglipTextModel", "SiglipTextConfig", TEXT | {"projection_size": 12}),
}
# Families whose norms are measured, and whose networks are refused.
EXPERTS = GROUPED | {"num_local_experts": 3, "num_experts_per_tok": 2}
BOTH = {"vocab_size": 31, "d_model": 16} | IDS
SIDES = {
    f"{side}_{name}": value
    for side in ("encoder", "decoder")
    for name, value in {"layers": 2, "attention_heads": 4, "ffn_dim": 20}.items()
}
DEBERTA = {
    "relative_attention": True, "position_buckets": 4, "norm_rel_ebd": "layer_norm",
    "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "share_att_key": True,
}  # fmt: skip
WHISPER = {"num_mel_bins": 4, "max_source_positions": 8, "max_target_positions": 8}
MEASURED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", EXPERTS),
    "qwen3_moe": (
        "Qwen3MoeForCausalLM",
        "Qwen3MoeConfig",
        WIDE | {"num_experts": 3, "moe_intermediate_size": 8, "mlp_only_layers": [0]},
    ),
    "deberta-v2": ("DebertaV2ForSequenceClassification", "DebertaV2Config", TEXT | DEBERTA),
    "t5": (
        "T5ForConditionalGeneration",
        "T5Config",
        {"vocab_size": 31, "d_model": 16, "d_kv": 8, "d_ff": 20, "num_layers": 2, "num_heads": 4}
        | {"num_decoder_layers": 3, "feed_forward_proj": "gated-gelu"},
    ),
    "bart": ("BartForConditionalGeneration", "BartConfig", BOTH | SIDES),
    "whisper": (
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        BOTH | SIDES | WHISPER | {"decoder_start_token_id": 3, "begin_suppress_tokens": [1, 2]},
    ),
    "siglip_vision_model": ("SiglipVisionModel", "SiglipVisionConfig", IMAGE),
}


def save(name: str, folder: Path) -> Path:
    """The folder of a model with random weights."""
    import transformers  # pyright: ignore[reportMissingImports]

    transformers.utils.logging.disable_progress_bar()
    made, config, settings = (MODELS | MEASURED)[name]
    model = getattr(transformers, made)(getattr(transformers, config)(**settings))
    randomise(model)
    model.save_pretrained(folder)
    return folder


def randomise(model: torch.nn.Module) -> None:
    """Random weights; gains are near where they do nothing."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            start = parameter.mean() if parameter.ndim == 1 else 0.0
            parameter.copy_(start + 0.4 * torch.randn(parameter.shape, generator=generator))
