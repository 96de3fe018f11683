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
from dudley.train.ensemble.bit_attention.choose import attend_heads, row_factors
from dudley.train.ensemble.packed_product import LARGE, packed_product
from dudley.train.ensemble.registry import ENSEMBLES, common_length
from dudley.train.ensemble.rows import Padded, Shared, at_a_time, of_members
from dudley.train.packed import column, expect_width, unpack

try:
    from dudley.train.ensemble.kernels import fused_logits, fused_table, fused_training_tail
except ImportError:  # no Triton
    fused_logits = fused_table = fused_training_tail = None

F = torch.nn.functional
LOWEST = -80.0
WIDTHS = {16, 32, 64}  # of the kernels for evaluation: wider tables outgrow shared memory
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
        folded = fold_attention(cls, self.H, *w.list(ATTENTION))
        rates = self.dropout[:2]
        heads = attend_heads(base, lift, *folded, words, padded.counts, noise, self.H, rates)
        return self._logits(w, cls, heads, noise, padded.counts)

    def evaluate(self, weights, inputs, alive=None):
        w = _Parts(weights)
        if fused_logits and kernels_fit(weights, w.P, self.H):
            return self._logits_by_kernels(w, inputs, alive)
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

    @property
    def skips_empty(self) -> bool:
        return max(self.dropout[:2]) > 0  # the table is made of every member's words

    def numbers_of_example(self, T: int) -> int:
        if max(self.dropout[:2]) == 0:  # collapsed: the words, and what is made of a few of them
            return 60 * self.d + T // 2
        blocks = T // 64 + 1  # of the backward kernel; rows themselves are kept on a processor
        return self.d * (self.H * (6 + blocks) + 60) + 2 * T * self.d

    def numbers_of_member(self, T: int) -> int:
        """The table, what it is made from, and their gradients."""
        return 20 * T * (self.d + self.H) if max(self.dropout[:2]) == 0 else 0

    def _logits(self, w: _Parts, cls, heads, noise: Noise | None, counts=None) -> torch.Tensor:
        """Logits (E, M, C) from the [CLS] rows and the concatenated heads.

        Rows past ``counts`` (E,), where these are given, may get any logits: they move nothing.
        """
        if fused_training_tail and training_tail_fits(heads, self.classes):
            p = self.dropout[2] if noise else 0.0
            cls, sizes = cls.expand_as(heads), (self.T, self.H)
            return fused_training_tail.tail(cls, heads, counts, noise, *sizes, p, w.list(TAIL))
        M = heads.shape[1]
        factors = [self._dropout_factors(noise, M, which, self.dropout[2]) for which in (1, 2)]
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

    def _logits_by_kernels(self, w: _Parts, inputs, alive) -> torch.Tensor:
        """The same of rows in use and members alive, else 0; no rows of a cell are copied."""
        assert fused_logits is not None and fused_table is not None
        words, cell, used = _reads(inputs, len(w.P))
        expect_width(words, self.T)
        cls = w.P[:, -1:] + w.W_E[:, 2:]
        z = _normal(cls) * w.gain_1.mT + w.bias_1
        u = self._folded_query(w, z)
        s = z @ u
        rows = (w.P, w.W_E, w.gain_1, w.bias_1)
        table, largest = fused_table.make_table(*rows, u, s, w.W_v, w.b_v)
        s = (s - largest).clamp(min=LOWEST).exp()
        v = (z @ w.W_v + w.b_v).unflatten(2, (self.H, -1))
        last = torch.cat([(s[..., None] * v).flatten(2), s], -1)
        used = used if alive is None else used * alive
        return fused_logits.logits(words, cell, used, table, last, cls, w.list(TAIL), self.H)

    def _read(self, w: _Parts, table, cls, words: torch.Tensor, noise) -> torch.Tensor:
        """Logits from a table, a few rows at a time unless masks are drawn for them."""
        few = words.shape[1] if noise else at_a_time(len(table) * 10 * self.d, words)
        parts = (self._sums(table, part) for part in words.split(few, 1))
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
        s = z @ self._folded_query(w, z[:, -1:])
        s = (s - s.amax(1, keepdim=True).detach()).clamp(min=LOWEST).exp()[..., None]
        v = (z @ w.W_v + w.b_v).unflatten(2, (self.H, -1))  # (E, 2T+1, H, k)
        return torch.cat([(s * v).flatten(2), s[..., 0]], -1), base[:, -1:]

    def _folded_query(self, w: _Parts, z: torch.Tensor) -> torch.Tensor:
        """W_K^h q_h/√k for the normalised [CLS] rows z (E, 1, D): (E, D, H)."""
        by_head = (self.H, self.d // self.H)
        q = (z @ w.W_Q + w.b_Q).unflatten(2, by_head) / math.sqrt(by_head[1])
        return (w.W_K.unflatten(2, by_head) * q).sum(-1)


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
    """Queries (E, M, D) in units of log 2, the matrices of keys and values, what mass becomes.

    Both matrices (E, D, D) are orthogonal to the vector of ones, so that they may be applied to
    rows that are scaled, but not centred.
    """
    size = math.log2(math.e) / math.sqrt(cls.shape[-1] // H)
    q = _affine(_normal(cls), gain, bias, W_Q, b_Q) * size
    return q, _centre(gain * W_K), _centre(gain * W_v), bias @ W_v + b_v


def classify(
    cls, heads, factors_1, factors_2, W_c, b_c, gain_2, bias_2, W_1, b_1, W_2, b_2, gain_3, bias_3,
    W,
):  # fmt: skip
    """Logits (E, M, C); ``factors_*`` are dropout's factors of the two branches."""
    z = cls + torch.baddbmm(b_c, heads, W_c) * factors_1
    hidden = F.gelu(_affine(_normal(z), gain_2, bias_2, W_1, b_1))
    z = z + torch.baddbmm(b_2, hidden, W_2) * factors_2
    return _affine(_normal(z), gain_3, bias_3, W, 0.0)


def kernels_fit(weights, P: torch.Tensor, H: int) -> bool:
    """May the kernels for evaluation run? They have no gradient, and room for few widths."""
    d = P.shape[-1]
    sizes = d in WIDTHS and d % H == 0
    wanted = torch.is_grad_enabled() and any(W.requires_grad for W in weights.values())
    return P.is_cuda and P.dtype == torch.float32 and sizes and not wanted


def _reads(inputs, E: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows (cells, N, W), whose of them each member reads (E,), and how many of them (E,) int32."""
    if isinstance(inputs, Shared) and inputs.rows.ndim == 3 and len(inputs.cell) == E:
        words, cell = inputs.rows, inputs.cell
    else:
        words = of_members(inputs, 3, E)
        cell = torch.arange(E, device=words.device) * (len(words) > 1)
    if isinstance(inputs, Padded):
        return words, cell, inputs.counts
    return words, cell, torch.full_like(cell, words.shape[1], dtype=torch.int32)


def training_tail_fits(heads: torch.Tensor, classes: int) -> bool:
    """May the kernels with a gradient run? For wider rows registers do not suffice."""
    _, M, d = heads.shape
    sizes = d in (16, 32, 64) and classes <= 16 and M * d < 2**31
    return heads.is_cuda and heads.dtype == torch.float32 and sizes


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
