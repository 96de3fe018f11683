"""The papers' blocks, rows to rows, and L of them with a scalar output.

    trauger2024, edelman2021:   Z ↦ Π(σ(Π(softmax(Z W_QK Zᵀ) Z W_v)) W_c)
    li2026, eq. (5):            Z ↦ Π(σ(Π(σ(softmax(Z W_QK Zᵀ) Z W_v) W_c)))

Π = Π_norm brings each row into the unit ball. f(X) = w · z_cls after L blocks. The papers name no
initial weights; here they are N(0, 1/rows).

>>> import dudley as du
>>> from dudley.models import Layers
>>> model, tokens = Layers(d=4, L=3, block="li"), du.Tokens(row2inf=1.0, T=8)
>>> facts = du.capacity(model.description(tokens), tokens).facts
>>> size = model.state_dict()["weights.3.w"].norm()  # Π comes before the readout
>>> round(float(facts.out.radius), 4) == round(float(size), 4)
True
"""

from __future__ import annotations

from collections.abc import Callable

from dudley.calculus.compose import Chain
from dudley.core.backend import torch
from dudley.core.constraint import FREE, size_of
from dudley.core.registry import Registry
from dudley.models.base import Model
from dudley.models.initial import Law, lecun
from dudley.networks.activations import Activation
from dudley.networks.blocks import li_block, trauger_block
from dudley.networks.normalisers import Normaliser
from dudley.networks.outputs import Readout

BLOCKS: Registry[Callable[..., Chain]] = Registry("block")
BLOCKS.register("trauger")(trauger_block)
BLOCKS.register("edelman")(trauger_block)
BLOCKS.register("li")(li_block)


class Block(Model):
    """One block, rows to rows: ``"trauger"`` (the same as ``"edelman"``) or ``"li"``."""

    def __init__(
        self,
        d: int,
        k: int | None = None,
        block: str = "trauger",
        sigma: str | Activation = "relu",
        attention: str | Normaliser = "softmax",
        seed: int | torch.Generator = 0,
    ):
        super().__init__(BLOCKS[block](d, FREE, FREE, FREE, k, sigma, attention), d, seed)

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        return lecun(shape)


class Layers(Model):
    """X ↦ w · z_cls after L blocks with weights of their own, [CLS] the last row."""

    def __init__(
        self,
        d: int,
        L: int,
        k: int | None = None,
        block: str = "trauger",
        sigma: str | Activation = "relu",
        attention: str | Normaliser = "softmax",
        seed: int | torch.Generator = 0,
    ):
        layer = BLOCKS[block](d, FREE, FREE, FREE, k, sigma, attention)
        super().__init__(Chain((*(layer,) * size_of("L", L), Readout(FREE))), d, seed)

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        return lecun(shape)
