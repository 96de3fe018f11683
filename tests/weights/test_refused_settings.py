"""A setting that a family's description leaves out is refused by name; norms are measured still."""

from __future__ import annotations

import pytest

from dudley.core.errors import InputError
from dudley.weights.family import _read
from each import each

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
LONG = {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [2.0]}}
YARN = {"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}
KINDS = ("full_attention", "sliding_attention")
ONE_KIND = {
    "rope_parameters": dict(
        zip(KINDS, ({"rope_type": "default"}, {"rope_type": "yarn"}), strict=True)
    )
}
REFUSED = [
    ("albert groups", "albert", {"num_hidden_groups": 2}, "num_hidden_groups is 2"),
    ("albert blocks", "albert", {"inner_group_num": 2}, "inner_group_num is 2"),
    ("bert relative", "bert", {"position_embedding_type": "relative_key"}, "relative_key"),
    ("electra decoder", "electra", {"is_decoder": True, "add_cross_attention": True}, "cross"),
    ("opt widths", "opt", {"word_embed_proj_dim": 8}, "another width"),
    ("gemma both ways", "gemma", {"use_bidirectional_attention": True}, "bidirectional"),
    ("gemma2 both ways", "gemma2", {"use_bidirectional_attention": True}, "bidirectional"),
    ("gemma3 cap of scores", "gemma3_text", {"attn_logit_softcapping": 50.0}, "softcapping"),
    ("gemma3 yarn", "gemma3_text", ONE_KIND, "'yarn', which scale the scores"),
    ("gemma experts", "gemma", {"num_experts": 8}, "num_experts is 8"),
    ("phi3 longrope", "phi3", LONG, "'longrope', which scale the scores"),
    ("llama yarn", "llama", YARN, "'yarn', which scale the scores"),
    ("llama in part", "llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5"),
    ("smollm3 factor", "smollm3", {"residual_multiplier": 2.0}, "residual_multiplier is 2.0"),
    ("stablelm norms", "stablelm", {"qk_layernorm": True}, "qk_layernorm is True"),
    ("phi norms", "phi", {"qk_layernorm": True}, "qk_layernorm is True"),
    ("neox odd part", "gpt_neox", {"rotary_pct": 0.25}, "turn 1 of 4 entries"),
    ("modernbert yarn", "modernbert", ONE_KIND, "'yarn', which scale the scores"),
]


@each(("label", "family", "settings", "reason"), REFUSED)
def test_a_setting_that_is_not_described_is_refused(label, family, settings, reason):
    plain = SIZES | ({"rotary_pct": 0.5} if family in ("gpt_neox", "stablelm") else {})
    assert _read(family, plain)[1].odd == "", label
    assert reason in _read(family, plain | settings)[1].odd


WRONG = [
    ("no_rope_layers", "smollm3", "yes", "a list of 0 and 1"),
    ("residual_multiplier", "granite", 0, "a number > 0"),
    ("query_pre_attn_scalar", "gemma2", 0, "a number > 0"),
    ("pad_token_id", "roberta", -1, "a whole number ≥ 0"),
    ("rope_theta", "llama", -1.0, "a number > 0"),
    ("rope_parameters", "llama", [1], "a table"),
    ("rope_scaling", "llama", {"type": "linear"}, "factor: expected a number > 0"),
    ("rope_parameters", "llama", {"rope_type": "llama3", "factor": 8.0}, "low_freq_factor"),
]


@pytest.mark.parametrize(("name", "family", "value", "expected"), WRONG)
def test_a_setting_out_of_range_is_an_error(name, family, value, expected):
    with pytest.raises(InputError, match=expected):
        _read(family, SIZES | {name: value})
