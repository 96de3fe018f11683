"""What certified spectral norms cost: against ``torch.linalg.svdvals`` of the same matrices.

Both in float64 on the processor, in the same run, best of several turns taken alternately. A set
holds a Gaussian matrix (no gap at the top: the hardest for the estimate), one with a spectrum that
falls off as trained weights' do, and an orthogonal one (flat). svdvals certifies nothing.
"""

from __future__ import annotations

import time

import pytest
import torch

from dudley.weights.certified import spectral

REPEATS = {256: 30, 512: 10, 1024: 4, 2048: 1}


def weights(n: int) -> list[torch.Tensor]:
    source = torch.Generator().manual_seed(n)
    gaussian, other = (torch.randn(n, n, generator=source, dtype=torch.float64) for _ in range(2))
    left, right = (torch.linalg.qr(W)[0] for W in (gaussian, other))
    trained = (left * torch.arange(1, n + 1, dtype=torch.float64) ** -0.7) @ right
    return [gaussian, trained, left]


def seconds(function, W) -> float:
    start = time.perf_counter()
    function(W)
    return time.perf_counter() - start


@pytest.mark.parametrize("n", list(REPEATS))
def test_a_certified_norm_costs_at_most_half_of_svdvals(n):
    ours = theirs = widest = 0.0
    for W in weights(n):
        pairs = [
            (seconds(spectral, W), seconds(torch.linalg.svdvals, W)) for _ in range(REPEATS[n])
        ]
        ours += min(pair[0] for pair in pairs)
        theirs += min(pair[1] for pair in pairs)
        widest = max(widest, spectral(W).excess)
    print(
        f"n = {n}: svdvals {1e3 * theirs:.1f} ms / certified {1e3 * ours:.1f} ms"
        f" = {theirs / ours:.2f}; widest interval {widest:.1e}"
    )
    assert widest < 3e-9
    assert theirs >= 2 * ours
