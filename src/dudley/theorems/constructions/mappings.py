"""Input mappings b ∈ {0,1}^T ↦ X(b) ∈ R^{(T+1)×d}; the last row is the [CLS] token.

Deterministic and trainable positions: X_t = E_{b_t} + P_t. Bag of vectors: X_t = b_t V_t, that is
diag(b)V (the paper prints V·diag(b) and V + diag(b), whose shapes do not fit; a permutation of
the tokens then changes nothing: the head sees a set).

E_0, E_1 and the [CLS] vector are the last three coordinate axes (the bag needs only [CLS]), so
they are exactly orthogonal to each other, to the v_i and to the output axes e_1, …, e_s.
Edelman, Goel, Kakade & Zhang, appendix B.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PositionMapping:
    """X(b) = E_b + P, [CLS] last.

    >>> PositionMapping(np.eye(2, 5), np.eye(5)[2:4], np.eye(5)[4])(np.array([[0, 1]]))[0]
    array([[1., 0., 1., 0., 0.],
           [0., 1., 0., 1., 0.],
           [0., 0., 0., 0., 1.]])
    """

    P: np.ndarray  # (T, d)
    E: np.ndarray  # (2, d)
    cls: np.ndarray  # (d,)

    @property
    def shape(self) -> tuple[int, int]:
        return self.P.shape[0], self.P.shape[1]

    def __call__(self, bits: np.ndarray) -> np.ndarray:
        """(N, T) bits to (N, T+1, d) tokens."""
        T, d = self.shape
        X = np.empty((len(bits), T + 1, d))
        X[:, :T] = self.P + self.E[np.asarray(bits, dtype=int)]
        X[:, T] = self.cls
        return X

    def tensors(self) -> dict[str, np.ndarray]:
        return {"input.P": self.P, "input.E": self.E, "input.cls": self.cls}


@dataclass(frozen=True)
class BagOfVectors:
    """X(b) = diag(b)V, [CLS] last.

    >>> BagOfVectors(np.eye(2, 3), np.eye(3)[2])(np.array([[0, 1]]))[0]
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    V: np.ndarray  # (T, d)
    cls: np.ndarray  # (d,)

    @property
    def shape(self) -> tuple[int, int]:
        return self.V.shape[0], self.V.shape[1]

    def __call__(self, bits: np.ndarray) -> np.ndarray:
        """(N, T) bits to (N, T+1, d) tokens."""
        T, d = self.shape
        X = np.empty((len(bits), T + 1, d))
        X[:, :T] = np.asarray(bits)[:, :, None] * self.V
        X[:, T] = self.cls
        return X

    def tensors(self) -> dict[str, np.ndarray]:
        return {"input.V": self.V, "input.cls": self.cls}


def positions(P: np.ndarray) -> PositionMapping:
    """Rows P with three new axes for E_0, E_1 and [CLS]."""
    T, dim = P.shape
    axes = np.eye(dim + 3)
    return PositionMapping(np.hstack([P, np.zeros((T, 3))]), axes[dim : dim + 2], axes[dim + 2])


def bag(V: np.ndarray) -> BagOfVectors:
    """Rows V with one new axis for [CLS]."""
    T, dim = V.shape
    return BagOfVectors(np.hstack([V, np.zeros((T, 1))]), np.eye(dim + 1)[dim])
