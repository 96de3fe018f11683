"""What sweeps and depth cost, as ratios within one run.

Each evaluation starts from a new network and empty tables, so nothing is answered from memory.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import dudley as du
from dudley.calculus import hull
from dudley.networks import together

NORMS = {"l11": du.L11, "col21": du.Col21, "fro": du.Frobenius}


def head(norm, r=20.0, T=128):
    net = du.Head(d=64, W_QK=norm(r), W_v=norm(1.0), W_c=norm(1.0)) >> du.Readout(w=du.L1(1.0))
    return du.capacity(net, du.Tokens(row2inf=1.0, T=T))


def stack(norm, L):
    block = du.trauger_block(64, norm(2.0), norm(1.0), norm(1.0))
    return du.capacity(du.Repeat(block, L) >> du.Readout(w=du.L1(1.0)), du.Tokens(1.0, T=128))


def seconds(evaluate, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        hull.forget()
        start = time.process_time()
        evaluate()
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("norm", NORMS.values(), ids=list(NORMS))
def test_a_sweep_over_a_thousand_n_costs_at_most_twenty_evaluations(norm):
    single = seconds(lambda: head(norm).gaps([1e5], 0.05), 9)
    many = seconds(lambda: head(norm).gaps(np.geomspace(1e3, 1e12, 1000), 0.05), 3)
    print(f"sweep: {1e3 * many:.0f} ms / one: {1e3 * single:.1f} ms = {many / single:.1f}")
    assert many <= 20 * single


AXES = {
    "T": lambda: [head(du.L11, T=T) for T in range(2, 402, 2)],
    "norm": lambda: [head(du.L11, r) for r in np.geomspace(0.1, 1000, 200)],
}


@pytest.mark.parametrize("axis", AXES)
def test_two_hundred_points_along_a_norm_or_T_cost_at_most_twenty_evaluations(axis):
    """The network at the head of the README."""
    single = seconds(lambda: head(du.L11).gaps([1e6], 0.05), 9)
    many = seconds(lambda: together.gaps(AXES[axis](), 1e6, 0.05), 3)
    print(f"{axis}: {1e3 * many:.0f} ms / one: {1e3 * single:.1f} ms = {many / single:.1f}")
    assert many <= 20 * single


@pytest.mark.parametrize("norm", NORMS.values(), ids=list(NORMS))
def test_ninety_six_equal_layers_cost_at_most_twice_two(norm):
    two = seconds(lambda: stack(norm, 2).gaps([1e6], 0.05), 9)
    deep = seconds(lambda: stack(norm, 96).gaps([1e6], 0.05), 9)
    print(f"96 layers: {1e3 * deep:.1f} ms / 2 layers: {1e3 * two:.1f} ms = {deep / two:.2f}")
    assert deep <= 2 * two
