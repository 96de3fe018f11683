"""ELECTRA and ALBERT: BERT's blocks, tokens of a smaller width, and in ALBERT one block for all.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["albert"].architecture({"num_hidden_layers": 12}).depth(1)
12
"""

from __future__ import annotations

from dataclasses import replace

from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, names_of, norm
from dudley.weights.layouts import bert
from dudley.weights.output import Output

_BODY = tuple(slot for slot in bert.SLOTS if not slot.pattern.startswith("pooler"))
_TABLES = tuple(slot for slot in _BODY if "{layer}" not in slot.pattern)
_AT = "encoder.albert_layer_groups.0.albert_layers.0"
ELECTRA_HEADS = (
    *linear("classifier.dense", "pre"),
    *linear("classifier.out_proj", "cls"),
    *linear("generator_predictions.dense", "pre"),
    *norm("generator_predictions.LayerNorm", "ln_pre"),
    *linear("generator_lm_head", "out"),
)
ALBERT = (
    *_TABLES,
    *linear("encoder.embedding_hidden_mapping_in", "map"),
    *linear(f"{_AT}.attention.query", "Q"),
    *linear(f"{_AT}.attention.key", "K"),
    *linear(f"{_AT}.attention.value", "v"),
    *linear(f"{_AT}.attention.dense", "c"),
    *norm(f"{_AT}.attention.LayerNorm", "ln_1"),
    *linear(f"{_AT}.ffn", "1"),
    *linear(f"{_AT}.ffn_output", "2"),
    *norm(f"{_AT}.full_layer_layer_norm", "ln_2"),
    *linear("pooler", "pool"),
)
ALBERT_HEADS = (
    *linear("classifier", "cls"),
    *linear("predictions.dense", "pre"),
    *norm("predictions.LayerNorm", "ln_pre"),
    *linear("predictions.decoder", "out"),
    Slot("predictions.bias", ("b_out",), "row"),
)
SKIPS = (
    Skip(r"embeddings\.(position_ids|token_type_ids)$", "buffer: indices, no weights"),
    Skip(r"^discriminator_predictions\.", "head: which tokens were replaced", head=True),
    Skip(r"^sop_classifier\.", "head: order of sentences", head=True),
    Skip(r"^qa_outputs\.", "head: answers in a text", head=True),
)
TWINS = (("predictions.decoder.bias", "predictions.bias"),)


@reader
def electra(config: Config) -> Architecture:
    return bert.encoder(
        config,
        (
            Output("rows", "first"),
            Output("classes", "first", "pre", "gelu"),
            Output("language", "any", "pre", "gelu", norm=True),
        ),
    )


@reader
def albert(config: Config) -> Architecture:
    """One block for all layers; several groups of layers, or several blocks in one, are refused."""
    outputs = (
        Output("rows", "first", "pool", "tanh"),
        Output("classes", "first", "pool", "tanh"),
        Output("language", "any", "pre", config.sigma("hidden_act"), norm=True),
    )
    made = replace(bert.encoder(config, outputs), shared=True)
    for name in ("num_hidden_groups", "inner_group_num"):
        if config.size(name) not in (None, 1):
            made = replace(made, odd=made.odd or f"{name} is {config.size(name)}")
    return made


LAYOUTS.register("electra")(
    Layout(
        "electra",
        (*_BODY, *linear("embeddings_project", "map"), *ELECTRA_HEADS),
        SKIPS,
        electra,
        "encoder.layer.0.attention.self.query.weight",
        names_of(ELECTRA_HEADS),
        assumable=False,
    )
)
LAYOUTS.register("albert")(
    Layout(
        "albert",
        (*ALBERT, *ALBERT_HEADS),
        SKIPS,
        albert,
        f"{_AT}.attention.query.weight",
        names_of(ALBERT_HEADS),
        TWINS,
        assumable=False,
    )
)
