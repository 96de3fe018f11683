"""DistilBERT: BERT's blocks under other names, without segments; ε is 1e-12 by definition.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["distilbert"].architecture({"dim": 8, "n_heads": 2}).eps
1e-12
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, linear, names_of, norm, table
from dudley.weights.output import Output

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
HEADS = (
    *linear("pre_classifier", "pre"),
    *linear("classifier", "cls"),
    *linear("vocab_transform", "pre"),
    *norm("vocab_layer_norm", "ln_pre"),
    *linear("vocab_projector", "out"),
)
SKIPS = (
    Skip(r"embeddings\.position_ids$", "buffer: indices, no weights"),
    Skip(r"^qa_outputs\.", "head: answers in a text", head=True),
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
        tied=config.flag("tie_word_embeddings", True),
        head=config.head(),
        outputs=(
            Output("rows", "first"),
            Output("classes", "first", "pre", "relu"),
            Output("language", "any", "pre", config.sigma("activation"), norm=True),
        ),
    )


_anchor = "transformer.layer.0.attention.q_lin.weight"
LAYOUTS.register("distilbert")(
    Layout("distilbert", (*SLOTS, *HEADS), SKIPS, architecture, _anchor, names_of(HEADS))
)
