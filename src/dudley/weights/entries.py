"""A stored tensor as float64 blocks of rows, exactly, scaled by a power of two.

Every float format (bf16, fp16, fp32, the 8-bit floats) and every integer up to 2⁵³ embeds exactly
in float64. Blocks are converted one at a time, so that a large tensor in 16 bits is never held in
64. Where the largest entry is outside [2⁻²⁰⁰, 2²⁰⁰] the blocks are multiplied by a power of two
that brings it to [1/2, 1): exact, but for entries that leave the normal floats at the bottom.

What underflow loses. After scaling the largest entry μ of V is at least 2⁻²⁰¹, so that every norm
of V is at least 2⁻²⁰¹ and every Gram error bound γ·tr(VᵀV) at least 2⁻⁴⁵⁶. An operation that
underflows is off by at most 2⁻¹⁰²² (flushed to zero or not), 2⁻¹⁰²²·2⁹⁰ for all operations on a
matrix together: less than the 2⁻²⁰ by which γ(k) is larger than γ_k, and less than the last place
of any sum that is rounded outward. So underflow needs no term of its own.

``slack`` is the relative distance of the true entries from these floats: 0 for a stored tensor,
u for a difference W − W₀ (float subtraction is correctly rounded and loses nothing by underflow).

>>> Entries.of([[3.0, 4.0]]).shape
(1, 2)
>>> Entries.of([[float("nan")]])
Traceback (most recent call last):
dudley.core.errors.InputError: weights: expected finite entries, got nan among them
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dudley.core.backend import torch
from dudley.core.errors import DudleyError, InputError
from dudley.weights.interval import U

BLOCK_ROWS = 2048
BLOCK_ENTRIES = 2**22  # 32 MiB in float64
_SMALLEST = 5e-324


class DenormalsFlushed(DudleyError):
    """The processor rounds denormal floats to zero: a certified sum could be too small."""


@dataclass(frozen=True)
class Entries:
    """The matrix ``minuend`` (or ``minuend − subtrahend``), read block by block as float64.

    ``exponent`` e: what ``blocks`` gives is 2⁻ᵉ times the matrix.
    """

    minuend: torch.Tensor
    subtrahend: torch.Tensor | None
    device: str
    slack: float
    largest: float = 0.0
    exponent: int = 0

    @classmethod
    def of(cls, W, W0=None, device: str = "cpu", what: str = "weights"):
        """The entries of W, or of W − W0; a vector is one column. Refuses what is not finite."""
        _denormals_kept()
        minuend = _matrix(W, what)
        subtrahend = None if W0 is None else _matrix(W0, f"initial {what}")
        if subtrahend is not None and subtrahend.shape != minuend.shape:
            got = f"{tuple(subtrahend.shape)} against {tuple(minuend.shape)}"
            raise InputError(f"initial {what}", "the shape of the weights", got)
        raw = cls(minuend, subtrahend, device, 0.0 if subtrahend is None else U)
        largest = 0.0
        for block in raw.blocks():
            low, high = (float(x) for x in torch.aminmax(block))
            if not (math.isfinite(low) and math.isfinite(high)):
                got = f"{low if not math.isfinite(low) else high} among them"
                raise InputError(what, "finite entries", got)
            largest = max(largest, -low, high)
        e = math.frexp(largest)[1]
        return replace(raw, largest=largest, exponent=e if abs(e) > 200 else 0)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.minuend.shape[0], self.minuend.shape[1]

    @property
    def tall(self) -> Entries:
        """The matrix or its transpose, whichever has no more columns than rows."""
        if self.shape[0] >= self.shape[1]:
            return self
        other = None if self.subtrahend is None else self.subtrahend.T
        return replace(self, minuend=self.minuend.T, subtrahend=other)

    def rows(self, start: int, stop: int) -> torch.Tensor:
        """Rows start…stop−1 in float64, scaled."""
        block = self._read(self.minuend, start, stop)
        if self.subtrahend is not None:
            block = block - self._read(self.subtrahend, start, stop)
        if self.exponent:
            half = -self.exponent // 2  # 2^1074 is no float: two factors
            block = block * 2.0**half * 2.0 ** (-self.exponent - half)
        return block

    def _read(self, tensor, start: int, stop: int) -> torch.Tensor:
        return tensor[start:stop].to(self.device).to(torch.float64)

    def blocks(self) -> Iterator[torch.Tensor]:
        """All rows in order, at most BLOCK_ROWS and about BLOCK_ENTRIES at a time."""
        m, n = self.shape
        if m == 0 or n == 0:
            return
        step = max(1, min(BLOCK_ROWS, BLOCK_ENTRIES // n))
        for start in range(0, m, step):
            yield self.rows(start, min(m, start + step))

    def whole(self) -> torch.Tensor:
        """The matrix at once."""
        return self.rows(0, self.shape[0])


def block_depth(entries: Entries) -> int:
    """Roundings on the way of a term that is summed within its block and then over the blocks."""
    m, n = entries.shape
    step = max(1, min(BLOCK_ROWS, BLOCK_ENTRIES // max(1, n), m))
    return step + -(-m // step)


def on_processor(X: torch.Tensor) -> bool:
    """Whether numpy can work on the same memory."""
    return X.device.type == "cpu"


def _matrix(W, what: str) -> torch.Tensor:
    if not isinstance(W, torch.Tensor):
        W = torch.as_tensor(np.require(W, requirements="W"))  # a copy of what is read-only
    W = W.detach()
    if W.dim() == 1:
        W = W[:, None]
    if W.dim() != 2:
        raise InputError(what, "a matrix", f"shape {tuple(W.shape)}")
    if W.is_complex() or W.is_quantized:
        raise InputError(what, "real numbers, dequantised", str(W.dtype))
    if W.dtype == torch.uint64:
        raise InputError(what, "floats, or integers with a sign", str(W.dtype))
    if W.dtype == torch.int64 and W.numel() and max(-int(W.min()), int(W.max())) > 2**53:
        raise InputError(what, "integers up to 2^53", "larger ones")
    return W


def _denormals_kept() -> None:
    smallest = _SMALLEST
    if smallest * 1.0 == 0.0 or smallest + 0.0 == 0.0:
        raise DenormalsFlushed(
            "denormal floats are flushed to zero in this thread: expected that they are kept; "
            "torch.set_flush_denormal(False)"
        )
