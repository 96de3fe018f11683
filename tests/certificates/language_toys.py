"""Small language models and documents that the tests share.

from certificates.language_toys import SMALL, TINY, frequencies, random_weights, sentences, zeros
"""

from __future__ import annotations

import numpy as np

from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.corpus import Corpus
from dudley.certificates.methods.language.gpt import Gpt

SMALL = Gpt(V=3, T=4, d=4, heads=2, window=2, width=8, layers=2)


def random_weights(gpt: Gpt, seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {name: generator.normal(0, 0.7, shape) for name, shape in gpt.shapes.items()}


TEXT = "a the cat dog bird sees hears eats and or house tree runs sleeps big small red"
WORDS = TEXT.split()
TINY = Gpt(V=32, T=24, d=8, heads=2, window=4, width=16)


def sentences(n: int, seed: int = 0) -> Corpus:
    """n different strings of words."""
    generator, texts = np.random.default_rng(seed), {}
    while len(texts) < n:
        words = generator.choice(WORDS, generator.integers(4, 8))
        texts.setdefault(" ".join(words), f"sentence {len(texts)}")
    return Corpus.of(list(texts), list(texts.values()), 24, 8)


def zeros(gpt: Gpt) -> Coded:
    return Coded.of(gpt, {name: np.zeros(shape) for name, shape in gpt.shapes.items()})


def frequencies(corpus: Corpus, sign: float = 1.0) -> Coded:
    """How often each symbol comes, in a few levels; no context. A sign of −1 turns it around."""
    often = np.bincount(corpus.codes.ravel(), minlength=TINY.V) + 1.0
    levels = np.clip(np.rint(np.log(often / np.median(often))), -2, 2)
    W = {name: np.zeros(shape) for name, shape in TINY.shapes.items()}
    return Coded.of(TINY, W | {"b": 0.25 * (sign * levels[:, None] + 0.0)})  # 0.0 for −0
