"""Nodes and blocks by the names that network files use."""

from __future__ import annotations

from collections.abc import Callable

from dudley.calculus.compose import Heads, Node
from dudley.core.registry import Registry
from dudley.networks import blocks, embeddings, head, multihead, outputs, pointwise

NODES: Registry[Callable[..., Node]] = Registry("node")

for _name, _unit in {
    "head": head.Head,
    "attention": multihead.MultiHeadAttention,
    "trauger-block": blocks.trauger_block,
    "li-block": blocks.li_block,
    "pre-ln-block": blocks.pre_ln_block,
    "post-ln-block": blocks.post_ln_block,
    "dense": pointwise.Dense,
    "mlp": pointwise.MLP,
    "swiglu": pointwise.SwiGLU,
    "activate": pointwise.Activate,
    "project-rows": pointwise.ProjectRows,
    "layer-norm": pointwise.LayerNorm,
    "rms-norm": pointwise.RMSNorm,
    "pool": pointwise.Pool,
    "positions": embeddings.Positions,
    "embedding": embeddings.Embedding,
    "shallow-encoder": blocks.shallow_encoder,
    "readout": outputs.Readout,
    "logits": outputs.Logits,
}.items():
    NODES.register(_name)(_unit)


@NODES.register("heads")
def heads(H: int, **head_fields) -> Heads:
    """H heads of equal norms, outputs added."""
    return Heads(head.Head(**head_fields), H)
