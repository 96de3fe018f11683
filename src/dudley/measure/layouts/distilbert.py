"""DistilBERT: BERT's blocks under other names, without segments; ε is 1e-12 by definition.

>>> from dudley.measure.layouts import LAYOUTS
>>> LAYOUTS["distilbert"].architecture({"dim": 8, "n_heads": 2}).eps
1e-12
"""

from __future__ import annotations

from dudley.measure.architecture import Architecture, Config, reader
from dudley.measure.layout import LAYOUTS, Layout, Skip, linear, norm, table

_LAYER = "transformer.layer.{layer}"
SLOTS = (
    *table("embeddings.word_embeddings.weight", "W_E"),
    *table("embeddings.position_embeddings.weight", "P"),
    *norm("embeddings.LayerNorm", "ln_E"),
    *linear(f"{_LAYER}.attention.q_lin", "Q"),
    *linear(f"{_LAYER}.attention.k_lin", "K"),
    *linear(f"{_LAYER}.attention.v_lin", "v"),
    *linear(f"{_LAYER}.attention.out_lin", "c"),
    *norm(f"{_LAYER}.sa_layer_norm", "ln_1"),
    *linear(f"{_LAYER}.ffn.lin1", "1"),
    *linear(f"{_LAYER}.ffn.lin2", "2"),
    *norm(f"{_LAYER}.output_layer_norm", "ln_2"),
)
SKIPS = (
    Skip(r"embeddings\.position_ids$", "buffer: indices, no weights"),
    Skip(r"^vocab_(transform|layer_norm|projector)\.", "pre-training head: not in the encoder"),
    Skip(r"^(pre_classifier|classifier|qa_outputs)\.", "task head: the readout is declared"),
)


@reader
def architecture(config: Config) -> Architecture:
    return Architecture(
        d=config.size("dim"),
        L=config.size("n_layers"),
        H=config.size("n_heads"),
        T=config.size("max_position_embeddings"),
        order="post",
        eps=1e-12,
        sigma=config.sigma("activation"),
    )


_anchor = "transformer.layer.0.attention.q_lin.weight"
LAYOUTS.register("distilbert")(Layout("distilbert", SLOTS, SKIPS, architecture, _anchor))
