"""AND classifiers side by side: one-layer Transformers in the manner of minGPT, folded.

Only the [CLS] row is classified, so only it asks. With z_t the normalised rows, W_K goes into the
query and W_v out of the average:

    s_{h,t} = ⟨W_K^h q_h/√k, z_t⟩,   head_h = (Σ_t a_{h,t} z_t) W_v^h,

which is exact with dropout too (b_K moves all scores of a head alike: softmax does not see it, and
it never moves). In training with dropout, attention is `bit_attention`. Where nothing is random per
token a row's score and value depend on its bit and position alone, and attention **collapses** to
one product of the 0/1 matrix with a table of 2T rows: with w = e^{score − max},

    Σ_t w_t (v_t, 1) = [X, 1 − X] · [w¹(v¹, 1); w⁰(v⁰, 1)] + w_cls(v_cls, 1).

All terms of the denominator are positive, so nothing cancels. Scores more than 80 below the
largest of their head count as 80 below.

>>> from dudley.train.packed import pack
>>> from dudley.core.philox import key, keys_tensor
>>> keys = keys_tensor([key("and", trial) for trial in range(3)])
>>> classifiers = AndEnsemble(T=20, d=8, H=2)
>>> weights = classifiers.start(keys)
>>> bits = torch.ones(5, 20)
>>> classifiers.evaluate(weights, pack(bits)).shape
torch.Size([3, 5, 2])
>>> member = classifiers.member(weights, 2).eval()
>>> logits = classifiers.evaluate(weights, pack(bits))[2]
>>> bool((member(member.tokens(bits))[:, 0] - logits).norm() < 1e-5)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.models.and_classifier import AndClassifier
from dudley.train.ensemble.base import Ensemble, Noise
from dudley.train.ensemble.bit_attention.choose import attend, row_factors
from dudley.train.ensemble.packed_product import LARGE, packed_product
from dudley.train.ensemble.registry import ENSEMBLES, common_length
from dudley.train.ensemble.rows import Padded, Shared, at_a_time, of_members
from dudley.train.packed import column, unpack

try:
    from dudley.train.ensemble.kernels import fused_tail
except ImportError:  # no Triton
    fused_tail = None

F = torch.nn.functional
LOWEST = -80.0
ATTENTION = ("gain_1", "bias_1", "W_Q", "W_K", "W_v", "b_Q", "b_v")
TAIL = ("W_c", "b_c", "gain_2", "bias_2", "W_1", "b_1", "W_2", "b_2", "gain_3", "bias_3", "W")


@dataclass(frozen=True, eq=False)
class AndEnsemble(Ensemble):
    """Packed bits (E, B, W), also `Padded`, (B, W) for all, or `Shared` ↦ logits (E, B, classes).

    ``dropout`` of embeddings, of attention weights and of both residual branches.
    """

    T: int  # bits of an input, from the task
    d: int = 64  # width of a token
    H: int = 16  # attention heads
    classes: int = 2  # logits
    # of embeddings, of attention weights, of both residual branches
    dropout: tuple[float, float, float] = (0.1, 0.1, 0.1)
    places: str = "small"  # the law of the first positions

    def __post_init__(self):
        if not (len(self.dropout) == 3 and all(0 <= p <= 1 - 2**-16 for p in self.dropout)):
            raise InputError("dropout", "three numbers in [0, 1 − 2⁻¹⁶]", self.dropout)
        if max(self.dropout) > 0 and self.d % 2:
            raise InputError("d with dropout", "an even number: masks come in pairs", self.d)
        self.twin()  # refuses sizes that do not fit

    def twin(self, e=0) -> AndClassifier:
        sizes = self.T, self.d, self.H, 1, self.classes, self.dropout
        return AndClassifier(*sizes, places=self.places)

    def forward(self, weights, inputs, noise=None):
        if noise is None or max(self.dropout[:2]) == 0:
            return self._logits_by_table(weights, inputs, noise)
        w, padded = _Parts(weights), inputs
        if not isinstance(padded, Padded):
            E = len(w.P)
            padded = Padded.full(of_members(inputs, 3, E).expand(E, -1, -1).contiguous())
        words, M = padded.rows, padded.rows.shape[1]
        base, lift = _rows(w)
        factors = self._dropout_factors(noise, M, 0, self.dropout[0])
        cls = (base[:, -1:] * factors).expand(-1, M, -1)  # (E, M, D)
        K, V, of_mass = fold_attention(cls, self.H, *w.list(ATTENTION))
        mixed, mass = attend(base, lift, K, words, padded.counts, noise, self.dropout[:2])
        heads = mixed @ V + mass.mT[..., None] * of_mass  # (E, H, M, k)
        return self._logits(w, cls, heads.transpose(1, 2).flatten(2), noise)

    def evaluate(self, weights, inputs, alive=None):
        return self._logits_by_table(weights, inputs, None)

    @torch.no_grad()
    def attention_on(self, weights, words: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Shares of [CLS]'s attention: on some places of each member, (E, s), and on itself.

        (E, N, H, 2) for packed bits (E, N, W) or (1, N, W).
        """
        table = self._table(_Parts(weights))[0][..., self.d :]  # (E, 2T+1, H)
        ones, zeros = (
            table.gather(1, (places + shift)[..., None].expand(-1, -1, self.H))[:, None]
            for shift in (0, self.T)
        )  # (E, 1, s, H): the mass of a place whose bit is 1, or 0
        shares = []
        for part in words.split(at_a_time(2 * self.T * len(table), words), 1):
            read = [column(part, place) for place in places.mT]
            bits = torch.stack(read, -1)[..., None]  # (E, N, s, 1)
            mass = torch.where(bits == 1, ones, zeros).sum(2)
            both = torch.stack([mass, table[:, -1:].expand_as(mass)], -1)
            shares.append(both / self._sums(table, part)[..., None])
        return torch.cat(shares, 1)

    def numbers_of_example(self, T: int) -> int:
        if max(self.dropout[:2]) == 0:  # collapsed: the words, and what is made of a few of them
            return 60 * self.d + T // 2
        blocks = T // 64 + 1  # of the backward kernel; rows themselves are kept on a processor
        return self.d * (self.H * (6 + blocks) + 60) + 2 * T * self.d

    def numbers_of_member(self, T: int) -> int:
        """The table, what it is made from, and their gradients."""
        return 20 * T * (self.d + self.H) if max(self.dropout[:2]) == 0 else 0

    def _logits(self, w: _Parts, cls, heads, noise: Noise | None) -> torch.Tensor:
        """Logits (E, M, C) from the [CLS] rows and the concatenated heads."""
        factors = [
            self._dropout_factors(noise, heads.shape[1], which, self.dropout[2]) for which in (1, 2)
        ]
        return classify(cls, heads, *factors, *w.list(TAIL))

    def _dropout_factors(self, noise: Noise | None, M: int, which: int, p: float):
        """Dropout of the [CLS] row (0), of attention's branch (1), of the MLP's (2)."""
        if noise is None or p == 0:
            return 1.0
        return row_factors(noise, M, self.T + which, self.d, self.H, p)

    def _logits_by_table(self, weights, inputs, noise: Noise | None) -> torch.Tensor:
        """One product of the data with a table; rows in use are not told apart."""
        w = _Parts(weights)
        table, cls = self._table(w)
        if not isinstance(inputs, Shared) or len(inputs.members) == 1:
            return self._read(w, table, cls, of_members(inputs, 3, len(table)), noise)
        out = table.new_empty(len(table), inputs.rows.shape[1], self.classes)
        for words, members in zip(inputs.rows, inputs.members, strict=True):
            noise_of = noise and Noise(noise.keys[members], noise.step)
            out[members] = self._read(
                w.of(members), table[members], cls[members], words[None], noise_of
            )
        return out

    def _read(self, w: _Parts, table, cls, words: torch.Tensor, noise) -> torch.Tensor:
        """Logits from a table, a few rows at a time unless masks are drawn for them."""
        few = words.shape[1] if noise else at_a_time(len(table) * 10 * self.d, words)
        parts = (self._sums(table, part) for part in words.split(few, 1))
        if noise is None and fused_tail and tail_fits(table, self.d, self.H):
            return torch.cat([fused_tail.tail(p, cls, w.list(TAIL), self.H) for p in parts], 1)
        heads = (self._heads(sums) for sums in parts)
        return torch.cat([self._logits(w, cls, part, noise) for part in heads], 1)

    def _sums(self, table: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Numerators and denominators (E, N, D+H) for packed bits (E, N, W) or (1, N, W)."""
        if len(words) * words.shape[1] * 2 * self.T > LARGE:
            return packed_product(words, table[:, :-1], self.T) + table[:, -1:]
        X = unpack(words, self.T, table.dtype)
        return torch.cat([X, 1 - X], -1) @ table[:, :-1] + table[:, -1:]

    def _heads(self, sums: torch.Tensor) -> torch.Tensor:
        """Concatenated heads (E, N, D)."""
        above, below = sums[..., : self.d], sums[..., self.d :]
        return (above.unflatten(2, (self.H, -1)) / below[..., None]).flatten(2)

    def _table(self, w: _Parts) -> tuple[torch.Tensor, torch.Tensor]:
        """(w v, w) for ones, for zeros and for [CLS]: (E, 2T+1, D+H); and the [CLS] row."""
        base, lift = _rows(w)
        rows = torch.cat([base[:, :-1] + lift[:, None], base], 1)
        z = _normal(rows) * w.gain_1.mT + w.bias_1
        by_head = (self.H, self.d // self.H)
        q = (z[:, -1:] @ w.W_Q + w.b_Q).unflatten(2, by_head) / math.sqrt(by_head[1])
        u = (w.W_K.unflatten(2, by_head) * q).sum(-1)  # (E, D, H)
        s = z @ u
        s = (s - s.amax(1, keepdim=True).detach()).clamp(min=LOWEST).exp()[..., None]
        v = (z @ w.W_v + w.b_v).unflatten(2, by_head)  # (E, 2T+1, H, k)
        return torch.cat([(s * v).flatten(2), s[..., 0]], -1), base[:, -1:]


class _Parts:
    """The weights by short names: LayerNorms are numbered 1, 2, 3 in the order of use."""

    NAMES: ClassVar[dict[str, str]] = {
        "W_E": "0.W_E", "P": "1.P", "gain_1": "2.0.0.gain", "bias_1": "2.0.0.bias",
        "W_Q": "2.0.1.W_Q", "W_K": "2.0.1.W_K", "W_v": "2.0.1.W_v", "W_c": "2.0.1.W_c",
        "b_Q": "2.0.1.b_Q", "b_v": "2.0.1.b_v", "b_c": "2.0.1.b_c",
        "gain_2": "2.1.0.gain", "bias_2": "2.1.0.bias", "W_1": "2.1.1.W_1", "b_1": "2.1.1.b_1",
        "W_2": "2.1.2.W_2", "b_2": "2.1.2.b_2", "gain_3": "3.gain", "bias_3": "3.bias", "W": "4.W",
    }  # fmt: skip

    def __init__(self, weights):
        self.weights = weights

    def __getattr__(self, name: str) -> torch.Tensor:
        return self.weights[f"weights.{self.NAMES[name]}"]

    def list(self, names: tuple[str, ...]) -> list[torch.Tensor]:
        """Some of them, in order."""
        return [getattr(self, name) for name in names]

    def of(self, members: torch.Tensor) -> _Parts:
        """Those of some members."""
        return _Parts({name: W[members] for name, W in self.weights.items()})


def fold_attention(cls, H: int, gain, bias, W_Q, W_K, W_v, b_Q, b_v):
    """Queries through the keys (E, H, M, D) in units of log 2, and what becomes of averages.

    Both are orthogonal to the vector of ones, so that they may be applied to rows that are scaled,
    but not centred.
    """
    by_head = (H, cls.shape[-1] // H)
    size = math.log2(math.e) / math.sqrt(by_head[1])
    q = _affine(_normal(cls), gain, bias, W_Q, b_Q).unflatten(2, by_head).transpose(1, 2)
    keys, values = (_centre(gain * W).unflatten(2, by_head) for W in (W_K, W_v))
    of_mass = (bias @ W_v + b_v).unflatten(2, by_head).transpose(1, 2)  # (E, H, 1, k)
    return (q * size) @ keys.permute(0, 2, 3, 1), values.transpose(1, 2), of_mass


def classify(
    cls, heads, factors_1, factors_2, W_c, b_c, gain_2, bias_2, W_1, b_1, W_2, b_2, gain_3, bias_3,
    W,
):  # fmt: skip
    """Logits (E, M, C); ``factors_*`` are dropout's factors of the two branches."""
    z = cls + torch.baddbmm(b_c, heads, W_c) * factors_1
    hidden = F.gelu(_affine(_normal(z), gain_2, bias_2, W_1, b_1))
    z = z + torch.baddbmm(b_2, hidden, W_2) * factors_2
    return _affine(_normal(z), gain_3, bias_3, W, 0.0)


def tail_fits(table: torch.Tensor, d: int, H: int) -> bool:
    """May the kernel for evaluation run? It has no gradient."""
    sizes = d >= 16 and d & (d - 1) == 0 and d % H == 0
    wanted = torch.is_grad_enabled() and table.requires_grad
    here = table.is_cuda and table.dtype == torch.float32
    return here and sizes and not wanted


def _rows(w: _Parts) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows (E, T+1, D) where every bit is 0, [CLS] last, and what a 1 adds, (E, D)."""
    tokens = torch.cat([w.W_E[:, :1].expand(-1, w.P.shape[1] - 1, -1), w.W_E[:, 2:]], 1)
    return w.P + tokens, w.W_E[:, 1] - w.W_E[:, 0]


def _normal(z: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(z, z.shape[-1:], eps=1e-5)


def _affine(z: torch.Tensor, gain, bias, W, b) -> torch.Tensor:
    """(z ⊙ gain + bias) W + b, with gain and bias folded into W and b."""
    return torch.baddbmm(bias @ W + b, z, gain * W)


def _centre(W: torch.Tensor) -> torch.Tensor:
    """(I − 11ᵀ/d) W for every member."""
    return W - W.mean(1, keepdim=True)


@ENSEMBLES.register("and-classifier")
def build(keys, tasks, dropout=(0.1, 0.1, 0.1), **sizes) -> AndEnsemble:
    return AndEnsemble(common_length(tasks), dropout=tuple(dropout), **sizes)
