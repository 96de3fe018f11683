"""Networks that end in a readout: peeled where that is smaller, and only where it is right."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dudley as du
from dudley.networks import capacity as capacities, chained, explain
from dudley.networks.chained import CoveredNetwork, PeeledNetwork, peeled
from each import each
from planting import goes_red

S, TOKENS = du.Spectral(1.0), du.Tokens(1.0, T=4, d=8)
HEAD = du.Head(8, W_QK=du.L11(2.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
PRE_LN = du.pre_ln_block(du.MLP(8, 16, S, S), du.LayerNorm(8), d=8, H=2, W_Q=S, W_K=S, W_v=S, W_c=S)
BODIES = {
    "head": HEAD,
    "residual": du.Residual(HEAD),
    "block": PRE_LN,
    "positions": du.Positions(8, 4, du.L2(1.0), trained=True) >> HEAD,
    "nothing": du.Activate("relu"),
}


def cap(body, w=None, n=1e6, **options) -> du.Capacity:
    return du.capacity(body >> du.Readout(w or du.L2(1.0)), TOKENS, n, **options)


@each("name", BODIES)
def test_the_smaller_of_both_bounds_holds(name):
    c = cap(BODIES[name])
    covered, way = c.chained
    assert isinstance(covered, CoveredNetwork) and isinstance(way, PeeledNetwork)
    size = np.log([1e6])
    both = [float(one.complexity(size)[0]) for one in c.chained]
    assert c.gap(0.05).terms[0].value == pytest.approx(2 * min(both), rel=1e-12)
    leads = isinstance(c.leading(size[0]), PeeledNetwork)
    assert leads == (both[1] < both[0])
    assert ("peeled" in c.gap(0.05).terms[0].note) == leads


def test_a_single_network_with_a_free_readout_is_not_free():
    """R̂ = B·R/√n on orthogonal inputs, though the vectors are those of one network."""
    c = du.capacity(du.Activate("relu") >> du.Readout(du.L2(3.0)), du.Tokens(2.0, d=8), n=100)
    assert c.rademacher() == pytest.approx(0.6, rel=1e-12)


def test_the_readout_of_wide_rows_costs_no_dimension():
    for w in (du.L2(1.0), du.L1(1.0)):
        c = du.capacity(du.Readout(w), du.Tokens(1.0, d=768))
        assert c.needed_n(0.1) == pytest.approx(1040, abs=1)  # ((2 + √(ln 20/2))/0.1)²


@each("scale", [1e-3, 1.0, 1e3])
def test_lipschitz_constant_and_norm_of_the_readout_are_one_factor(scale):
    loss = du.Loss(range=1e9, name="wide")
    wide = du.Loss(lipschitz=scale, range=1e9, name="wide")
    norm = cap(HEAD, du.L2(scale), loss=loss).gap(0.05, n=1e8).terms[0].value
    slope = cap(HEAD, loss=wide).gap(0.05, n=1e8).terms[0].value
    assert norm == pytest.approx(slope, rel=1e-9)
    assert cap(HEAD, du.L2(scale)).rademacher(1e8) == pytest.approx(
        scale * cap(HEAD).rademacher(1e8), rel=1e-6
    )


def check_what_is_chained():
    """Losses are off by L times the network, and by L·B times the vectors before the readout."""
    body, n = du.capacity(HEAD, TOKENS), 1e6
    R = float(body.facts.out.radius)
    for L, B, b in ((3.0, 0.5, 1e9), (0.2, 7.0, 1e9), (3.0, 7.0, 0.4)):
        c, A = cap(HEAD, du.L2(B), loss=du.Loss(L, b, "any")), L * B * R
        covered, way = c.chained
        assert isinstance(way, PeeledNetwork)
        assert math.exp(covered.log_A) == pytest.approx(min(b / 2, A), rel=1e-9)
        assert math.exp(way.log_A) == pytest.approx(A, rel=1e-9)
        assert way.reach * A == pytest.approx(min(b / 2, A), rel=1e-9)
        for entropy, whole, factor in (
            (covered.entropy, c.allocated, L),
            (way.entropy, body.allocated, L * B),
        ):
            for ε in (1e-4, 0.07, 0.3):
                assert entropy(factor * ε, n) == pytest.approx(whole(ε, n), rel=1e-9)
            assert entropy(A * (1 + 1e-9), n) == 0 < entropy(0.99 * A, n)


def test_what_is_chained_is_the_network_in_units_of_the_loss():
    check_what_is_chained()


@each("far", [1 / 1.2, 1.2])
def test_a_planted_unit_is_seen(far):
    """In the weights of the blocks alone, in the radius of the outputs, and in that of losses."""
    right = chained.stretched

    def blocks(entropy, by):
        return replace(right(entropy, by * far), log_output=right(entropy, by).log_output)

    def output(entropy, by):
        wrong = right(entropy, by)
        return replace(wrong, log_output=wrong.log_output + math.log(far))

    for wrong in (blocks, output):
        with pytest.MonkeyPatch.context() as plant:
            plant.setattr(chained, "stretched", wrong)
            plant.setattr(capacities, "stretched", wrong)
            goes_red(check_what_is_chained)
    with pytest.MonkeyPatch.context() as plant:
        plant.setattr(chained, "PeeledNetwork", lambda *way: PeeledNetwork(*way[:2], far * way[2]))
        goes_red(check_what_is_chained)


def test_a_readout_around_a_centre_pays_for_the_centre():
    w = du.L2(0.5, center=np.full(8, 1 / math.sqrt(8)))
    c = du.capacity(du.Readout(w), du.Tokens(1.0, d=8), n=100)
    way = peeled(c.network, c.signal, None)
    assert way is not None and math.exp(way.log_A) == pytest.approx(1.5, rel=1e-9)


def test_a_readout_that_shares_its_weights_is_let_free():
    """The vectors keep their cover of the shared weight; w is bounded by its norm."""
    shared = du.L2(1.0).tied("E")
    net = (
        du.Dense(8, shared, k=1, sigma="tanh") >> du.Dense(1, du.L2(1.0), k=8) >> du.Readout(shared)
    )
    c = du.capacity(net, du.Tokens(1.0, d=8), n=1e5)
    free = du.capacity(
        du.Dense(8, du.L2(1.0), k=1, sigma="tanh")
        >> du.Dense(1, du.L2(1.0), k=8)
        >> du.Readout(du.L2(1.0)),
        du.Tokens(1.0, d=8),
        n=1e5,
    )
    size = np.log([1e5])
    assert c.chained[1].complexity(size) == pytest.approx(free.chained[1].complexity(size))
    assert {row.block for row in c.shares[0]} == {"E", "1.W"}


@each(
    "network",
    [
        HEAD >> du.Logits(3, S),
        HEAD >> du.Readout(du.L2(0.0)),
        HEAD >> du.Pool() >> du.Dense(8, S, k=1, sigma="tanh"),
    ],
)
def test_other_networks_are_covered_alone(network):
    c = du.capacity(network, TOKENS, 1e6)
    assert [type(one) for one in c.chained] == [CoveredNetwork]
    assert c.gap(0.05).value >= 0


def test_rules_by_name_do_not_peel():
    c = du.capacity(du.Readout(du.L2(1.0)), du.Tokens(1.0, d=768), n=1e6)
    for form in ("dudley", "tree", "optimised"):
        assert c.rademacher(form=form) > 10 * c.rademacher()


def test_sizes_past_the_floats_are_no_number_in_disguise():
    steep = du.LayerNorm(8, 1e-300)
    c = cap(du.Repeat(du.Residual(du.Dense(8, du.Spectral(1e9))), 60) >> steep, du.L2(1e300))
    assert c.gap(0.05).vacuous
    c = cap(du.Repeat(du.Residual(du.Dense(8, du.Spectral(1e9))), 60), du.L2(1e300))
    assert c.gap(0.05).vacuous and c.rademacher() == math.inf
    assert "W" in c.explain()


def test_a_peeled_readout_has_no_share_and_is_named():
    loss = du.Loss(range=2.0, name="a 1-Lipschitz loss in [0, 2]")
    c = cap(HEAD, loss=loss)
    rows = {row.name: row for row in c.shares[0]}
    assert (rows["w"].share, rows["w"].cover) == (0.0, "peeled")
    assert sum(row.share for row in rows.values()) == pytest.approx(1.0)
    assert "peeled" in c.explain()
    titles = [step.lemma.title for step in c.prove().steps]
    assert titles[-4:] == ["Allocation", "Contraction", "Peeling and chaining", "Deviation"]


def test_a_readout_alone_holds_no_entropy():
    c = du.capacity(du.Readout(du.L2(1.0)), du.Tokens(1.0, d=8), n=1e6)
    assert explain.culprit(c).startswith("no block holds entropy: the readout is peeled")


def test_a_link_to_one_centre_is_not_to_blame_where_others_are():
    """Maps so small that one centre serves: its link costs most, and holds no entropy."""
    small = du.Residual(du.Dense(8, du.Spectral(1e-3)))
    c = du.capacity(small >> du.Readout(du.L2(1.0)), du.Tokens(1.0, d=8), n=1e8)
    assert explain.culprit(c) == "W holds 100% of the entropy"


def test_sweeps_and_single_values_agree():
    sizes = np.geomspace(10, 1e9, 9)
    c = cap(du.Residual(HEAD))
    assert c.gaps(sizes, 0.05) == pytest.approx([c.gap(0.05, n=n).value for n in sizes], rel=1e-12)
    assert (np.diff(c.gaps(sizes, 0.05)) <= 0).all()
