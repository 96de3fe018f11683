"""What needs no theory: gaps within the range of the loss, classes with one member."""

import math

import numpy as np
import pytest

import dudley as du
from dudley.calculus import chain
from dudley.core.entropy import PowerLaw
from dudley.networks.capacity import capacity
from dudley.theorems import excess
from dudley.theorems.registry import evaluate, load
from each import each

GAPS = [id for id, s in load().items() if s.measure == "risk − training loss"]
OURS = [(id, form) for id, s in load().items() for form in s.forms if form != "printed"]
HARD = ({"n": 1}, {"n": 2}, {"n": 1, "delta": 1e-9}, {"n": 3, "class.rademacher": 5.0})


def on(id: str, form: str, change: dict[str, float]):
    names = {i.name for i in load()[id].inputs}
    known = {name: value for name, value in change.items() if name in names}
    return load()[id].evaluate_on({**load()[id].example, **known}, form)


@pytest.mark.slow
@each("id, form", OURS)
def test_nothing_of_ours_exceeds_the_trivial_bound(id, form):
    for change in HARD:
        bound = on(id, form, change)
        assert bound.value <= bound.trivial * (1 + 1e-12)


def test_gaps_reach_their_trivial_bound_and_printed_forms_are_left_alone():
    assert len(GAPS) == 4
    for id in GAPS:
        bound = on(id, "derived", HARD[0])
        assert bound.value == bound.trivial and bound.vacuous
        assert sum(term.value for term in bound.terms) > bound.trivial  # the terms still show why
    values = {"n": 1, "class.rademacher": 0.05, "delta": 0.05}
    assert evaluate("mwigo2026/equation-3.2", values, "printed").value > 1


WEIGHTS = ("W_v", "W_c", "w")  # behind each of them a head is constant
SINGLE = [
    (id, form, name)
    for id, form in OURS
    for name in (*WEIGHTS, "W")
    if load()[id].measure in ("Rademacher complexity", "covering number")
    and any(i.name.startswith(f"{name}.") for i in load()[id].inputs)
]


@each("id, form, name", SINGLE)
def test_a_weight_of_norm_zero_leaves_one_member(id, form, name):
    norms = [i.name for i in load()[id].inputs if i.name.startswith(f"{name}.")]
    bounded = [i for i in norms if not i.endswith((".rank", ".moved"))]
    assert on(id, form, dict.fromkeys(bounded, 0.0)).value == 0


def test_an_entropy_of_zero_is_one_member():
    values = {"n": 100, "class.C": 0.0, "class.radius": 3.0}
    for id in ("edelman2021/lemma-A.2", "edelman2021/corollary-A.3", "trauger2024/equation-2.4"):
        assert all(evaluate(id, values, form).value == 0 for form in ("derived", "best"))
    moved = {f"{name}.moved": 0.0 for name in ("W_Q", "W_K", "W_v", "w")}
    assert all(on("mwigo2026/lemma-1", form, moved).value == 0 for form in ("derived", "best"))
    task = excess.ExcessTask(100, 1.0, 1.0, 1.0, approximation=0.25, noise_free=True)
    for rule in (excess.derived, excess.best):
        assert rule(PowerLaw(0.0, 1.0), task).value == 0.25  # the member is the best of its class


def test_almost_one_member_is_not_one():
    assert evaluate("edelman2021/lemma-A.2", {"n": 9, "class.C": 1e-9, "class.radius": 1.0}).value
    assert not PowerLaw(1e-300, 1.0).is_single and PowerLaw(1.0, 0.0).is_single


@each("zero", [1, 2, 3])
def test_a_network_with_a_norm_of_zero(zero):
    norms = [1.0, 1.0, 1.0, 1.0]
    norms[zero] = 0.0
    W_QK, W_v, W_c = map(du.L11, norms[:3])
    net = du.Head(d=8, W_QK=W_QK, W_v=W_v, W_c=W_c) >> du.Readout(w=du.L1(norms[3]))
    cap = capacity(net, du.Tokens(row2inf=1.0, T=4), n=50)
    assert all(cap.rademacher(form=form) == 0 for form in ("best", "dudley", "tree", "optimised"))
    assert cap.gap(0.05).terms[0].value == 0 == cap.entropy(0.01)


def test_a_network_that_is_one_function_but_not_zero():
    net = du.Residual(du.Dense(1, du.L11(0.0)))
    cap = capacity(net, du.Tokens(row2inf=2.0, T=1, d=1), n=50)
    assert float(cap.facts.out.radius) == pytest.approx(2.0)
    assert all(cap.rademacher(form=form) == 0 for form in ("best", "dudley", "tree", "optimised"))
    log_n = np.log([50.0])
    assert chain.by_integral(cap.allocated, math.log(2), log_n) == 0
