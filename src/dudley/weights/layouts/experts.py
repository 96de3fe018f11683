"""Mixtral, Qwen3-MoE: Llama's blocks with several MLPs, of which each token is given the best few.

Every expert's matrices are measured (``W_1[3]`` of expert 3), and the router's, ``W_g``. Which
experts are chosen jumps where two of the router's scores cross: the network is not continuous
there, so that no cover of its weights bounds it.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["mixtral"].match("layers.0.block_sparse_moe.experts.3.w2.weight").roles
('W_2[3]',)
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Slot, linear
from dudley.weights.layouts.llama import ANCHOR, GATED, LAYER, NAMES_OUTSIDE, SKIPS, SLOTS, decoder

WHY = "experts are chosen by top-k routing, which is not continuous"
_WITHOUT_MLP = tuple(slot for slot in SLOTS if slot not in GATED)


def _experts(at: str, gate: str, up: str, down: str):
    return tuple(
        slot
        for name, role in ((gate, "1"), (up, "3"), (down, "2"))
        for slot in linear(f"{at}.experts.{{expert}}.{name}", role)
    )


_MIXTRAL, _QWEN = f"{LAYER}.block_sparse_moe", f"{LAYER}.mlp"
MIXTRAL = (
    *_WITHOUT_MLP,
    Slot(f"{_MIXTRAL}.gate.weight", ("W_g",)),
    *_experts(_MIXTRAL, "w1", "w3", "w2"),
)
QWEN = (
    *SLOTS,  # some layers may have one MLP
    Slot(f"{_QWEN}.gate.weight", ("W_g",)),
    *_experts(_QWEN, "gate_proj", "up_proj", "down_proj"),
)


@reader
def architecture(config: Config) -> Architecture:
    return decoder(config, window=None)


for _name, _slots in (("mixtral", MIXTRAL), ("qwen3_moe", QWEN)):
    LAYOUTS.register(_name)(
        Layout(
            _name,
            _slots,
            SKIPS,
            architecture,
            ANCHOR,
            NAMES_OUTSIDE,
            refused=WHY,
            assumable=False,
        )
    )
