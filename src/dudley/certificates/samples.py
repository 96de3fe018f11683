"""Data sets drawn from the laboratory's tasks: a function of the task, the seed and the split.

>>> data = draw_examples({"name": "and", "T": 32, "s": 3}, 1000, seed=0)
>>> data.X.shape, int(data.y.sum())
((1000, 32), 116)
>>> draw_examples({"name": "mnist01", "tokens": "patches"}, 100, seed=0).X.shape
(100, 16, 64)
"""

from __future__ import annotations

from typing import Any

from dudley.certificates.data import Dataset
from dudley.certificates.pictures import pictures
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.philox import Stream, key, keys_tensor
from dudley.train.packed import unpack
from dudley.train.tasks.mnist import Mnist01
from dudley.train.tasks.planted import Planted
from dudley.train.tasks.registry import task_of

MOST = 200_000_000  # bits of a sample, which become as many bytes and then some


def draw_examples(task: dict[str, Any], n: int, seed: int, split: str = "train") -> Dataset:
    """n examples of a task's ``train`` split, or of its ``test`` split, disjoint in their draws.

    Planted functions of one seed share their hidden positions. MNIST's test split has 2,115 images
    and n of them, in the order of the file; with tokens ``"pictures"`` images come whole, and those
    set apart (`dudley.certificates.pictures`) never.
    """
    if split not in ("train", "test"):
        raise InputError("split", "train or test", split)
    if task == {"name": "mnist01", "tokens": "pictures"}:
        return pictures(n, seed, split)
    keys = keys_tensor([key("certify", task, seed)])
    training = split == "train"
    whole = task_of(
        task | ({"m": n} if training or task.get("name") == "mnist01" else {"holdout": n})
    )
    if not isinstance(whole, Planted | Mnist01):
        raise InputError("task to certify on", "a planted function or mnist01", task["name"])
    if isinstance(whole, Planted) and n * whole.T > MOST:
        got, fix = f"{n:,} examples of {whole.T:,}", "take fewer of either"
        raise InputError("bits of a sample", f"at most {MOST:,} in all", got, fix)
    stream = Stream.TEST if isinstance(whole, Planted) else Stream.HOLDOUT
    sample = whole.sample(keys) if training else whole.held_out(keys, stream=stream)
    X, y = sample.inputs[0, :n], sample.labels[0, :n].numpy()
    X = unpack(X, whole.T, torch.uint8) if isinstance(whole, Planted) else X
    return Dataset(X.numpy(), y)
