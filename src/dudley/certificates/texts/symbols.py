"""Documents as bytes: tensors of a batch, and −ln p of symbols from logits.

>>> codes, lengths = padded([b"ab\\0", b"c\\0"])
>>> codes.tolist(), lengths.tolist(), shifted(codes).tolist()
([[97, 98, 0], [99, 0, 0]], [3, 2], [[0, 97, 98], [0, 99, 0]])
>>> nats_of(torch.zeros(2, 3, SYMBOLS), codes, lengths)
tensor([[5.5452, 5.5452, 5.5452],
        [5.5452, 5.5452, 0.0000]])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dudley.core.backend import torch

SYMBOLS = 256  # bytes; 0 ends a document, and stands before its first byte


def padded(documents: Sequence[bytes]) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes (n, T) with zeros after the end, and lengths (n,)."""
    lengths = [len(document) for document in documents]
    codes = np.zeros((len(documents), max(lengths)), np.int64)
    for row, document in zip(codes, documents, strict=True):
        row[: len(document)] = np.frombuffer(document, np.uint8)
    return torch.from_numpy(codes), torch.tensor(lengths)


def shifted(codes: torch.Tensor) -> torch.Tensor:
    """The byte before each byte."""
    return torch.nn.functional.pad(codes[:, :-1], (1, 0))


def nats_of(logits: torch.Tensor, codes: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """−ln p of each symbol, which has these logits (n, T, V); 0 after the end."""
    flat, target = logits.float().flatten(0, 1), codes.flatten()
    each = torch.nn.functional.cross_entropy(flat, target, reduction="none").view(codes.shape)
    inside = torch.arange(codes.shape[1], device=codes.device) < lengths[:, None]
    return each * inside
