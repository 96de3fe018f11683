"""Bits as tokens: 0, 1, and [CLS] after the last of them.

>>> from dudley.core.backend import torch
>>> token_codes(torch.tensor([[1, 0]]), T=2)
tensor([[1, 0, 2]])
"""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.core.errors import InputError

CLS = 2


def token_codes(bits: torch.Tensor, T: int) -> torch.Tensor:
    """Bits (…, T) as numbers of tokens (…, T+1)."""
    expected = f"zeros and ones, {T} a row"
    if bits.shape[-1] != T:
        raise InputError("bits", expected, f"shape {tuple(bits.shape)}")
    if not bool(((bits == 0) | (bits == 1)).all()):
        raise InputError("bits", expected, "other values")
    closing = torch.full((*bits.shape[:-1], 1), CLS, device=bits.device)
    return torch.cat([bits.long(), closing], -1)
