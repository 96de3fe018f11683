"""Attention of one row over bits, for a whole batch, as one product with the 0/1 data matrix.

The [CLS] row asks T tokens and itself; token t has score a[x_t] + p[t] and value V[x_t] + Π[t],
x_t its bit. Call *high* the bit with the larger a. A row's sums then are sums over its high bits:
with g_t = e^{p_t − max p},  n = Σ_{x_t high} g_t,  N = Σ_{x_t high} g_t Π_t,

    Σ_t e^{score}       = e^{a_low} Σ_t g_t     + (e^{a_high} − e^{a_low}) n,
    Σ_t e^{score} Π_t   = e^{a_low} Σ_t g_t Π_t + (e^{a_high} − e^{a_low}) N,

and tokens of either bit have masses e^{a_high} n and e^{a_low}(Σg − n). So (N, n) is the matrix of
bits and their complements, B×2T, times a table of H(D+1) columns for each member, in which a head
has rows for its high bit only; nothing per token and example is made but a bit. Counting high bits
makes every term positive: nothing cancels, also for a row that has none of them. Every position is
in every row, so a row's largest score is at least max p + a_low, and what g_t loses by underflow
weighs at most T e^{|a_1 − a_0|} times the smallest number of the type: scores within ±80 are safe
in float32, and within ±700 in float64.

>>> from dudley.core.backend import torch
>>> from dudley.train.packed import pack
>>> flat = torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)  # two tokens and [CLS], all of one score
>>> V, Π = torch.tensor([0.0, 3.0, 30.0])[:, None], torch.zeros(3, 1)
>>> table = collapse_attention(*flat, V[None, None], Π[None, None])
>>> table.attend(pack(torch.tensor([[[1, 1], [0, 1]]]))).flatten()  # (3+3+30)/3, (0+3+30)/3
tensor([12., 11.])
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from dudley.core.backend import torch
from dudley.train.packed import unpack

try:
    from dudley.train.ensemble.kernels import fused_collapse
except ImportError:  # no Triton
    fused_collapse = None

FLOOR = -80.0  # e^−FLOOR is still a float32


def fits(weighted: torch.Tensor) -> bool:
    """May kernels read such a table? They want a GPU, float32 and a width that is a power of 2."""
    D = weighted.shape[-1]
    kind = weighted.is_cuda and weighted.dtype == torch.float32
    return fused_collapse is not None and kind and D >= 16 and D & (D - 1) == 0


@dataclass(frozen=True, eq=False)
class Collapsed:
    """All that attention over bits needs to know of E members with H heads."""

    low: torch.Tensor  # (E, H, 1): a of the low bit
    high: torch.Tensor  # (E, H, 1)
    last: torch.Tensor  # (E, H, 1): the score of [CLS], less max p
    flipped: torch.Tensor  # (E, H, 1, 1): true where the high bit is 0
    g: torch.Tensor  # (E, H, T)
    weighted: torch.Tensor  # (E, H, T, D): g_t Π_t
    values: torch.Tensor  # (E, H, 4, D): Σ_t g_t Π_t, V of the low bit, of the high, of [CLS]

    def attend(self, words: torch.Tensor) -> torch.Tensor:
        """Σ_heads Σ_t weight · value, (E, B, D), for packed bits (E, B, W), or (1, B, W)."""
        N, n = self._sums(words)
        total = self.g.sum(-1, keepdim=True)
        largest = self._largest(n)
        low, last = (self.low - largest).exp(), (self.last - largest).exp()
        high = (self.high - largest).clamp(max=-FLOOR).exp()  # more only where n = 0
        excess = high * -torch.expm1(self.low - self.high)
        whole = low * total + excess * n + last
        masses = torch.stack([low, low * (total - n), high * n, last], -1) / whole[..., None]
        mixed = masses.transpose(1, 2).flatten(2) @ self.values.flatten(1, 2)  # (E, B, D)
        return mixed + ((excess / whole)[..., None] * N).sum(1)

    def _sums(self, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """N (E, H, B, D) and n (E, H, B): of each row over its high bits."""
        if fits(self.weighted):
            assert fused_collapse is not None
            return fused_collapse.high_sums(words, self.flipped, self.weighted, self.g)
        table = torch.cat([self.weighted, self.g[..., None]], -1)
        X = unpack(words, table.shape[2], table.dtype)  # (·, B, T)
        high = torch.cat([table * ~self.flipped, table * self.flipped], 2)
        columns = high.transpose(1, 2).flatten(2)  # (E, 2T, H(D+1)): for ones, for zeros
        sums = (torch.cat([X, 1 - X], -1) @ columns).unflatten(2, (high.shape[1], -1))
        sums = sums.transpose(1, 2)  # (E, H, B, D+1)
        return sums[..., :-1], sums[..., -1]

    def of(self, members: torch.Tensor) -> Collapsed:
        """Some of the members."""
        return Collapsed(*(getattr(self, field.name)[members] for field in fields(self)))

    def _largest(self, n: torch.Tensor) -> torch.Tensor:
        """The largest exponent of each row, (E, H, B): it cancels, so it has no gradient."""
        with torch.no_grad():
            reached = torch.where(n > 0, n.log().clamp(min=FLOOR), -torch.inf)
            return torch.maximum(self.high + reached, torch.maximum(self.low, self.last))


def collapse_attention(
    a: torch.Tensor, p: torch.Tensor, V: torch.Tensor, Π: torch.Tensor
) -> Collapsed:
    """From scores a (E, H, 3), p (E, H, T+1) and values V (E, H, 3, D), Π (E, H, T+1, D).

    Tokens are 0, 1 and [CLS], which stands last.
    """
    flipped = a[..., :1] > a[..., 1:2]  # (E, H, 1)
    most = p[..., :-1].amax(-1, keepdim=True).detach()
    g = (p[..., :-1] - most).exp()
    weighted = g[..., None] * Π[..., :-1, :]
    of = {bit: V[..., bit : bit + 1, :] for bit in (0, 1)}
    values = (
        weighted.sum(-2, keepdim=True),
        torch.where(flipped[..., None], of[1], of[0]),
        torch.where(flipped[..., None], of[0], of[1]),
        V[..., 2:, :] + Π[..., -1:, :],
    )
    return Collapsed(
        low=torch.where(flipped, a[..., 1:2], a[..., :1]),
        high=torch.where(flipped, a[..., :1], a[..., 1:2]),
        last=a[..., 2:] + p[..., -1:] - most,
        flipped=flipped[..., None],
        g=g,
        weighted=weighted,
        values=torch.cat(values, -2),
    )
