"""Tied weights: one perturbation of the shared matrix, everywhere at once."""

import math

import numpy as np
import pytest

import dudley as du
from dudley.audit.problem import SearchProblem, signal_of
from dudley.calculus.assemble import compose
from dudley.calculus.compose import Chain
from dudley.calculus.repeat import Repeat
from dudley.calculus.tie import tie_together
from dudley.core.errors import InputError
from node_cases import S, check_facts

E = S(1.5).tied("E")


def embedding_and_logits(V=5, d=4, between=()):
    return Chain((du.Embedding(V, d, E), *between, du.Logits(V, E)))


@pytest.mark.parametrize("between", [(), (du.ProjectRows(),), (du.Dense(4, S(0.8), sigma="relu"),)])
def test_an_embedding_tied_to_the_logits(between):
    """Merged: the weights add, and the error is the spectral norm that both orientations share."""
    last = len(between) + 1
    problem = SearchProblem(
        embedding_and_logits(between=between),
        d=5,
        radii=(1.0,),
        one_hot=True,
        logits=True,
        l1=1.0,
        ties={(last, "W"): ((0, "W_E"), True)},
    )
    ratios = check_facts(problem, restarts=24)
    assert max(ratios.ratios.values()) > 0.7


def shared(inner, L, master_paths, T=5):
    return SearchProblem(
        Repeat(inner, L),
        T=T,
        radii=(0.5, 1.0),
        ties={(i, *path): ((0, *path), False) for i in range(1, L) for path in master_paths},
    )


def test_layers_that_share_their_weights():
    sets = {"W_QK": S(1.0).tied("QK"), "W_v": S(1.2).tied("v"), "W_c": S(1.1).tied("c")}
    block = du.trauger_block(4, k=3, **sets)
    paths = [(0, "W_QK"), (0, "W_v"), (3, "W_c")]
    check_facts(shared(block, 3, paths))
    dense = check_facts(shared(du.Dense(4, S(1.2).tied("W")), 3, [("W",)]))
    assert dense.worst()["0.W"] > 0.95  # W³: three uses add up


def test_merged_weights_and_points():
    block = du.Dense(4, S(2.0).tied("W"))
    (use,) = tie_together(Repeat(block, 3).facts(signal_of(1.0, 4, 4)).uses)
    assert math.isclose(float(use.weight), 3 * 4.0, rel_tol=1e-12)  # 2² at each layer
    assert (use.name, use.rows, use.copies, use.count) == ("W", 12, 1, 1)
    heads = du.Heads(du.Dense(4, S(2.0).tied("W")), 5).facts(signal_of(1.0, 4, 4))
    (use,) = tie_together(heads.uses)
    assert math.isclose(float(use.weight), 5.0, rel_tol=1e-12) and use.rows == 20


def test_a_chain_and_a_repeat_tie_alike():
    block = du.trauger_block(4, S(1.0).tied("QK"), S(1.2), S(1.1).tied("c"), k=3)
    signal = signal_of(0.5, 4, 4)
    first, other = (
        {u.name: u for u in tie_together(n.facts(signal).uses) if u.name in ("QK", "c")}
        for n in (Repeat(block, 4), Chain((block,) * 4))
    )
    for name in ("QK", "c"):
        np.testing.assert_allclose(first[name].weight.log, other[name].weight.log, rtol=1e-12)
        assert (first[name].rows, first[name].pairs) == (other[name].rows, other[name].pairs)


def test_untied_weights_are_left_alone():
    signal = signal_of(1.0, 4, 4)
    net = du.Dense(4, S(1.0)) >> du.Dense(4, S(1.0))
    assert len(tie_together(net.facts(signal).uses)) == 2
    two = du.Dense(4, S(1.0).tied("a")) >> du.Dense(4, S(1.0).tied("b"))
    assert [u.name for u in tie_together(two.facts(signal).uses)] == ["a", "b"]


def test_tying_costs_more_than_one_use_and_no_more_covers():
    """A tied pair has one block in the allocation, with the sum of the weights."""
    signal = signal_of(1.0, 4, 5, l1=1.0)
    entropy, facts = compose(embedding_and_logits(), signal)
    assert len(entropy.blocks) == 1
    total = sum(float(u.weight) for u in facts.uses)
    assert math.isclose(float(entropy.blocks[0].weight), total, rel_tol=1e-12)


def test_other_shapes_do_not_tie():
    net = du.Dense(4, S(1.0).tied("W"), 3) >> du.Dense(3, S(1.0).tied("W"), 2)
    with pytest.raises(InputError, match="transpose"):
        compose(net, signal_of(1.0, 4, 4))


def test_constraint_keeps_its_tie_through_intersections():
    assert (S(1.0).tied("W") & du.L11(3.0)).tie == "W"
    assert (du.L11(3.0) & S(1.0).tied("W")).tie == "W"
