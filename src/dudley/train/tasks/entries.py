"""Laws of the entries of input matrices: light tails, and tails that fall like a power.

| law | P(|x| > t) | ``tail`` |
|---|---|---|
| gaussian | that of N(0, 1) | none |
| student | of order t^−ν | ν, an integer: N(0, 1) over √(χ²_ν/ν) |
| pareto | t^−α for t ≥ 1 | α > 0: ±v^(−1/α), v uniform |

Draws are of 32-bit words, so the tails end: at 6.34 for a normal, at 2^{32/α} for pareto (there
t^−α is 2^-32). Gaussian and student use sums, products, quotients and square roots alone, rounded
one by one; pareto takes a power, whose last bit may differ between processors, so it is computed
by the CPU, whatever device asks.

>>> from dudley.core.philox import key, keys_tensor
>>> x = entries("student", 3)(keys_tensor([key("entries", 0)]), Stream.INPUTS, 0, 1000)
>>> x.shape, x.dtype
(torch.Size([1, 1000]), torch.float64)
"""

from __future__ import annotations

from collections.abc import Callable

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.philox import StepNumber, Stream, normal, uniform
from dudley.core.registry import Registry

EntryDraw = Callable[[torch.Tensor, Stream, StepNumber, int], torch.Tensor]
LAWS: Registry[Callable[[float | None], EntryDraw]] = Registry("law of entries")


def entries(law: str, tail: float | None = None) -> EntryDraw:
    """A law by name: (keys, stream, step, count) ↦ independent entries (E, count), float64."""
    return LAWS[law](tail)


@LAWS.register("gaussian")
def gaussian(tail: float | None = None) -> EntryDraw:
    """N(0, 1)."""
    if tail is not None:
        raise InputError("tail of gaussian entries", "none", tail)
    return lambda keys, stream, step, count: normal(keys, stream, step, count).double()


@LAWS.register("student")
def student(tail: float | None) -> EntryDraw:
    """Student's t with ν = ``tail`` degrees of freedom."""
    if tail is None or not 1 <= tail <= 100 or tail != int(tail):
        raise InputError("tail of student entries", "an integer from 1 to 100", tail)
    ν = int(tail)

    def draw(keys, stream, step, count):
        Z = normal(keys, stream, step, count * (ν + 1)).double().unflatten(1, (count, ν + 1))
        square = torch.zeros_like(Z[..., 0])
        for i in range(1, ν + 1):
            square = square + Z[..., i] * Z[..., i]
        return Z[..., 0] / (square / ν).sqrt()

    return draw


@LAWS.register("pareto")
def pareto(tail: float | None) -> EntryDraw:
    """Symmetric Pareto with index α = ``tail`` on |x| ≥ 1."""
    if tail is None or not 0 < tail <= 100:
        raise InputError("tail of pareto entries", "a number in (0, 100]", tail)

    def draw(keys, stream, step, count):
        v = 2 * uniform(keys.cpu(), stream, step, count) - 1  # in (−1, 1), never 0
        return (v.sign() * v.abs() ** (-1 / tail)).to(keys.device)

    return draw
