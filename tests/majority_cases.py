"""Majority classifiers by kernels: what they are given, and what they must answer."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from dudley.core.philox import Stream, keys_tensor, packed_bits
from dudley.train.ensemble import collapse, majority
from dudley.train.ensemble.majority import MajorityEnsemble
from dudley.train.ensemble.rows import Shared
from dudley.train.packed import pack


def majorities() -> tuple[MajorityEnsemble, dict[str, torch.Tensor], Shared]:
    """Networks of three lengths, weights in float64 and 70 examples of two cells, for `read`."""
    source, keys = torch.Generator().manual_seed(2), keys_tensor([3, 4, 5])
    networks = MajorityEnsemble(keys, T=40, d=16, k=8, lengths=(33, 20, 40))
    weights = {
        name: W.double() + 0.4 * torch.randn(W.shape, generator=source, dtype=torch.float64)
        for name, W in networks.start(keys).items()
    }
    words = packed_bits(keys[:2], Stream.HOLDOUT, 0, 70, 40)
    return networks, weights, Shared(words, (torch.tensor([0, 2]), torch.tensor([1])))


def by_read(device) -> torch.Tensor:
    """As `by_logits`, for majority classifiers."""
    networks, weights, rows = majorities()
    networks, weights = on(device, networks, weights)
    shared = Shared(rows.rows.to(device), tuple(apart.to(device) for apart in rows.members))
    with taking_kernels(), torch.no_grad():
        logits = networks.evaluate(weights, shared)
        apart = networks.evaluate(weights, rows.rows[rows.cell].to(device))
        some = networks.evaluate(weights, shared, torch.tensor([True, False, True], device=device))
    assert apart.equal(logits), "the same rows, given to each member"
    assert some[[0, 2]].equal(logits[[0, 2]]) and not some[1].any(), "nothing for whom nobody asks"
    return logits.double().cpu()


def far_apart(size: float = 1.0) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    """Rows with and without high bits, scores of bits that lie 90 apart, and what classifies."""
    source, (T, D) = torch.Generator().manual_seed(3), (40, 16)

    def some(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    a = torch.tensor([-45.0, 45.0, -45.0]).double().repeat(1, 2, 1)
    bits = torch.randint(2, (1, 5, T), generator=source)
    bits[0, 0], bits[0, 1] = 0, 1
    tensors = [a, some(1, 2, T + 1), some(1, 2, 3, D), size * some(1, 2, T + 1, D)]
    return pack(bits), tensors, [some(1, 1, D), some(1, D, 2), some(1, 1, 2)]


def by_read_far(device, size: float = 1.0) -> torch.Tensor:
    """Their logits by the kernel for evaluation."""
    words, tensors, (bias, W, b) = far_apart(size)
    attention = collapse.collapse_attention(*(one.float().to(device) for one in tensors))
    rest = [one.float().to(device) for one in (bias, W, b)]
    assert collapse.fused_collapse is not None
    cell, reads = (torch.tensor([n], device=device) for n in (0, words.shape[2]))
    read = collapse.fused_collapse.read
    return read(words.to(device), cell, reads.int(), attention, *rest).double().cpu()


def by_sums(device) -> list[torch.Tensor]:
    """Logits of majority classifiers in training, and the pulls on their weights."""
    networks, weights, rows = majorities()
    networks, weights = on(device, networks, weights)
    with taking_kernels():
        return trained_on(networks, weights, rows.rows[rows.cell].to(device))


def trained_on(networks, weights, words) -> list[torch.Tensor]:
    """Logits and gradients of a function of them, in float64 on the processor."""
    leaves = {name: W.clone().requires_grad_() for name, W in weights.items()}
    logits = networks.forward(leaves, words)
    moved = [name for name in leaves if not name.endswith("b_K")]  # softmax does not see b_K
    pulls = torch.autograd.grad(logits.sin().sum(), [leaves[name] for name in moved])
    return [one.detach().double().cpu() for one in (logits, *pulls)]


def on(device, networks, weights):
    """The same networks and weights there, in float32."""
    networks = replace(networks, keys=networks.keys.to(device))
    return networks, {name: W.float().to(device) for name, W in weights.items()}


@contextmanager
def taking_kernels():
    """Majority classifiers take kernels, also where these are only interpreted."""
    checks = collapse.fits, majority.fits
    collapse.fits = majority.fits = lambda weighted: True
    yield
    collapse.fits, majority.fits = checks


def of_kernels(device) -> dict[str, Any]:
    """All that kernels answer, in the precision that is set."""
    return {
        "majority": by_read(device),
        "majority sums": by_sums(device),
        "majority far": by_read_far(device),
        "majority too large": by_read_far(device, 1e6),
    }
