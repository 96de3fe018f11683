"""The digits 0 and 1 of MNIST as sequences of tokens of dimension 64 (mwigo2026, appendix B).

A 28×28 image does not divide into tokens of 64 pixels, and the paper does not say how it was cut.
Two readings: ``flat``, the rows one after another, zeros added at the end, cut into 13 tokens; and
``patches``, two zeros added on every side and the 32×32 image cut into 16 patches of 8×8.

Nor does the paper say how grey levels x ∈ {0, …, 255} become numbers. Three usual ways: ``unit``,
x/255; ``standardised``, (x/255 − .1307)/.3081, with mean and deviation of all of MNIST's training
images; and ``signed``, 2x/255 − 1. What is added to an image is black, as its background is, and
is scaled with it: it is 0 only with ``unit``.

Each trial has its own random subset of m training images; all are evaluated on all test images.
The images: © Y. LeCun and C. Cortes, CC BY-SA 3.0; see ``train/data/README.md``.

>>> from dudley.core.philox import key, keys_tensor
>>> task = Mnist01(m=400, tokens="patches")
>>> data = task.sample(keys_tensor([key("mnist", 0), key("mnist", 1)]))
>>> data.inputs.shape, data.labels.shape
(torch.Size([2, 400, 16, 64]), torch.Size([2, 400]))
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar

import numpy as np

from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import InputError, UnknownName
from dudley.core.philox import Stream, permutations
from dudley.train.tasks.base import Labelled, Task, checked_cells
from dudley.train.tasks.registry import TASKS

SHA256 = "b9eff707bd164072187d0bf2af0b4d8d16778ba61485c321e10b6c880dcf0287"
TRAIN, TEST = 12_665, 2_115


@cache
def images(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 28, 28) and labels (N,) of ``train`` or ``test``, uint8, as they ship."""
    raw = files("dudley.train").joinpath("data", "mnist01.npz").read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SHA256:
        raise InputError("data/mnist01.npz", f"sha256 {SHA256}", digest, "install the package anew")
    with np.load(io.BytesIO(raw), allow_pickle=False) as file:
        return file[f"{split}_images"], file[f"{split}_labels"]


def flat(pictures: np.ndarray) -> np.ndarray:
    """(N, 28, 28) to (N, 13, 64): 784 pixels, 48 zeros."""
    return np.pad(pictures.reshape(-1, 784), ((0, 0), (0, 48))).reshape(-1, 13, 64)


def patches(pictures: np.ndarray) -> np.ndarray:
    """(N, 28, 28) to (N, 16, 64): patches by rows, the pixels of each by rows."""
    wide = np.pad(pictures, ((0, 0), (2, 2), (2, 2))).reshape(-1, 4, 8, 4, 8)
    return wide.transpose(0, 1, 3, 2, 4).reshape(-1, 16, 64)


TOKENS = {"flat": flat, "patches": patches}
PIXELS = {"unit": (0.0, 1.0), "standardised": (0.1307, 0.3081), "signed": (0.5, 0.5)}
"""Of each scaling: what is taken from x/255, and by what the rest is divided."""


@cache
def tokens_of(split: str, how: str, pixels: str = "unit") -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (N, T, 64), float32, their pixels scaled, and labels (N,), int64.

    >>> [float(tokens_of("test", "flat", pixels)[0].min()) for pixels in ("unit", "signed")]
    [0.0, -1.0]
    """
    pictures, labels = images(split)
    shift, scale = PIXELS[pixels]
    tokens = (torch.from_numpy(TOKENS[how](pictures)).float() / 255 - shift) / scale
    return tokens, torch.from_numpy(labels).long()


@TASKS.register("mnist01")
@dataclass(frozen=True)
class Mnist01(Task):
    """m of the 12,665 training images; the hold-out is the 2,115 test images."""

    name: ClassVar[str] = "mnist01"
    holdout: ClassVar[int] = TEST
    m: int  # training images, a random subset for each trial
    tokens: str = "flat"  # how an image is cut: flat or patches
    pixels: str = "unit"  # how grey levels are scaled: unit, standardised or signed

    def __post_init__(self):
        if size_of("m of mnist01", self.m) > TRAIN:
            raise InputError("m of mnist01", f"at most {TRAIN} images", self.m)
        if self.tokens not in TOKENS:
            raise UnknownName("tokenisation", self.tokens, TOKENS)
        if self.pixels not in PIXELS:
            raise UnknownName("scaling of pixels", self.pixels, PIXELS)

    def indices(self, keys: torch.Tensor) -> torch.Tensor:
        """The training images of every trial, (E, m): a random subset in random order."""
        return permutations(keys, Stream.INDICES, 0, TRAIN)[:, : self.m]

    def sample(self, keys):
        X, y = (part.to(keys.device) for part in tokens_of("train", self.tokens, self.pixels))
        chosen = self.indices(keys)
        return Labelled(X[chosen], y[chosen])

    def held_out(self, keys, cell_keys=None, cell=None, stream=Stream.HOLDOUT):
        """All test images, one copy for all trials, whatever the cells; there is one split."""
        checked_cells(keys, cell_keys, cell)
        if stream != Stream.HOLDOUT:
            raise InputError("split of mnist01", "HOLDOUT, the test images", stream.name)
        X, y = (part.to(keys.device)[None] for part in tokens_of("test", self.tokens, self.pixels))
        same_cell = torch.zeros(len(keys), dtype=torch.int64, device=keys.device)
        return Labelled(X, y.expand(len(keys), -1), same_cell)
