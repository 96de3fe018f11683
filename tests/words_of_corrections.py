"""Layers that share their weights, covered by hand: members become words of corrections.

Everything here is written out anew: the forward pass, the process that corrects the centres at
points which it recomputes each time, the decoder that follows a word without knowing the member,
and the exact number of words. ``check_words`` sets it against what the calculus claims.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

import dudley as du
import oracles
from dudley.audit.problem import signal_of
from dudley.calculus.assemble import compose
from dudley.calculus.compose import Chain
from dudley.calculus.repeat import Repeat
from dudley.classes.directions import lines

Word = tuple[tuple[int, int, int, int], ...]  # layer, point, line, sign


@dataclass(frozen=True)
class Layers:
    """x ↦ tanh(xW) in sequence: which of the shared matrices, of Frobenius norm ≤ B, in each."""

    blocks: tuple[int, ...]
    B: float
    ε: tuple[float, ...]  # of each matrix, on inputs of norm ≤ 1
    X: np.ndarray  # (n·T, d), of norm ≤ 1
    T: int = 1

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def network(self):
        """The same for the calculus: a Repeat where all layers are alike."""
        ball = du.Frobenius(self.B)
        dense = [du.Dense(self.d, ball.tied(str(j)), sigma="tanh") for j in self.matrices]
        if len(dense) == 1:
            return Repeat(dense[0], len(self.blocks))
        return Chain(tuple(dense[j] for j in self.blocks))

    @property
    def matrices(self) -> range:
        return range(len(self.ε))

    def points(self, centres) -> list[np.ndarray]:
        """What each layer sees when the centres stand for the matrices, on unit scale."""
        x, seen = self.X, []
        for layer, j in enumerate(self.blocks):
            norms = np.linalg.norm(x, axis=1, keepdims=True)
            x = x * np.minimum(1, self.B**layer / np.maximum(norms, 1e-300))
            seen.append(x / self.B**layer)
            x = np.tanh(x @ centres[j])
        return seen

    def letters(self, j: int, m: int) -> int:
        return 2 * m * len(self.X) * self.blocks.count(j)

    def choice(self, j: int) -> tuple[float, int, int]:
        """The stretch, the number of lines and of corrections with the fewest words."""
        best = None
        for t, log_m in lines(self.d):
            m = round(math.exp(log_m))
            K = oracles.ceil_ratio(self.B, over=self.ε[j], power=2, times=t) - 1
            size = K * math.log(1 + len(self.ε) * self.letters(j, m))
            best = min(best or (math.inf,), (size, t, m, K))
        return best[1:]

    def log_words(self) -> float:
        """log of the number of words with at most K_j letters of each matrix, exactly."""
        choices = [self.choice(j) for j in self.matrices]
        total = 0
        for counts in itertools.product(*(range(K + 1) for _, _, K in choices)):
            words = math.factorial(sum(counts))
            for j, k in enumerate(counts):
                words = words // math.factorial(k) * self.letters(j, choices[j][1]) ** k
            total += words
        return oracles.log_int(total)

    def corrected(self, centres, letter) -> list[np.ndarray]:
        """The centres after one letter: its point is what that layer sees now."""
        layer, i, line, sign = letter
        j = self.blocks[layer]
        t, m, _ = self.choice(j)
        v = oracles.directions(self.d, m, t)[line]
        x = self.points(centres)[layer][i]
        step = sign * self.ε[j] / math.sqrt(t) * np.outer(x, v)
        return [c + step if k == j else c for k, c in enumerate(centres)]

    def encode(self, members, rng) -> Word:
        """Correct anything that is too far off, chosen at random, until nothing is."""
        centres, word = [np.zeros_like(W) for W in members], []
        while True:
            wrong = []
            for layer, (j, x) in enumerate(zip(self.blocks, self.points(centres), strict=True)):
                r = x @ (members[j] - centres[j])
                off = np.linalg.norm(r, axis=1)
                wrong += [(layer, i, r[i]) for i in np.flatnonzero(off > self.ε[j])]
            if not wrong:
                return tuple(word)
            layer, i, r = wrong[rng.integers(len(wrong))]
            t, m, _ = self.choice(self.blocks[layer])
            along = oracles.directions(self.d, m, t) @ r
            line = int(np.abs(along).argmax())
            word.append((layer, int(i), line, int(np.sign(along[line]))))
            centres = self.corrected(centres, word[-1])

    def decode(self, word: Word) -> list[np.ndarray]:
        centres = [np.zeros((self.d, self.d)) for _ in self.ε]
        for letter in word:
            centres = self.corrected(centres, letter)
        return centres


def example(blocks: tuple[int, ...], ε: tuple[float, ...], seed: int) -> Layers:
    """Three examples of one token, and 2×2 matrices of Frobenius norm ≤ 1.5."""
    return Layers(blocks, 1.5, ε, oracles.inputs(np.random.default_rng(seed), 3, 2))


EXAMPLES = [
    example((0, 0, 0), (0.6,), 0),
    example((0, 0), (0.4,), 1),
    example((0, 1, 0, 1), (0.7, 0.5), 2),
    example((0, 1, 1, 0), (0.5, 0.9), 3),
]


def check_words(layers: Layers, count: int = 12, seed: int = 0) -> None:
    """Members become words within the counts, words become centres, and these are near enough."""
    n = len(layers.X) // layers.T
    entropy, _ = compose(layers.network, signal_of(1.0, layers.T, layers.d), ("adaptive",))
    claimed = sum(block.entropy(layers.ε[int(block.name)], n) for block in entropy.blocks)
    assert layers.log_words() <= claimed * (1 + 1e-9), "more words than claimed"
    rng = np.random.default_rng(seed)
    for _ in range(count):
        members = rng.standard_normal((len(layers.ε), layers.d, layers.d))
        members *= layers.B / np.linalg.norm(members, axis=(1, 2), keepdims=True)
        word = layers.encode(members, rng)
        for j in layers.matrices:
            used = sum(layers.blocks[layer] == j for layer, *_ in word)
            assert used <= layers.choice(j)[2], "more corrections than counted"
        centres = layers.decode(word)
        for j, x in zip(layers.blocks, layers.points(centres), strict=True):
            off = np.linalg.norm(x @ (members[j] - centres[j]), axis=1)
            assert (off <= layers.ε[j] * (1 + 1e-12)).all(), "the last centres are too far off"
