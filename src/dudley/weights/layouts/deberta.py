"""DeBERTa v2 and v3: BERT's blocks, with relative positions in the scores.

The scores of a query and a key add what both say of the distance between them, by the same
matrices W_Q and W_K on a table of distances, R. That is no node, so that norms are all there is.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["deberta-v2"].match("encoder.rel_embeddings.weight").roles
('R',)
"""

from __future__ import annotations

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, linear, names_of, norm, table
from dudley.weights.layouts import bert

_AT = "encoder.layer.{layer}.attention.self"
HEADS = (*linear("pooler.dense", "pool"), *linear("classifier", "cls"))
SLOTS = (
    *(slot for slot in bert.SLOTS if ".self." not in slot.pattern and "pooler" not in slot.pattern),
    *linear(f"{_AT}.query_proj", "Q"),
    *linear(f"{_AT}.key_proj", "K"),
    *linear(f"{_AT}.value_proj", "v"),
    *table("encoder.rel_embeddings.weight", "R"),
    *norm("encoder.LayerNorm", "ln_f"),
    *HEADS,
)
SKIPS = (
    Skip(r"embeddings\.position_ids$", "buffer: indices, no weights"),
    Skip(r"encoder\.conv\.", "a convolution, which is no node", vital=True),
    Skip(r"(pos_key_proj|pos_query_proj)\.", "relative positions: no role here", vital=True),
    Skip(r"^(lm_predictions|cls|mask_predictions)\.", "head: masked tokens", head=True),
    Skip(r"^qa_outputs\.", "head: answers in a text", head=True),
)


@reader
def architecture(config: Config) -> Architecture:
    return bert.encoder(config, ())


LAYOUTS.register("deberta-v2")(
    Layout(
        "deberta-v2",
        SLOTS,
        SKIPS,
        architecture,
        "encoder.layer.0.attention.self.query_proj.weight",
        names_of(HEADS),
        refused="relative positions enter the scores (disentangled attention)",
        assumable=False,
    )
)
