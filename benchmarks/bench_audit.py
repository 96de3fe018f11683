"""What the ascent costs: all sign draws and restarts in one batch, against the loop over them.

Both do the same work on the same starts (a head with d = 64, n = 1,000 examples of T = 8 tokens).
On the processor it is bound by arithmetic, so one batch must only not be slower; on a GPU the loop
is bound by launches (``benchmarks/gpu_ascent.py``).
"""

from __future__ import annotations

import time

import numpy as np

import dudley as du
from dudley.audit.ascent import supremum_below

DRAWS, RESTARTS, STEPS = 32, 8, 2


def head(d: int = 64):
    S = du.Spectral
    node = du.Head(d, W_v=S(1.0), W_QK=S(4.0), W_c=S(1.0), query="cls")
    return node >> du.Readout(du.L2(1.0))


def sample(n: int = 1000, T: int = 8, d: int = 64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, T, d))
    X /= np.linalg.norm(X, axis=-1, keepdims=True)
    return X, rng.choice([-1.0, 1.0], size=(DRAWS, n))


def seconds(at_once: int | None, draws: int, device: str = "cpu", steps: int = STEPS) -> float:
    X, signs = sample()
    start = time.perf_counter()
    supremum_below(
        head(), X, signs[:draws], restarts=RESTARTS, steps=steps, device=device, at_once=at_once
    )
    return time.perf_counter() - start


def test_one_batch_is_not_slower_than_the_loop_over_draws_and_restarts():
    seconds(None, 1)
    whole = seconds(None, DRAWS)
    loop = seconds(1, DRAWS // 8) * 8  # an eighth of the loop: its members cost the same
    print(f"one batch: {whole:.1f} s / loop: {loop:.1f} s = {whole / loop:.2f}")
    assert whole <= 1.1 * loop
