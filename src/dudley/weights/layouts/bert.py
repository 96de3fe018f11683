"""BERT and RoBERTa: post-norm encoders, separate queries, keys and values, segments.

RoBERTa's positions begin behind the one of its padding: the rows of P before that belong to no
token.

BERT classifies what its pooler (tanh, first row) gives; RoBERTa's classifier has a dense layer of
its own. Both predict masked tokens after a dense layer and a norm.

>>> from dudley.weights.layout import LAYOUTS
>>> LAYOUTS["roberta"].architecture({"hidden_size": 8, "num_attention_heads": 2}).heads()
(2, 2, 4)
"""

from __future__ import annotations

from dataclasses import replace

from dudley.core.errors import InputError
from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, names_of, norm, table
from dudley.weights.output import Output

_LAYER = "encoder.layer.{layer}"
SLOTS = (
    *table("embeddings.word_embeddings.weight", "W_E"),
    *table("embeddings.position_embeddings.weight", "P"),
    *table("embeddings.token_type_embeddings.weight", "W_S"),
    *norm("embeddings.LayerNorm", "ln_E"),
    *linear(f"{_LAYER}.attention.self.query", "Q"),
    *linear(f"{_LAYER}.attention.self.key", "K"),
    *linear(f"{_LAYER}.attention.self.value", "v"),
    *linear(f"{_LAYER}.attention.output.dense", "c"),
    *norm(f"{_LAYER}.attention.output.LayerNorm", "ln_1"),
    *linear(f"{_LAYER}.intermediate.dense", "1"),
    *linear(f"{_LAYER}.output.dense", "2"),
    *norm(f"{_LAYER}.output.LayerNorm", "ln_2"),
    *linear("pooler.dense", "pool"),
)
BERT_HEADS = (
    *linear("classifier", "cls"),
    *linear("cls.predictions.transform.dense", "pre"),
    *norm("cls.predictions.transform.LayerNorm", "ln_pre"),
    *linear("cls.predictions.decoder", "out"),
    Slot("cls.predictions.bias", ("b_out",), "row"),
)
ROBERTA_HEADS = (
    *linear("classifier.dense", "pre"),
    *linear("classifier.out_proj", "cls"),
    *linear("lm_head.dense", "pre"),
    *norm("lm_head.layer_norm", "ln_pre"),
    *linear("lm_head.decoder", "out"),
    Slot("lm_head.bias", ("b_out",), "row"),
)
TWINS = tuple((f"{at}.decoder.bias", f"{at}.bias") for at in ("cls.predictions", "lm_head"))
SKIPS = (
    Skip(r"embeddings\.(position_ids|token_type_ids)$", "buffer: indices, no weights"),
    Skip(r"^cls\.seq_relationship\.", "head: order of sentences", head=True),
    Skip(r"^qa_outputs\.", "head: answers in a text", head=True),
)


def encoder(config: Config, outputs: tuple[Output, ...]) -> Architecture:
    kind = config.values.get("position_embedding_type", "absolute")
    odd = "" if kind == "absolute" else f"position_embedding_type is {kind!r}, not 'absolute'"
    if config.flag("is_decoder", False) and config.flag("add_cross_attention", False):
        odd = "a decoder with cross-attention"
    return Architecture(
        d=config.size("hidden_size"),
        L=config.size("num_hidden_layers"),
        H=config.size("num_attention_heads"),
        T=config.size("max_position_embeddings"),
        order="post",
        eps=config.number("layer_norm_eps"),
        sigma=config.sigma("hidden_act"),
        causal=config.flag("is_decoder", False),
        tied=config.flag("tie_word_embeddings", True),
        head=config.head(),
        outputs=outputs,
        odd=odd,
    )


@reader
def bert(config: Config) -> Architecture:
    outputs = (
        Output("rows", "first", "pool", "tanh"),
        Output("classes", "first", "pool", "tanh"),
        Output("language", "any", "pre", config.sigma("hidden_act"), norm=True),
    )
    return encoder(config, outputs)


@reader
def roberta(config: Config) -> Architecture:
    outputs = (
        Output("rows", "first", "pool", "tanh"),
        Output("classes", "first", "pre", "tanh"),
        Output("language", "any", "pre", "gelu", norm=True),
    )
    pad = config.values.get("pad_token_id", 1)
    if not isinstance(pad, int) or isinstance(pad, bool) or pad < 0:
        raise InputError(f"{config.source}: pad_token_id", "a whole number ≥ 0", repr(pad))
    return replace(encoder(config, outputs), first_position=pad + 1)


_anchor = "encoder.layer.0.attention.self.query.weight"
_outside = names_of(BERT_HEADS)
LAYOUTS.register("bert")(
    Layout("bert", (*SLOTS, *BERT_HEADS), SKIPS, bert, _anchor, _outside, TWINS)
)
_outside = names_of(ROBERTA_HEADS)
for _name in ("roberta", "xlm-roberta", "camembert"):
    LAYOUTS.register(_name)(
        Layout(_name, (*SLOTS, *ROBERTA_HEADS), SKIPS, roberta, _anchor, _outside, TWINS)
    )
