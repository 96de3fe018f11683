"""Recipes: for data of some kind, a named training and a schedule that were tried beforehand.

A recipe says all that ``dudley certify train --method pick-to-learn`` declares where the user
declares nothing: the settings of the training, whether rounds go on from each other, the picks of
each round, the rounds, and the tolerance. Those of ``and``, ``or`` and ``majority`` are those of
`results/certificates/picks.json`, chosen on draws that are in no record. That of ``mnist01`` was
chosen on the pictures that are set apart (`dudley.certificates.pictures`), to end in minutes on two
cores. Data of one's own have the plain recipe of their model.

Those of sources (``mnist``, ``imdb``, …) were chosen among ``TRIED`` on draws from the same pools,
so they pay for a choice among so many; Fashion-MNIST was not looked at. On ``cuda`` they are those
of the record of all methods, and on two cores the same with less training. The picks of a round
were tried at ``size`` examples; for n they are (n/size)^``power`` as many, and no fewer than 8.

``ordinary`` changes settings for ordinary training, which the hold-out beside needs: a schedule for
a few picks is none for thousands of examples.

>>> recipe = recipe_for("majority", "encoder")
>>> recipe.batches, recipe.rounds, recipe.settings["rate"]
((1,), 80, 0.004)
>>> recipe_for("my.npz", "vit").warm
True
>>> recipe_for("imdb", "hf", "cuda").declared(10_000)["batches"]
(16, 16, 32, 32, 64)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dudley.core.errors import InputError

BITS = {
    "pooling": "cls", "signed": True, "batch": 0, "steps": (150,), "least_rate": 1e-5,
    "at_least": 30, "warmup": 20,
}  # fmt: skip
AND = BITS | {
    "place_scale": 0.01, "token_scale": 0.1, "rate": 8e-3, "decay": 0.5, "penalty": 1e-3,
    "enough": 0.03,
}  # fmt: skip
MAJORITY = BITS | {
    "place_scale": 0.02, "token_scale": 0.02, "rate": 4e-3, "decay": 0.1, "enough": 0.01,
}  # fmt: skip
PATCHES = {"layers": 2, "d": 48, "heads": 4, "hidden": 96, "batch": 32, "steps": (150,)}
ORDINARY = {"batch": 64, "initial_steps": 400, "enough": 0.0}
BENT = {
    "rotation": 15.0, "shear": 0.25, "scale": 0.25, "shift": 0.1, "elastic": 0.12,
    "smoothing": 0.1,
}  # fmt: skip
FOUR_LAYERS = {"layers": 4, "d": 96, "heads": 6, "hidden": 192, "averaging": 0.995, "half": True}
TRIED = 20  # at least as many as recipes and stops were looked at, for any one source
FEWEST = 8  # picks of a round, where the recipe has as many


@dataclass(frozen=True)
class PickRecipe:
    """Settings of a training, and the schedule of pick-to-learn."""

    settings: Mapping[str, Any]
    batches: tuple[int, ...]
    rounds: int | tuple[int, ...]
    warm: bool = False
    tolerance: float = 1e-4
    ordinary: Mapping[str, Any] = field(default_factory=lambda: ORDINARY)
    among: int = 1
    size: int = 0
    power: float = 0.0

    def declared(self, n: int) -> dict[str, Any]:
        """What is declared of the rule for n examples."""
        factor = (n / self.size) ** self.power if self.size else 1.0
        table: dict[str, Any] = {
            "batches": tuple(max(min(b, FEWEST), round(b * factor)) for b in self.batches),
            "rounds": self.stops,
            "tolerance": self.tolerance,
        }
        return table | ({"among": self.among} if self.among > 1 else {})

    @property
    def stops(self) -> tuple[int, ...]:
        """The rounds after which one may stop."""
        return (self.rounds,) if isinstance(self.rounds, int) else self.rounds


TASKS = {
    ("and", "encoder"): PickRecipe(AND, (3, 1), 80),
    ("or", "encoder"): PickRecipe(AND, (3, 1), 80),
    ("majority", "encoder"): PickRecipe(MAJORITY, (1,), 80),
    ("mnist01", "vit"): PickRecipe(PATCHES, (8, 6), 8, warm=True),
}
LONG_DIGITS = PickRecipe(
    FOUR_LAYERS | BENT | {"steps": (1500,), "last_round": 8, "last_steps": 6000},
    (200, 100), 8, warm=True, tolerance=1e-3, ordinary={"initial_steps": 5000, "enough": 0.0},
    among=TRIED, size=60_000, power=0.5,
)  # fmt: skip
DIGITS = replace(
    LONG_DIGITS,
    settings=PATCHES | BENT | {"batch": 64, "steps": (300,)},
    ordinary=ORDINARY | {"initial_steps": 1500},
)
LONG_MAILS = PickRecipe(
    {"steps": (30,), "epochs": 6.0, "smoothing": 0.1, "averaging": 0.98, "half": True},
    (16,), (5, 7, 9), warm=True, tolerance=1e-3,
    ordinary={"initial_steps": 60, "epochs": 3.0, "averaging": 0.0, "smoothing": 0.0},
    among=TRIED,
)  # fmt: skip
MAILS = replace(
    LONG_MAILS,
    settings={"batch": 16, "steps": (20,), "epochs": 3.0, "smoothing": 0.1},
    rounds=5,
    ordinary={**LONG_MAILS.ordinary, "initial_steps": 30, "epochs": 1.0},
)
LONG_REVIEWS = PickRecipe(
    {"steps": (20,), "epochs": 2.0, "rate": 1e-4, "smoothing": 0.1, "averaging": 0.99,
     "half": True},
    (64, 64, 128, 128, 256), 10, warm=True, tolerance=1e-3,
    ordinary={"initial_steps": 60, "epochs": 2.0, "averaging": 0.0, "smoothing": 0.0},
    among=TRIED, size=40_000, power=1.0,
)  # fmt: skip
REVIEWS = replace(
    LONG_REVIEWS,
    settings={"batch": 16, "steps": (20,), "epochs": 2.0, "rate": 1e-4, "smoothing": 0.1},
    rounds=5,
    ordinary={**LONG_REVIEWS.ordinary, "initial_steps": 30, "epochs": 1.0},
)
ON_CPU = {
    ("mnist", "vit"): DIGITS,
    ("fashion-mnist", "vit"): replace(DIGITS, among=1),
    ("spam-assassin", "hf"): MAILS,
    ("imdb", "hf"): REVIEWS,
    ("movie-reviews", "hf"): REVIEWS,
}
ON_CUDA = {
    ("mnist", "vit"): LONG_DIGITS,
    ("fashion-mnist", "vit"): replace(LONG_DIGITS, among=1),
    ("spam-assassin", "hf"): LONG_MAILS,
    ("imdb", "hf"): LONG_REVIEWS,
    ("movie-reviews", "hf"): LONG_REVIEWS,
}
MODELS = {
    "encoder": PickRecipe({"batch": 64, "steps": (200,), "rate": 1e-3}, (16,), 20, warm=True),
    "vit": PickRecipe(PATCHES, (16,), 12, warm=True),
    "hf": PickRecipe({"batch": 32, "steps": (60,)}, (32,), 12, warm=True),
}


def recipe_for(task: str, model: str, device: str = "cpu") -> PickRecipe:
    """The recipe of a task, or else the one of a model: ``encoder``, ``vit``, ``hf``."""
    tasks = TASKS | (ON_CUDA if device == "cuda" else ON_CPU)
    if (task, model) in tasks:
        return tasks[task, model]
    if model not in MODELS:
        return PickRecipe({}, (16,), 20, warm=True)
    return MODELS[model]


def model_for(X: np.ndarray) -> str:
    """The model that reads such examples: ``encoder`` for whole numbers, ``vit`` for images."""
    if X.ndim == 3:
        return "vit"
    if X.ndim == 2 and X.dtype.kind in "bui":
        return "encoder"
    fix = "reshape images to (n, h, w), or train in Python: du.certify_training"
    raise InputError("X", "images (n, h, w), or rows of whole numbers (n, T)", X.shape, fix)


def shape_of(
    model: str, X: np.ndarray, classes: int, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings that follow from the kind of the examples: sizes, and the number of classes.

    Examples that a model of this kind cannot read are refused.
    """
    shape: dict[str, Any] = {"classes": classes}
    if model == "vit":
        size = settings.get("size", X.shape[1:])
        sides = list(size) if isinstance(size, list | tuple) else [size]
        if len(sides) != 2 or X[0].size != math.prod(s for s in sides if isinstance(s, int)):
            fix = "for images that come as rows, declare their size: --set size=[8,8]"
            raise InputError("X for vit", "images (n, height, width)", f"shape {X.shape}", fix)
        shape["size"] = tuple(sides)
    elif model in ("encoder", "hf"):
        if X.ndim != 2 or X.dtype.kind not in "bui":
            got = f"{X.dtype} of shape {X.shape}"
            raise InputError(f"X for {model}", "rows of whole numbers (n, T)", got)
        if model == "encoder":
            shape["length"] = int(X.shape[1])
    return shape
