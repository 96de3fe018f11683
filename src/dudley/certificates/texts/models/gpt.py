"""``gpt``: a causal Transformer over bytes.

The byte before is embedded, its place is added, and ``layers`` of pre-norm attention (``heads``
heads, causal) and a GELU network of width ``hidden`` times d follow; the logits are read out by the
embedding itself. A document that is longer than the context is refused or, with ``windows``, read
in windows of that many bytes: each begins anew with the byte before it. 8 layers with d = 512 have
25 million weights, 12 with d = 768 85 million.

>>> model = TextGpt(d=8, heads=2, layers=1, context=16)
>>> _ = torch.manual_seed(0)
>>> module, texts = model.make(), [b"a cat\\0", b"the dog ran\\0"]
>>> both, alone = (model.nats(module, model.read(some)) for some in (texts, texts[:1]))
>>> both.shape, bool((both[0, :6] - alone[0]).abs().max() < 1e-4)
(torch.Size([2, 12]), True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dudley.certificates.texts.base import MODELS, DocumentModel, TextBatch
from dudley.certificates.texts.symbols import SYMBOLS, nats_of, padded, shifted
from dudley.certificates.trainings.base import expect_number
from dudley.core.backend import torch
from dudley.core.errors import InputError

TOGETHER = 1 << 14  # symbols that are read at once


@MODELS.register("gpt")
@dataclass(frozen=True, kw_only=True)
class TextGpt(DocumentModel):
    """Final: the sizes; ``context`` is the longest document in bytes, or with windows a window."""

    name = "gpt"

    d: int = 128
    layers: int = 2
    heads: int = 4
    hidden: int = 4
    context: int = 1024
    windows: bool = False

    def __post_init__(self):
        expect_number("d", self.d, 1, 8192)
        expect_number("layers", self.layers, 1, 128)
        expect_number("hidden", self.hidden, 1, 64)
        expect_number("context", self.context, 1, 1 << 16)
        if self.heads < 1 or self.d % self.heads:
            raise InputError("heads", f"a divisor of d = {self.d}", self.heads)

    def make(self) -> torch.nn.Module:
        return ByteGpt(self)

    def read(self, documents: Sequence[bytes]) -> TextBatch:
        return padded(documents)

    def expect(self, longest: int) -> None:
        if not self.windows:
            super().expect(longest)

    def nats(self, module: torch.nn.Module, batch: TextBatch) -> torch.Tensor:
        return windowed_nats(module, *batch, self.context)


def windowed_nats(
    module: torch.nn.Module, codes: torch.Tensor, lengths: torch.Tensor, context: int
) -> torch.Tensor:
    """−ln p of each symbol, 0 after the end, by a module that reads at most ``context`` symbols.

    Documents are cut into windows. Those of about one length are read together, and windows after
    the end of a document not at all, so that little time goes into what is no text.
    """
    (n, T), width = codes.shape, min(context, codes.shape[1])
    before, after = (
        torch.nn.functional.pad(symbols, (0, -T % width)).view(-1, width)
        for symbols in (shifted(codes), codes)
    )
    sizes = (lengths.cpu()[:, None] - torch.arange(0, T, width)).clamp(0, width).flatten()
    read = sizes.argsort(descending=True, stable=True)[: int((sizes > 0).sum())]
    nats = torch.zeros(after.shape, device=codes.device)
    for rows in read.split(max(1, TOGETHER // width)):
        longest, of_rows = int(sizes[rows[0]]), sizes[rows].to(codes.device)
        rows = rows.to(codes.device)
        logits = module(before[rows, :longest])
        nats[rows, :longest] = nats_of(logits, after[rows, :longest], of_rows)
    return nats.view(n, -1)[:, :T]


class ByteGpt(torch.nn.Module):
    """Embedding and places, pre-norm layers, logits by the same embedding."""

    def __init__(self, of: TextGpt, symbols: int = SYMBOLS):
        super().__init__()
        self.symbols = torch.nn.Embedding(symbols, of.d)
        self.places = torch.nn.Parameter(torch.randn(of.context, of.d) * 0.02)
        torch.nn.init.normal_(self.symbols.weight, std=0.02)
        self.layers = torch.nn.ModuleList(
            CausalLayer(of.d, of.heads, of.hidden * of.d, of.layers) for _ in range(of.layers)
        )
        self.norm = torch.nn.LayerNorm(of.d)

    def forward(self, before: torch.Tensor) -> torch.Tensor:
        rows = self.symbols(before) + self.places[: before.shape[1]]
        for layer in self.layers:
            rows = layer(rows)
        return self.norm(rows) @ self.symbols.weight.T


class CausalLayer(torch.nn.Module):
    """x + attention(LN x), then x + MLP(LN x); no place looks ahead."""

    def __init__(self, d: int, heads: int, hidden: int, depth: int):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = torch.nn.LayerNorm(d), torch.nn.LayerNorm(d)
        self.mixing, self.mixed = torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)
        self.widen, self.narrow = torch.nn.Linear(d, hidden), torch.nn.Linear(hidden, d)
        for linear, std in (
            (self.mixing, 0.02), (self.widen, 0.02),
            (self.mixed, 0.02 / (2 * depth) ** 0.5), (self.narrow, 0.02 / (2 * depth) ** 0.5),
        ):  # fmt: skip
            torch.nn.init.normal_(linear.weight, std=std)
            torch.nn.init.zeros_(linear.bias)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        n, T, d = rows.shape
        mixing = self.mixing(self.attention_norm(rows))
        q, k, v = mixing.view(n, T, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        rows = rows + self.mixed(seen.transpose(1, 2).reshape(n, T, d))
        hidden = torch.nn.functional.gelu(self.widen(self.mlp_norm(rows)))
        return rows + self.narrow(hidden)
