"""Elasticities: d log(gap)/d log x, their signs and their sizes."""

from __future__ import annotations

import math

import pytest

import dudley as du
from dudley.networks import elasticity

S = du.Spectral(1.0)


def head(d: int = 16, trained: bool | None = None, T: int = 8):
    single = du.Head(d, W_QK=du.L11(2.0), W_v=du.L11(1.0), W_c=du.L11(1.0), k=4)
    net = single >> du.Readout(du.L1(1.0))
    return net if trained is None else du.Positions(d, T, du.Row2Inf(0.5), trained) >> net


def cap(network=None, n: float | None = 1e6, T: int = 8) -> du.Capacity:
    return du.capacity(network or head(), du.Tokens(1.0, T=T), n)


def blocks(kind: str):
    heads = {"d": 8, "H": 2, "W_Q": S, "W_K": S, "W_v": S, "W_c": S}
    make = {"pre-ln": du.pre_ln_block, "post-ln": du.post_ln_block}[kind]
    block = make(du.MLP(8, 16, S, S), du.LayerNorm(8, 1e-2, du.LInf(1.0)), **heads)
    return du.Repeat(block, 2) >> du.Readout(du.L2(1.0))


def test_signs():
    e = cap().elasticities()
    assert -0.51 < e["n"] < 0
    for name in ("W_QK.l11", "W_v.l11", "W_c.l11", "w.l11", "X.row2inf"):
        assert 0 < e[name] < 2, name
    assert e["T"] == 0
    assert e["d"] > 0 and e["k"] >= 0
    assert e.n == 1e6


def test_n_is_near_minus_one_half_where_parameters_are_counted():
    network = du.Dense(8, S) >> du.Readout(du.L2(1.0))
    assert cap(network, n=1e8).elasticities()["n"] == pytest.approx(-0.5, abs=0.02)


def test_the_length_matters_only_for_trained_positions():
    assert cap(head(trained=False)).elasticities()["T"] == 0
    assert cap(head(trained=True)).elasticities()["T"] > 0.01


def test_an_elasticity_is_the_slope_of_the_gap():
    e = cap().elasticities()

    def log_gap(w: float) -> float:
        single = du.Head(16, W_QK=du.L11(w), W_v=du.L11(1.0), W_c=du.L11(1.0), k=4)
        return math.log(float(cap(single >> du.Readout(du.L1(1.0))).gap(0.05)))

    slope = (log_gap(2.2) - log_gap(2.0 / 1.1)) / (2 * math.log(1.1))
    assert e["W_QK.l11"] == pytest.approx(slope, rel=1e-6)


def test_a_vacuous_bound_is_moved_to_where_it_speaks():
    for n in (None, 10):
        c = cap(n=n)
        e = c.elasticities()
        assert e.n == c.needed_n(0.5)
        assert e["n"] < 0


@pytest.mark.parametrize("kind", ["pre-ln", "post-ln"])
def test_blocks_of_practice_have_elasticities(kind: str):
    e = cap(blocks(kind), n=1e10).elasticities()
    assert e["n"] < 0 and e["L"] > 0 and e["d"] > 0 and e["k"] > 0
    assert {"W_Q.op", "W_K.op", "W_v.op", "W_c.op", "W_1.op", "W_2.op"} <= set(e.values)
    assert "gain.linf" in e.values
    assert all(math.isfinite(v) for v in e.values.values())


def test_trained_positions_and_logits_have_elasticities():
    network = (
        du.Embedding(50, 8, du.Row2Inf(1.0))
        >> du.Positions(8, 4, du.Row2Inf(1.0), trained=True)
        >> du.Logits(50, du.Col2Inf(1.0))
    )
    c = du.capacity(network, du.OneHot(50, 4), 1e8, du.CrossEntropy(2.0))
    e = c.elasticities()
    assert e["n"] < 0 and e["T"] > 0 and e["d"] > 0 and e["V"] > 0


def test_where_no_number_of_examples_helps_there_is_a_clear_refusal():
    """Nothing is known of the middle, so the bound is trivial for every n."""
    unknown = du.GeneralHead(du.PowerLaw(1.0, 1.0), du.PowerLaw(1.0, 1.0), width=8)
    c = du.capacity(du.Dense(8, S) >> unknown >> du.Readout(du.L2(1.0)), du.Tokens(1.0, T=4), 1e6)
    assert c.needed_n(0.5) == math.inf
    with pytest.raises(du.InputError, match=r"vacuous|trivial"):
        c.elasticities()


def test_it_prints_the_largest_first():
    e = elasticity.Elasticities({"n": -0.5, "d": 0.1, "w.l11": 0.9}, 1e6)
    lines = str(e).splitlines()
    assert lines[0] == "at n = 1e+06"
    assert [line.split()[0] for line in lines[1:]] == ["w.l11", "n", "d"]
    assert "-0.500" in str(e) and "+0.900" in str(e)


def test_norms_are_found_by_name_and_scaled_everywhere():
    network = blocks("pre-ln")
    names = elasticity.norms(network)
    assert "W_Q.op" in names and "w.fro" in names
    doubled = elasticity.scale_norm(head(), "W_QK.l11", 2.0)
    changed = doubled.nodes[0]
    assert (changed.W_QK, changed.W_v) == (du.L11(4.0), du.L11(1.0))
