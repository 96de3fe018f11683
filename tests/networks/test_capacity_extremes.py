"""Capacity at great depth, at extreme radii and with unknown constants: numbers stay finite."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest

import dudley as du
from dudley.networks import explain
from each import each


def spectral(r: float, *names: str) -> dict[str, du.Constraint]:
    return dict.fromkeys(names, du.Spectral(r))


def block(kind: str, r: float, d: int = 8):
    S, heads = du.Spectral(r), spectral(r, "W_Q", "W_K", "W_v", "W_c")
    mlp, ln = du.MLP(d, 8, S, S, "gelu"), du.LayerNorm(d, 1e-12)
    return {
        "trauger": lambda: du.trauger_block(d, S, S, S),
        "li": lambda: du.li_block(d, S, S, S),
        "pre-ln": lambda: du.pre_ln_block(mlp, ln, d=d, H=2, **heads),
        "post-ln": lambda: du.post_ln_block(mlp, ln, d=d, H=2, **heads),
        "residual": lambda: du.Residual(du.MultiHeadAttention(d, 2, **heads)) >> du.Residual(mlp),
        "heads": lambda: du.Head(d, S, S, W_c=S),
    }[kind]()


@pytest.mark.slow
@each("r", [1e-6, 1.0, 1e6])
@each("kind", ["trauger", "li", "pre-ln", "post-ln", "residual", "heads"])
def test_ninety_six_layers_stay_in_the_numbers(kind: str, r: float):
    network = du.Repeat(block(kind, r), 96) >> du.Readout(du.L2(r))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = du.capacity(network, du.Tokens(r, T=4), 1e12)
        facts, log_n = c.facts, math.log(1e12)
        logs = [float(facts.out.radius.log), float(facts.lipschitz.log)]
        log_ε = min(logs[0], 0.0) - math.log(10)  # a tenth of the radius, or finer
        log_log_N = float(c.allocated.log_log(log_ε, log_n))
        gaps = c.gaps([1, 1e6, 1e12], 0.05)
        bound = c.gap(0.05)
        culprit = explain.culprit(c)
    assert np.isfinite(logs).all()
    assert math.isfinite(log_log_N) and log_log_N > 0
    assert np.isfinite(gaps).all() and (np.diff(gaps) <= 0).all() and (gaps > 0).all()
    assert float(bound) == pytest.approx(gaps[-1], rel=1e-12) and math.isfinite(bound.log_value)
    assert "holds 0%" not in culprit and "inf" not in culprit and "nan" not in culprit


SQUARES = """
import dudley as du
S = du.Spectral(1e6)
network = du.Repeat(du.Residual(du.SwiGLU(4, 4, S, S, S)), 60) >> du.Readout(du.L2(1.0))
bound = du.capacity(network, du.Tokens(1e6, T=4), n=1e12).gap(0.05)
assert float(bound) == 1.0 and bound.vacuous
"""


def test_a_network_that_squares_its_radius_in_each_layer_ends():
    """In a process of its own: where logs pass 10^13, a bisection to 10^−3 would never end."""
    subprocess.run([sys.executable, "-W", "error", "-c", SQUARES], check=True, timeout=120)


def unknown(before: float = 1.0):
    """A head of unknown Lipschitz constant behind a dense layer."""
    middle = du.GeneralHead(du.PowerLaw(1.0, 1.0), du.PowerLaw(1.0, 1.0), width=8)
    return du.Dense(8, du.Spectral(before)) >> middle >> du.Readout(du.L2(1.0))


def test_an_unknown_lipschitz_constant_in_the_middle_gives_the_trivial_bound():
    c = du.capacity(unknown(), du.Tokens(1.0, T=4, d=8), 1e6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = c.gap(0.05)
        assert float(bound) == 1.0 and bound.vacuous
        assert (c.gaps([1, 1e6, 1e12], 0.05) == 1.0).all()
        assert c.rademacher() == pytest.approx(1.0)  # the radius
        assert c.entropy(0.1) == math.inf
        assert c.needed_n(0.5) == c.log10_needed_n(0.5) == math.inf
        assert "nan" not in c.explain().lower()
    first = du.capacity(du.Chain(unknown().nodes[1:]), du.Tokens(1.0, T=4, d=8), 1e6)
    assert float(first.gap(0.05)) < 0.5  # where nothing stands before it, nothing is lost


def test_a_block_of_radius_zero_before_an_unknown_constant_is_no_nan():
    c = du.capacity(unknown(before=0.0), du.Tokens(1.0, T=4, d=8), 1e6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 0 < float(c.gap(0.05)) <= 1.0
        assert "nan" not in c.explain().lower()
