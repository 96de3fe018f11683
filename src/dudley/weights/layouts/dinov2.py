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
DEIT = (*vit.SLOTS, Slot("embeddings.distillation_token", ("dist",), "row"))
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


LAYOUTS.register("deit")(
    Layout("deit", DEIT, SKIPS, vit.architecture, vit.ANCHOR, vit.OUTSIDE, assumable=False)
)
LAYOUTS.register("dinov2")(
    Layout("dinov2", DINOV2, SKIPS, dinov2, vit.ANCHOR, vit.OUTSIDE, assumable=False)
)
