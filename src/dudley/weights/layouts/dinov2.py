"""DeiT and DINOv2: ViT's blocks; a second trained row in DeiT, trained factors in DINOv2.

DINOv2's classifier reads the first row beside the mean of the others, which is not described here.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["dinov2"].match("encoder.layer.0.layer_scale1.lambda1").roles
('s_1',)
"""

from __future__ import annotations

from dataclasses import replace

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm
from dudley.weights.layouts import vit
from dudley.weights.output import Output

_LAYER = "encoder.layer.{layer}"
DEIT = (*vit.SLOTS, *vit.LIVE, Slot("embeddings.distillation_token", ("dist",), "row"))
DINOV2 = (
    *(
        slot
        for slot in vit.SLOTS
        if "layernorm_" not in slot.pattern and "dense" not in slot.pattern
    ),
    *linear(f"{_LAYER}.attention.output.dense", "c"),
    *norm(f"{_LAYER}.norm1", "ln_1"),
    *norm(f"{_LAYER}.norm2", "ln_2"),
    Slot(f"{_LAYER}.layer_scale1.lambda1", ("s_1",), "column"),
    Slot(f"{_LAYER}.layer_scale2.lambda1", ("s_2",), "column"),
    *linear(f"{_LAYER}.mlp.fc1", "1"),
    *linear(f"{_LAYER}.mlp.fc2", "2"),
    Slot(f"{_LAYER}.mlp.weights_in.weight", ("W_1", "W_3"), interleaved="none"),
    Slot(f"{_LAYER}.mlp.weights_in.bias", ("b_1", "b_3"), "row", interleaved="none"),
    *linear(f"{_LAYER}.mlp.weights_out", "2"),
    *linear(f"{_LAYER}.attention.q_proj", "Q"),
    *linear(f"{_LAYER}.attention.k_proj", "K"),
    *linear(f"{_LAYER}.attention.v_proj", "v"),
    *linear(f"{_LAYER}.attention.o_proj", "c"),
)
SKIPS = (
    *vit.SKIPS,
    Skip(r"^(cls_classifier|distillation_classifier)\.", "two heads, averaged", head=True),
)


@reader
def dinov2(config: Config) -> Architecture:
    gated = config.flag("use_swiglu_ffn", False)
    return replace(
        vit.encoder(config, (Output("rows", "first"),)),
        gated=gated,
        sigma="swish" if gated else config.sigma("hidden_act"),
    )


for _name, _slots, _reader, _live in (
    ("deit", DEIT, vit.architecture, vit.LIVE_ANCHOR),
    ("dinov2", DINOV2, dinov2, "encoder.layer.0.attention.q_proj.weight"),
):
    LAYOUTS.register(_name)(
        Layout(
            _name,
            _slots,
            SKIPS,
            _reader,
            vit.ANCHOR,
            vit.OUTSIDE,
            live_anchor=_live,
            assumable=False,
        )
    )
