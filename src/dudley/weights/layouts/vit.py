"""ViT: pre-norm encoder on patches; a convolution cuts the image, a trained row stands first.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["vit"].match("embeddings.patch_embeddings.projection.weight").slot.stored
'patches'
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm
from dudley.weights.output import Output

_LAYER = "encoder.layer.{layer}"
SLOTS = (
    Slot("embeddings.cls_token", ("cls",), "row"),
    Slot("embeddings.position_embeddings", ("P",), "in-out"),
    *linear("embeddings.patch_embeddings.projection", "patch", "patches"),
    *norm(f"{_LAYER}.layernorm_before", "ln_1"),
    *linear(f"{_LAYER}.attention.attention.query", "Q"),
    *linear(f"{_LAYER}.attention.attention.key", "K"),
    *linear(f"{_LAYER}.attention.attention.value", "v"),
    *linear(f"{_LAYER}.attention.output.dense", "c"),
    *norm(f"{_LAYER}.layernorm_after", "ln_2"),
    *linear(f"{_LAYER}.intermediate.dense", "1"),
    *linear(f"{_LAYER}.output.dense", "2"),
    *norm("layernorm", "ln_f"),
    *linear("pooler.dense", "pool"),
    *linear("classifier", "cls"),
)
_LIVE = "layers.{layer}"
LIVE = (  # as modules of transformers 5 call them; files keep the older names
    *norm(f"{_LIVE}.layernorm_before", "ln_1"),
    *linear(f"{_LIVE}.attention.q_proj", "Q"),
    *linear(f"{_LIVE}.attention.k_proj", "K"),
    *linear(f"{_LIVE}.attention.v_proj", "v"),
    *linear(f"{_LIVE}.attention.o_proj", "c"),
    *norm(f"{_LIVE}.layernorm_after", "ln_2"),
    *linear(f"{_LIVE}.mlp.fc1", "1"),
    *linear(f"{_LIVE}.mlp.fc2", "2"),
)
SKIPS = (
    Skip(r"embeddings\.mask_token$", "mask token: used in pre-training only"),
    Skip(r"^decoder\.", "head: masked patches", head=True),
)


def encoder(config: Config, outputs: tuple[Output, ...]) -> Architecture:
    """ViT's blocks with these outputs."""
    return Architecture(
        d=config.size("hidden_size"),
        L=config.size("num_hidden_layers"),
        H=config.size("num_attention_heads"),
        order="pre",
        eps=config.number("layer_norm_eps"),
        sigma=config.sigma("hidden_act"),
        inputs="patches",
        bias=config.flag("qkv_bias", True) if "qkv_bias" in config.values else None,
        head=config.head(),
        outputs=outputs,
    )


@reader
def architecture(config: Config) -> Architecture:
    pooler = Output("rows", "first", "pool", config.sigma("pooler_act") or "tanh")
    return encoder(config, (pooler, Output("classes", "first")))


ANCHOR = "encoder.layer.0.attention.attention.query.weight"
OUTSIDE = ("classifier.weight", "classifier.bias")
LIVE_ANCHOR = "layers.0.attention.q_proj.weight"
LAYOUTS.register("vit")(
    Layout("vit", (*SLOTS, *LIVE), SKIPS, architecture, ANCHOR, OUTSIDE, live_anchor=LIVE_ANCHOR)
)
