"""Majority classifiers side by side: attention over bits folded and collapsed, always.

Nothing in this network is random per token, so training and evaluation both are one product of
the data matrix with a table (see `collapse`). With z_cls the [CLS] row, for each head h:

    q_h = z_cls W_Q^h + b_Q^h,   u_h = W_K^h q_h/√k,   a[x] = ⟨token_x, u_h⟩,   p[t] = ⟨P_t, u_h⟩,
    M_h = W_v^h W_c^h,   V[x] = token_x M_h,   Π[t] = P_t M_h,
    logits = relu(Σ_h attended_h + b_v W_c + b_c) W_1 W + b_1 W + b.

b_K^h adds ⟨b_K^h, q_h⟩/√k to all scores of a head, which a softmax does not see: it is left out.
Every fold is a product of small matrices, made once a batch: what is left for an example are
2T·H(d+1) operations, and a few on rows of width d. The token vectors are drawn by the trial's key,
on the processor in float64, so that they are the same on every device.

>>> from dudley.train.packed import pack
>>> from dudley.core.philox import key, keys_tensor
>>> keys = keys_tensor([key("majority", trial) for trial in range(3)])
>>> classifiers = MajorityEnsemble(keys, T=20, d=8, k=8)
>>> weights = classifiers.start(keys)
>>> bits = torch.ones(5, 20)  # five examples for all; (3, 5, 20): each trial has its own
>>> classifiers.evaluate(weights, pack(bits)).shape
torch.Size([3, 5, 2])
>>> member = classifiers.member(weights, 2)
>>> logits = classifiers.forward(weights, pack(bits))[2]
>>> bool((member(member.tokens(bits))[:, 0] - logits).norm() < 1e-5)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.philox import Stream, normal
from dudley.models.initial import sinusoidal
from dudley.models.majority_classifier import MajorityClassifier, orthogonal_tokens
from dudley.train.ensemble.base import Ensemble
from dudley.train.ensemble.collapse import Collapsed, collapse_attention, fits, fused_collapse
from dudley.train.ensemble.registry import ENSEMBLES
from dudley.train.ensemble.rows import Shared, at_a_time, of_members
from dudley.train.packed import width


@dataclass(frozen=True, eq=False)
class MajorityEnsemble(Ensemble):
    """Packed bits (E, B, W), (B, W) for all, or `Shared` ↦ logits (E, B, classes).

    ``lengths``: members read the first so many of T bits, their [CLS] right after them.
    """

    keys: torch.Tensor  # (E, 2): the trials, whose token vectors are part of the network
    T: int  # bits of an input, from the task
    d: int = 64  # width of a token
    H: int = 2  # attention heads
    k: int = 64  # width of a head
    width: int = 64  # width of the hidden layer
    classes: int = 2  # logits
    lengths: tuple[int, ...] | None = None  # bits that each member reads, from the tasks
    unit: str = "l1"  # norm in which token vectors have length 1

    many_small: ClassVar[bool] = True

    def __post_init__(self):
        if self.keys.ndim != 2 or self.keys.shape[1] != 2:
            raise InputError("keys", "shape (E, 2)", tuple(self.keys.shape))
        if self.lengths is not None:
            if len(self.lengths) != len(self.keys) or min(self.lengths) < 1:
                raise InputError("lengths", f"{len(self.keys)} numbers ≥ 1", self.lengths)
            if max(self.lengths) > self.T:
                raise InputError("lengths", f"at most T = {self.T}", max(self.lengths))
        self.twin()  # refuses sizes that do not fit

    def twin(self, e=0) -> MajorityClassifier:
        T = self.lengths[e] if self.lengths else self.T
        sizes = self.d, self.H, self.k, self.width, self.classes
        return MajorityClassifier(T, *sizes, unit=self.unit)

    @cached_property
    def table(self) -> torch.Tensor:
        """The vectors of tokens 0, 1 and [CLS] of every member, (E, 3, d)."""
        drawn = normal(self.keys.cpu(), Stream.TOKENS, 0, 3 * self.d).double()
        return orthogonal_tokens(drawn.reshape(-1, self.d, 3), self.unit).to(self.keys.device)

    @cached_property
    def positions(self) -> torch.Tensor:
        """Rows (1, T+1, d), [CLS] last; with ``lengths`` (E, T+1, d), [CLS] where they end."""
        P = sinusoidal(self.T + 1, self.d)[None]
        if self.lengths:
            P = torch.stack([torch.cat([P[0, :-1], P[0, t : t + 1]]) for t in self.lengths])
        return P.to(self.keys.device)

    @cached_property
    def vectors(self) -> torch.Tensor:
        """Token vectors above positions, (E, 3+T+1, d): all that the folds are applied to."""
        P = self.positions.expand(len(self.keys), -1, -1)
        return torch.cat([self.table, P], 1)

    @cached_property
    def words(self) -> torch.Tensor:
        """How many words of a row each member reads, (E,) int32."""
        used = [width(t) for t in self.lengths or [self.T] * len(self.keys)]
        return torch.tensor(used, dtype=torch.int32, device=self.keys.device)

    @cached_property
    def indices(self) -> torch.Tensor:
        """0, 1, …, E−1: whose rows a member reads where each has its own."""
        return torch.arange(len(self.keys), device=self.keys.device)

    @cached_property
    def padding(self) -> torch.Tensor:
        """−10³⁰ at positions past a member's length, else 0: (E, 1, T+1) or (1, 1, T+1)."""
        t = torch.arange(self.T + 1)
        lengths = torch.tensor(self.lengths or [self.T])
        past = (t >= lengths[:, None]) & (t < self.T)
        return (past * -1e30)[:, None].to(self.keys.device)

    def of(self, members):
        lengths = self.lengths and tuple(self.lengths[e] for e in members.tolist())
        return replace(self, keys=self.keys[members], lengths=lengths)

    def constants(self, e):
        P = sinusoidal(self.twin(e).T + 1, self.d)
        return {"table": self.table[e].cpu(), "positions": P}

    def forward(self, weights, inputs, noise=None):
        words = of_members(inputs, 3, len(self.keys))
        return _classify(weights, self._attention(weights).attend(words))

    def evaluate(self, weights, inputs, alive=None):
        attention = self._attention(weights)
        if fits(attention.weighted) and not torch.is_grad_enabled():
            assert fused_collapse is not None
            shared = isinstance(inputs, Shared)
            words = inputs.rows if shared else of_members(inputs, 3, len(self.keys))
            cell = inputs.cell if shared else self.indices if len(words) > 1 else 0 * self.indices
            reads = self.words if alive is None else self.words * alive
            return fused_collapse.read(words, cell, reads, attention, *_fold_tail(weights))
        if not isinstance(inputs, Shared) or len(inputs.members) == 1:
            return self._read(weights, attention, of_members(inputs, 3, len(self.keys)))
        out = attention.weighted.new_empty(len(self.keys), inputs.rows.shape[1], self.classes)
        for words, members in zip(inputs.rows, inputs.members, strict=True):
            part = {name: W[members] for name, W in weights.items()}
            out[members] = self._read(part, attention.of(members), words[None])
        return out

    def _read(self, weights, attention: Collapsed, words: torch.Tensor) -> torch.Tensor:
        few = at_a_time(2 * len(words) * self.T + len(attention.low) * self.H * self.d, words)
        parts = [_classify(weights, attention.attend(part)) for part in words.split(few, 1)]
        return torch.cat(parts, 1)

    def numbers_of_example(self, T: int) -> int:
        return T * (4 + 3 * self.H) + 4 * self.H * (self.d + 1) + 6 * self.width

    def _attention(self, weights) -> Collapsed:
        """Keys folded into the query of [CLS], values and output matrix into the table."""
        W_Q, W_K, W_v, W_c, b_Q = (
            weights[f"weights.0.{name}"] for name in ("W_Q", "W_K", "W_v", "W_c", "b_Q")
        )
        Z = self.vectors.to(W_Q.dtype)  # (E, 3+T+1, d)
        q = self._by_head(_times(Z[:, 2:3] + Z[:, -1:], W_Q) + b_Q) / math.sqrt(self.k)
        u = (self._by_head(W_K) * q).sum(-1, keepdim=True)  # (E, H, d, 1)
        M = self._by_head(W_v) @ W_c.unflatten(1, (self.H, self.k))  # (E, H, d, d)
        even = u.new_zeros(*u.shape[:-1], -(self.d + 1) % 4)  # tensor cores want whole fours
        folds = torch.cat([M, u, even], -1).transpose(1, 2).flatten(2)  # (E, d, H(d+4))
        read = (Z @ folds).unflatten(2, (self.H, -1)).transpose(1, 2)  # (E, H, 3+T+1, d+4)
        read = read[..., : self.d + 1].split([3, self.T + 1], 2)
        (V, a), (Π, p) = (part.split([self.d, 1], -1) for part in read)
        return collapse_attention(a[..., 0], p[..., 0] + self.padding.to(W_Q.dtype), V, Π)

    def _by_head(self, Y: torch.Tensor) -> torch.Tensor:
        """(E, rows, H·k) as (E, H, rows, k)."""
        return Y.unflatten(2, (self.H, self.k)).transpose(1, 2)


def _classify(weights, attended: torch.Tensor) -> torch.Tensor:
    """Logits (E, B, classes) from the sums of the heads, (E, B, d)."""
    bias, W, b = _fold_tail(weights)
    return torch.relu(attended + bias) @ W + b


def _fold_tail(weights) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What is added before the ReLU, and the one affine map after it: W_1 and W are one matrix."""
    b_v, W_c, b_c = (weights[f"weights.0.{name}"] for name in ("b_v", "W_c", "b_c"))
    W_1, b_1, W, b = (weights[f"weights.{n}"] for n in ("2.W_1", "2.b_1", "3.W", "3.b"))
    return _times(b_v, W_c) + b_c, W_1 @ W, _times(b_1, W) + b


def _times(v: torch.Tensor, W: torch.Tensor) -> torch.Tensor:
    """Rows v (E, 1, a) times W (E, a, b), (E, 1, b): sums that a compiler joins with others."""
    return (v.mT * W).sum(1, keepdim=True)


@ENSEMBLES.register("majority-classifier")
def build(keys, tasks, **sizes) -> MajorityEnsemble:
    lengths = tuple(task["T"] for task in tasks)
    return MajorityEnsemble(keys, max(lengths), lengths=lengths, **sizes)
