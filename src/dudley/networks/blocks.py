"""Whole blocks as compositions: the papers' and those of practice."""

from __future__ import annotations

import math
from typing import Any

from dudley.calculus.compose import Chain, Node, Residual
from dudley.core.constraint import Constraint
from dudley.networks.activations import Activation
from dudley.networks.head import Head
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.normalisers import Normaliser
from dudley.networks.outputs import Readout
from dudley.networks.pointwise import Activate, Dense, LayerNorm, ProjectRows
from dudley.networks.registry import NODES


@NODES.register("trauger-block")
def trauger_block(
    d: int,
    W_QK: Constraint,
    W_v: Constraint,
    W_c: Constraint,
    k: int | None = None,
    sigma: str | Activation = "relu",
    attention: str | Normaliser = "softmax",
) -> Chain:
    """Z ↦ Π(σ(Π(A(Z W_QK Zᵀ) Z W_v)) W_c): the block of edelman2021 and trauger2024.

    Its layer constant is L_σ B_c B_v (1 + 2B_QK R²); the covered inputs of W_c have norm ≤ L_σ.
    """
    head = Head(d, W_v, W_QK, k=k, sigma="identity", attention=attention)
    output = Dense(k or d, W_c, d, names=("W_c", "b_c"))
    return Chain((head, ProjectRows(), Activate(sigma), output, ProjectRows()))


@NODES.register("li-block")
def li_block(
    d: int,
    W_QK: Constraint,
    W_v: Constraint,
    W_c: Constraint,
    k: int | None = None,
    sigma: str | Activation = "relu",
    attention: str | Normaliser = "softmax",
) -> Chain:
    """Z ↦ Π(σ(Π(σ(A(Z W_QK Zᵀ) Z W_v) W_c))): the block of li2026, eq. (5): σ acts twice."""
    head = Head(d, W_v, W_QK, W_c=W_c, k=k, sigma=sigma, attention=attention)
    return Chain((head, ProjectRows(), Activate(sigma), ProjectRows()))


@NODES.register("pre-ln-block")
def pre_ln_block(mlp: Node, ln: LayerNorm, **attention: Any) -> Chain:
    """Z ↦ Z' + MLP(LN(Z')), Z' = Z + Attention(LN(Z)): GPT-2, ViT, Llama."""
    mixing = MultiHeadAttention(**attention)
    return Chain((Residual(Chain((ln, mixing))), Residual(ln >> mlp)))


@NODES.register("post-ln-block")
def post_ln_block(mlp: Node, ln: LayerNorm, **attention: Any) -> Chain:
    """Z ↦ LN(Z' + MLP(Z')), Z' = LN(Z + Attention(Z)): BERT."""
    mixing = MultiHeadAttention(**attention)
    return Chain((Residual(mixing), ln, Residual(mlp), ln))


@NODES.register("shallow-encoder")
def shallow_encoder(
    d: int,
    d_m: int,
    W_Q: Constraint,
    W_K: Constraint,
    W_v: Constraint,
    w: Constraint,
) -> Chain:
    """X ↦ mean_i w·relu(W_vᵀ Xᵀ softmax(X W_K W_Qᵀ x_i/√d_m)): mwigo2026, §3.1.2."""
    head = Head(
        d, W_v, W_Q=W_Q, W_K=W_K, k=d_m, sigma="relu", scale=1 / math.sqrt(d_m), query="all"
    )
    return Chain((head, Readout(w, pool="mean")))
