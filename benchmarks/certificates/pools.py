"""The pools that `methods.py` draws from, as arrays, and what a task's facts are.

``export`` reads the packages through `dudley.certificates.sources`, removes duplicates, makes token
ids, and leaves an ``.npz`` for each pool: a machine without the packages needs no more.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.data import Dataset
from dudley.certificates.samples import draw_examples

PACKAGES = {
    "mnist": ("mnist", None),
    "fashion": ("fashion-mnist", None),
    "spam": ("spam-assassin", "head"),
    "imdb": ("imdb", "ends"),
}
LENGTH = 256  # tokens of a text; what is longer is cut


@dataclass(frozen=True, eq=False)
class FreshPool:
    """A sample, what was not drawn, and the size of the pool (None: independent draws)."""

    sample: Dataset
    fresh: Dataset
    size: int | None


def export(pools: Path) -> None:
    """Write every pool, and the folder of MiniLM, from the packages (`DUDLEY_DATA`)."""
    from dudley.certificates.sources.base import SOURCES
    from dudley.certificates.sources.mails import untagged
    from dudley.certificates.sources.model import model_folder
    from dudley.certificates.sources.tokens import tokenised

    model = model_folder()
    pools.mkdir(parents=True, exist_ok=True)
    shutil.copytree(model, pools / "minilm", dirs_exist_ok=True)
    for name, (source, keep) in PACKAGES.items():
        pool = SOURCES[source]().pool()
        if keep:
            texts = [untagged(text) for text in pool.X]  # reviews have <br />
            pool = pool.encoded(tokenised(texts, model, LENGTH, keep=keep))
        print(pool.provenance, pool.removal)
        np.savez_compressed(pools / f"{name}.npz", X=pool.X, y=pool.y, **pool.units)


def draw(pools: Path, task: str, n: int, seed: int) -> FreshPool:
    """n examples of a task by a seed; every subset of a pool is as likely as any other."""
    if task in ("and", "majority"):
        config = {"name": task, "T": 32, "s": 3}
        sample, fresh = (
            draw_examples(config, count, seed, split)
            for count, split in ((n, "train"), (100_000, "test"))
        )
        return FreshPool(sample, fresh, None)
    file = {"mnist01": "mnist", "threads": "spam"}.get(task, task)
    with np.load(pools / f"{file}.npz") as arrays:
        X, y = arrays["X"], arrays["y"].astype(np.int64)
        if task == "threads":  # the first mail of each, in the order of the pool
            firsts = np.unique(arrays["thread"], return_index=True)[1]
            X, y = X[firsts], y[firsts]
    if task == "mnist01":
        X, y = X[y < 2], y[y < 2]
    if X.ndim == 2:
        X = X.astype(np.int32)
    order = np.random.default_rng([seed, len(y)]).permutation(len(y))
    drawn, rest = order[:n], order[n:]
    return FreshPool(Dataset(X[drawn], y[drawn]), Dataset(X[rest], y[rest]), len(y))


def facts_of(task: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The words of a task, and how often guessing errs."""
    from recipes import TASKS

    unit = TASKS[task]
    guessing = next(row["guessing"] for row in rows if row["task"] == task)
    return {"name": task, "title": unit.title, "model": unit.model,
            "population": unit.population, "guessing": guessing, "fresh": unit.fresh}  # fmt: skip
