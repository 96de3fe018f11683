"""Climb: gradient ascent on many restarts at once, each kept where it was highest.

>>> from dudley.audit.backend import tensor
>>> x = tensor([[0.0], [3.0]]).requires_grad_()
>>> climb(lambda: 1 / (1 + (x[:, 0] - 1) ** 2), [x], steps=200, rate=0.1)
>>> [round(v, 2) for v in x[:, 0].tolist()]
[1.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable

from dudley.core.backend import torch


def climb(values: Callable, variables: list, steps: int, rate: float) -> None:
    """Adam on Σ log values(); each restart's variables are left where its value was largest."""
    first = [torch.zeros_like(v) for v in variables]
    second = [torch.zeros_like(v) for v in variables]
    highest = [v.detach().clone() for v in variables]
    best = None
    for t in range(1, steps + 1):
        value = values()
        total = torch.log(value + 1e-30).sum()
        gradients = torch.autograd.grad(total, variables, allow_unused=True)
        with torch.no_grad():
            better = value > (-1.0 if best is None else best)
            best = value.clone() if best is None else torch.maximum(best, value)
            for v, k in zip(variables, highest, strict=True):
                k[better] = v[better]
            now = rate * (1 - 0.8 * t / steps)
            for v, g, m, s in zip(variables, gradients, first, second, strict=True):
                if g is not None:
                    g = torch.nan_to_num(g, 0.0, 0.0, 0.0)
                    m.mul_(0.9).add_(g, alpha=0.1)
                    s.mul_(0.98).addcmul_(g, g, value=0.02)
                    v += now * (m / (1 - 0.9**t)) / (torch.sqrt(s / (1 - 0.98**t)) + 1e-12)
    with torch.no_grad():
        for v, k in zip(variables, highest, strict=True):
            v.copy_(k)
