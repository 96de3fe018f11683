"""The digits 0 and 1 of MNIST as pictures, some of them set apart from every certified sample.

What is declared for MNIST (the encoding, the network) was tried out on 1,665 of the 12,665 training
images, the first of a fixed random order. A sample is n of the other 11,000, every subset being as
likely as any other: what was chosen on the images apart was fixed before the data and costs
nothing. Two networks on patches had been tried on samples of all images before, and were given up:
so the one in use is one of three, and certificates pay ln 3 for that: `DECLARED` goes with every
sample. The 2,115 test images are looked at beside a certificate.

>>> pictures(100, seed=0).X.shape, pictures(split="apart").n
((100, 28, 28), 1665)
"""

from __future__ import annotations

import numpy as np

from dudley.certificates.data import Dataset
from dudley.core.errors import InputError
from dudley.core.philox import Stream, key, keys_tensor, permutations
from dudley.train.tasks.mnist import TEST, TRAIN, images

APART = 1_665
TRIED = 3  # networks, two of them given up after a look at samples of all images
SPLITS = ("train", "test", "apart")
POPULATION = (
    "handwritten 0 and 1 as in MNIST's training set; what is declared was chosen on 1,665 of its "
    "pictures that are in no sample"
)
DECLARED = {"population": POPULATION, "among": TRIED}


def pictures(n: int | None = None, seed: int = 0, split: str = "train") -> Dataset:
    """n pictures (all of them without n), uint8, and their labels; ``train`` is never ``apart``."""
    if split not in SPLITS:
        raise InputError("split", " or ".join(SPLITS), split)
    most = {"train": TRAIN - APART, "test": TEST, "apart": APART}[split]
    n = most if n is None else n
    if not 1 <= n <= most:
        fix = f"{APART:,} training images are set apart" if split == "train" else ""
        raise InputError(f"pictures of the {split} split", f"1 to {most:,}", n, fix)
    if split == "test":
        chosen = np.arange(n)
    else:
        apart = _order("certify.other", "mnist01")[:APART]
        shuffled = _order("certify.pictures", "mnist01", seed)
        chosen = (apart if split == "apart" else shuffled[~np.isin(shuffled, apart)])[:n]
    X, y = images("test" if split == "test" else "train")
    return Dataset(X[chosen], y[chosen].astype(np.int64))


def _order(*names) -> np.ndarray:
    """A random order of the training images, a function of the names."""
    return permutations(keys_tensor([key(*names)]), Stream.INDICES, 0, TRAIN)[0].numpy()
