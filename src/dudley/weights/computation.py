"""Settings of a config that change what is computed, whatever the family calls itself.

Families differ from one another in a number here and there: scores, residuals or logits are
multiplied, capped or rotated in part. A family says which of these it describes
(``Layout.honours``). A config that sets another one describes another network: its norms are still
those of the stored matrices, but no bound is given.

>>> changing_setting({"residual_multiplier": 0.22})
'residual_multiplier is 0.22'
>>> changing_setting({"residual_multiplier": 1.0, "final_logit_softcapping": None})
''
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

# Setting ↦ values at which it changes nothing; None never does.
INERT: dict[str, tuple] = {
    # scores
    "attention_multiplier": (), "attention_scale": (), "query_pre_attn_scalar": (),
    "attn_logit_softcapping": (), "clip_qkv": (), "qk_layernorm": (False,), "use_qk_norm": (False,),
    "qk_norm": (False,), "alibi": (False,), "use_alibi": (False,),
    "use_bidirectional_attention": (False,),
    # positions
    "partial_rotary_factor": (1,), "rotary_pct": (1,), "no_rope_layers": ([],),
    # sums
    "residual_multiplier": (1,), "residual_scale": (1,), "scale_depth": (1,),
    "use_parallel_residual": (False,), "parallel_attn": (False,),
    # inputs and outputs
    "embedding_multiplier": (1,), "scale_emb": (1,), "scale_embedding": (False,),
    "logits_scaling": (1,), "logit_scale": (1,), "final_logit_softcapping": (),
    # several MLPs in the place of one
    "num_local_experts": (), "num_experts": (), "n_routed_experts": (),
    # what `readers.gguf_names` found in a file and does not know
    "unread setting": (),
}  # fmt: skip
_LAYERS = ("full_attention", "sliding_attention")  # kinds whose mask is all that differs


def changing_setting(config: Mapping[str, Any], honoured: Container[str] = ()) -> str:
    """The first setting that makes another network of it; empty if there is none.

    ``honoured``: those that the family's reader describes.
    """
    tables = [config, *(config.get(name) for name in ("rope_scaling", "rope_parameters"))]
    for table in tables:
        for name, inert in INERT.items() if isinstance(table, Mapping) else ():
            value = table.get(name)
            if value is not None and value not in inert and name not in honoured:
                return f"{name} is {value!r}"
    kinds = config.get("layer_types")
    if kinds is not None and not (isinstance(kinds, list) and all(k in _LAYERS for k in kinds)):
        return f"layer_types is {kinds!r}"
    return ""


def offset_gains(config: Mapping[str, Any]) -> bool:
    """Do this model's norm layers multiply by 1 + weight?

    >>> offset_gains({"model_type": "gemma2"})
    True
    """
    name = str(config.get("model_type", ""))
    return "gemma" in name or name in ("nemotron", "qwen3_next")
