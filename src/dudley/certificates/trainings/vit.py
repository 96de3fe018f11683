"""``vit``: images to classes by a pre-LN Transformer over square patches.

X holds images (n, h, w), bytes or floats in [0, 1]; a row of h·w numbers is read as an image, too.
Each patch is mapped to d numbers, and its place is added. The rows of the last layer are normalised
and averaged (or the row of [CLS] is taken), and read out by a linear map that is 0 at the start.
Training bends and moves the images at random (`augment`).

>>> training = ViT(classes=10, size=(8, 8), layers=2, d=16, heads=2, hidden=32, steps=(2,))
>>> torch.manual_seed(0) and training.make_model()(torch.zeros(3, 8, 8, dtype=torch.uint8)).shape
torch.Size([3, 10])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dudley.certificates.trainings.augment import warped
from dudley.certificates.trainings.base import TRAININGS, expect_number
from dudley.certificates.trainings.descent import Descent
from dudley.core.backend import torch
from dudley.core.errors import InputError

POOLINGS = ("cls", "mean")


@TRAININGS.register("vit")
@dataclass(frozen=True, kw_only=True)
class ViT(Descent):
    """Final: the network, its training and what happens to the images."""

    name: ClassVar[str] = "vit"

    classes: int
    size: tuple[int, ...] = (28, 28)
    patch: int = 4
    layers: int = 4
    d: int = 64
    heads: int = 4
    hidden: int = 128
    pooling: str = "mean"
    steps: tuple[int, ...] = (1500,)
    initial_steps: int = 9000
    smoothing: float = 0.05
    rotation: float = 12.0
    shear: float = 0.15
    scale: float = 0.2
    shift: float = 0.08
    elastic: float = 0.07

    def __post_init__(self):
        super().__post_init__()
        expect_shape(self.layers, self.d, self.heads, self.hidden, self.classes)
        if len(self.size) != 2 or not all(1 <= side <= 1024 for side in self.size):
            raise InputError("size", "height and width, at most 1024", list(self.size))
        if self.patch < 1 or any(side % self.patch for side in self.size):
            raise InputError("patch", f"a divisor of {list(self.size)}", self.patch)
        if self.pooling not in POOLINGS:
            raise InputError("pooling", " or ".join(POOLINGS), self.pooling)
        expect_number("rotation", self.rotation, 0, 180)
        for name in ("shear", "scale", "shift", "elastic"):
            expect_number(name, getattr(self, name), 0, 0.9)

    def outputs(self) -> int:
        return self.classes

    def make_model(self) -> torch.nn.Module:
        return PatchTransformer(self)

    def fit(self, model: torch.nn.Module, X: np.ndarray, y: np.ndarray, step: int) -> None:
        h, w = self.size
        if X.dtype.kind not in "uf" or X[0].size != h * w:
            raise InputError("X", f"images of {h} × {w}, bytes or floats", f"{X.dtype} {X.shape}")
        bends = self.rotation, self.shear, self.scale, self.shift, self.elastic

        def bent(images: torch.Tensor) -> torch.Tensor:
            plain = brightness(images).reshape(-1, h, w)
            return warped(plain, *bends) if any(bends) else plain

        self.descend(model, X, y, step, prepare=bent)


class PatchTransformer(torch.nn.Module):
    """Patches plus places, pre-LN layers, pooling, a linear readout."""

    def __init__(self, of: ViT):
        super().__init__()
        self.size, self.patch, self.pooling = of.size, of.patch, of.pooling
        count = of.size[0] * of.size[1] // of.patch**2
        self.patches = torch.nn.Linear(of.patch**2, of.d)
        self.places = torch.nn.Parameter(torch.randn(count, of.d) * 0.02)
        if of.pooling == "cls":
            self.cls = torch.nn.Parameter(torch.randn(1, 1, of.d) * 0.02)
        layers = (PreNormLayer(of.d, of.heads, of.hidden) for _ in range(of.layers))
        self.layers = torch.nn.Sequential(*layers)
        self.norm, self.readout = torch.nn.LayerNorm(of.d), torch.nn.Linear(of.d, of.classes)
        torch.nn.init.zeros_(self.readout.weight)
        torch.nn.init.zeros_(self.readout.bias)

    def extra_repr(self) -> str:
        return f"size={self.size}, patch={self.patch}, pooling={self.pooling}"

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        (h, w), p = self.size, self.patch
        pixels = brightness(X).reshape(-1, h // p, p, w // p, p)
        rows = self.patches(pixels.transpose(2, 3).reshape(len(X), -1, p * p) - 0.5)  # n × T × d
        rows = rows + self.places
        if self.pooling == "cls":
            rows = torch.cat([self.cls.expand(len(X), -1, -1), rows], 1)
        rows = self.norm(self.layers(rows))
        return self.readout(rows[:, 0] if self.pooling == "cls" else rows.mean(1))


class PreNormLayer(torch.nn.Module):
    """x + attention(LN x), then x + MLP(LN x)."""

    def __init__(self, d: int, heads: int, hidden: int):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = torch.nn.LayerNorm(d), torch.nn.LayerNorm(d)
        self.mixing, self.mixed = torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(d, hidden), torch.nn.GELU(), torch.nn.Linear(hidden, d)
        )

    def extra_repr(self) -> str:
        return f"heads={self.heads}"

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        n, T, d = rows.shape
        mixing = self.mixing(self.attention_norm(rows))
        q, k, v = mixing.view(n, T, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        rows = rows + self.mixed(seen.transpose(1, 2).reshape(n, T, d))
        return rows + self.mlp(self.mlp_norm(rows))


def brightness(images: torch.Tensor) -> torch.Tensor:
    """Bytes as numbers in [0, 1]; floats as they are."""
    return images if images.is_floating_point() else images.float() / 255


def expect_shape(layers: int, d: int, heads: int, hidden: int, classes: int) -> None:
    """Refuse sizes that no Transformer has."""
    expect_number("layers", layers, 1, 256)
    expect_number("d", d, 1, 65_536)
    expect_number("hidden", hidden, 1, 1 << 20)
    expect_number("classes", classes, 2, 100_000)
    if heads < 1 or d % heads:
        raise InputError("heads", f"a divisor of d = {d}", heads)
