"""Heads on bits side by side, for `validity.py`: as they are, and with Gaussian weights.

The head is f(x) = Σ_t a_t u·x_t, a = softmax_t(v·x_t), on one-hot rows of (bit, place) and [CLS].
With e = exp(v) its two sums over the rows of T bits are linear in the bits
(`dudley.certificates.fit` has the same closed form for one head).

The randomised head has weights N(w, σ²), drawn anew for every example. Given its scores, f is
Gaussian with mean Σ a_t u_t and variance Σ a_t² σ_t², so only scores and one number are drawn. Its
second output is KL(Q‖P)/n at the best scale s of the prior N(0, s²) for each matrix,

    s² = mean(w² + σ²),   KL = Σ ln(s/σ),

which the loss ``gibbs`` adds to λ·sigmoid(−y f/τ), Catoni's objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from dudley.certificates.fit.forward import blank
from dudley.certificates.fit.heads import tables
from dudley.core.backend import torch
from dudley.core.philox import Stream, normal
from dudley.models.base import Model
from dudley.models.initial import ConstantLaw, Normal
from dudley.train.ensemble.base import Ensemble, draw_weight
from dudley.train.ensemble.registry import ENSEMBLES
from dudley.train.ensemble.rows import of_members
from dudley.train.losses import LOSSES
from dudley.train.packed import unpack

NAMES = ("v", "W_v")
λ, τ = 2.0, 0.3


class Twin(Model):
    """One head with a fixed query on T bits."""

    def __init__(self, T: int, start: float):
        empty = blank(tables({"name": "bits", "T": T}), {"name": "bits", "T": T})
        self.start = start
        super().__init__(empty.network, 2 * T + 1)

    def law(self, name, shape):
        return Normal(self.start)


@dataclass(frozen=True)
class Heads(Ensemble):
    """Packed bits (E, N, W) ↦ (E, N, 1)."""

    T: int
    start_std: float = 0.1

    def twin(self, e=0) -> Twin:
        return Twin(self.T, self.start_std)

    def forward(self, weights, inputs, noise=None):
        v, u = (weights[f"weights.0.{name}"] for name in NAMES)
        bits = unpack(of_members(inputs, 3, len(v)), self.T, v.dtype)  # (E, N, T)
        e = torch.exp(v - v.amax(1, keepdim=True).detach())
        top, below = _sums(torch.cat([e * u, e], 2), bits).split(1, 2)
        return top / below


@dataclass(frozen=True)
class RandomHeads(Ensemble):
    """Packed bits (E, N, W) ↦ a draw of f and KL(Q‖P)/n, (E, N, 2)."""

    T: int
    n: int
    start_std: float = 0.1
    sigma: float = 0.2

    def twin(self, e=0) -> Twin:
        return Twin(self.T, self.start_std)

    @cached_property
    def shapes(self):
        height = 2 * self.T + 1
        return {f"{part}.{name}": (height, 1) for part in ("mean", "log_sigma") for name in NAMES}

    def start(self, keys):
        laws = {"mean": Normal(self.start_std), "log_sigma": ConstantLaw(math.log(self.sigma))}
        return {
            name: draw_weight(laws[name.split(".")[0]], shape, keys, number)
            for number, (name, shape) in enumerate(self.shapes.items())
        }

    def forward(self, weights, inputs, noise=None):
        assert noise is not None
        w = [weights[f"mean.{name}"] for name in NAMES]
        log_σ = [weights[f"log_sigma.{name}"] for name in NAMES]
        bits = unpack(of_members(inputs, 3, len(w[0])), self.T, w[0].dtype)
        (E, N, _), T = bits.shape, self.T
        z = normal(noise.keys, Stream.DROPOUT, noise.step, N * (T + 2)).reshape(E, N, T + 2)
        v, σ_v, u, σ_u = (_read(W, bits) for W in (w[0], log_σ[0].exp(), w[1], log_σ[1].exp()))
        a = torch.softmax(v + σ_v * z[..., : T + 1], 2)
        f = (a * u).sum(2) + ((a * σ_u) ** 2).sum(2).sqrt() * z[..., T + 1]
        nats = (_nats(w[0], log_σ[0]) + _nats(w[1], log_σ[1])) / self.n
        return torch.stack([f, nats.expand(E, N)], 2)


def gibbs(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """λ·sigmoid(−y f/τ) + KL/n."""
    f, nats = outputs.unbind(2)
    return λ * torch.sigmoid(torch.where(labels > 0, -f, f) / τ) + nats


def register() -> None:
    """Make the ensembles and the loss known to configurations, once."""
    if "bit-head" not in ENSEMBLES:
        ENSEMBLES.register("bit-head")(lambda keys, tasks: Heads(tasks[0]["T"]))
        ENSEMBLES.register("random-bit-head")(
            lambda keys, tasks: RandomHeads(tasks[0]["T"], tasks[0]["m"])
        )
    if "gibbs" not in LOSSES:
        LOSSES.register("gibbs")(gibbs)


def _sums(W: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """The entries of W (E, 2T+1, c) that the rows of each example read, added up: (E, N, c)."""
    T = bits.shape[2]
    low, high, cls = W.split([T, T, 1], 1)
    return bits @ (high - low) + low.sum(1, keepdim=True) + cls


def _read(W: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """What each row of each example reads of W (E, 2T+1, 1): (E, N, T+1)."""
    T = bits.shape[2]
    low, high, cls = W[..., 0][:, None].split([T, T, 1], 2)
    rows = low + bits * (high - low)
    return torch.cat([rows, cls.expand(-1, bits.shape[1], -1)], 2)


def _nats(w: torch.Tensor, log_σ: torch.Tensor) -> torch.Tensor:
    """KL of one matrix at the best scale, (E, 1)."""
    log_s = (w**2 + (2 * log_σ).exp()).mean(1, keepdim=True).log() / 2
    return (log_s - log_σ).sum(1)
