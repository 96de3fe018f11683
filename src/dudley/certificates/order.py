"""Order: rows in an order that nobody chose.

Whoever hands in a file could order its rows after a look at a model. They could move erring rows
into the part that is not counted, and right ones to where a fixed seed will look. So nothing may
depend on the order of a file. Rows are first sorted by their bytes; equal rows are interchangeable,
so ties do not matter. Then they are permuted, or drawn, by numbers that are a function of a text.

**A seed is drawn at random.** Given the bag of examples, a *uniform* order makes them independent
draws again. That is a statement about the draw of the seed as well. Of one fixed seed it says
nothing, however early it was fixed: a place of the sorted rows holds an order statistic. Say two
examples err with probability 1/2 each, and erring rows are sorted last. The example that a fixed
seed takes first then errs with probability 1/4 or 3/4, never 1/2:

>>> bags = [sorted(errors) for errors in ((0, 0), (0, 1), (1, 0), (1, 1))]
>>> def first(seed):
...     place = permutation(f"a seed {seed}", 2)[0]
...     return sum(errors[place] for errors in bags) / 4
>>> first(0), first(1), sum(map(first, range(1000))) / 1000
(0.25, 0.75, 0.4985)

So there is one rule. A seed that is not given is drawn from the entropy of the operating system
when a certificate is declared, before the data are looked at, and written down; a run that goes on
reads it back (`declared_seed`). A seed that is given is declared to have been drawn at random.
Every certificate that needs such an order lists this among its declarations (`seed_declared`).
SHAKE-128 stands in for a random function, so that different texts with one seed give independent
orders.

**What needs no seed.** Bounds that treat all examples alike: a count, a sum, a product of fixed
bets. Keys of pick-to-learn, which copies share (`methods.pick_to_learn.tags`). Draws whose
text has a hash of the model and of the data, which both would have to be searched to change them;
that neither was searched is declared there (`methods.pac_bayes.monte_carlo`, `methods.language`,
`around.draws`).

>>> permutation("a seed", 5)
array([4, 2, 0, 3, 1])
>>> draw("a seed", 5, 1000)
array([...])
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from dudley.core.errors import InputError

SEEDS = 1 << 32


def declared_seed(seed: int | None, recorded: int | None = None) -> int:
    """The seed that was given, or that of the run that goes on, or a fresh one."""
    if seed is None:
        seed = secrets.randbelow(SEEDS) if recorded is None else recorded
    if not 0 <= seed < SEEDS:
        raise InputError("seed", "a whole number below 2^32", seed)
    return seed


def seed_declared(seed: int) -> str:
    """What a certificate declares of the seed of an order that it needs."""
    return (
        f"the seed {seed} of the order was drawn at random, without a look at the data: "
        "the claim is over this draw as well"
    )


def canonical(*arrays: np.ndarray) -> np.ndarray:
    """The order that sorts rows by their bytes: of the first array, then of the second, …"""
    return np.argsort(_opaque(np.concatenate([_bytes(A) for A in arrays], axis=1)), kind="stable")


def counts(X: np.ndarray) -> np.ndarray:
    """How often each different row comes (−0.0 is 0.0)."""
    return np.unique(_opaque(_bytes(X + 0.0 if X.dtype.kind == "f" else X)), return_counts=True)[1]


def permutation(seed: str, n: int) -> np.ndarray:
    """An order of n things: the one that sorts the first n numbers of SHAKE-128 of the seed."""
    return np.argsort(_numbers(seed, n), kind="stable")


def draw(seed: str, count: int, n: int) -> np.ndarray:
    """``count`` of n things, with replacement: the numbers of SHAKE-128 of the seed, modulo n."""
    return (_numbers(seed, count) % np.uint64(n)).astype(np.int64)


def _numbers(seed: str, count: int) -> np.ndarray:
    return np.frombuffer(hashlib.shake_128(seed.encode()).digest(8 * count), "<u8")


def _bytes(X: np.ndarray) -> np.ndarray:
    """(n, bytes of a row), little-endian."""
    rows = np.ascontiguousarray(X).astype(X.dtype.newbyteorder("<"), copy=False)
    return rows.reshape(len(X), -1).view(np.uint8)


def _opaque(rows: np.ndarray) -> np.ndarray:
    """Each row of bytes as one value, compared byte by byte."""
    return np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel()
