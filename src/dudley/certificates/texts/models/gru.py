"""``gru``: a recurrent network over bytes with tables of contexts, the quickest on a processor.

The byte before is embedded by a row of E, d numbers; ``layers`` of gated recurrent units follow
(Cho et al. 2014). To their last rows are added rows of tables, one for each of ``orders``: that of
order k has 2^``bits`` rows, and the row is a hash of the last k bytes, so that long repetitions
are learnt at once (as the direct connections of Mikolov et al. 2011 do). A linear map gives the
logits of the next byte. Only rows that were read are updated.

>>> model = TextGru(d=8, bits=6)
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

MULTIPLIER, GOLDEN, WORD = 0x2545F491, 0x9E3779B1, 0x7FFFFFFF  # products stay below 2^63


@MODELS.register("gru")
@dataclass(frozen=True, kw_only=True)
class TextGru(DocumentModel):
    """Final: the sizes."""

    name = "gru"

    d: int = 128
    layers: int = 1
    orders: tuple[int, ...] = (2, 3, 4, 5, 6)
    bits: int = 16

    def __post_init__(self):
        expect_number("d", self.d, 1, 8192)
        expect_number("layers", self.layers, 1, 16)
        expect_number("bits", self.bits, 1, 24)
        if list(self.orders) != sorted(set(self.orders)) or not all(
            1 <= k <= 32 for k in self.orders
        ):
            raise InputError("orders", "growing numbers from 1 to 32", list(self.orders))

    def make(self) -> torch.nn.Module:
        return ByteGru(self)

    def read(self, documents: Sequence[bytes]) -> TextBatch:
        return padded(documents)

    def nats(self, module: torch.nn.Module, batch: TextBatch) -> torch.Tensor:
        codes, lengths = batch
        return nats_of(module(shifted(codes)), codes, lengths)


class ByteGru(torch.nn.Module):
    """Embedding, recurrent layers, tables of contexts, logits."""

    def __init__(self, of: TextGru):
        super().__init__()
        self.orders, self.bits = of.orders, of.bits
        self.symbols = torch.nn.Embedding(SYMBOLS, of.d)
        self.layers = torch.nn.GRU(of.d, of.d, of.layers, batch_first=True)
        self.readout = torch.nn.Linear(of.d, SYMBOLS)
        tables = [torch.nn.Embedding(1 << of.bits, of.d, sparse=True) for _ in of.orders]
        for table in tables:
            torch.nn.init.zeros_(table.weight)
        self.tables = torch.nn.ModuleList(tables)

    def extra_repr(self) -> str:
        return f"orders={self.orders}"

    def forward(self, before: torch.Tensor) -> torch.Tensor:
        rows = self.layers(self.symbols(before))[0]
        hashes = contexts(before, max(self.orders, default=0), self.bits)
        for order, table in zip(self.orders, self.tables, strict=True):
            rows = rows + table(hashes[order - 1])
        return self.readout(rows)


def contexts(before: torch.Tensor, longest: int, bits: int) -> list[torch.Tensor]:
    """For k = 1, …, longest a hash of the last k bytes, below 2^bits."""
    key, byte, hashes = torch.zeros_like(before), before, []
    for _ in range(longest):
        key = (key * MULTIPLIER + byte + 1) & WORD
        hashes.append((key * GOLDEN >> 20) & ((1 << bits) - 1))
        byte = shifted(byte)
    return hashes
