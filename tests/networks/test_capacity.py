"""Capacity: what is refused, what is paid for, and how the gap moves."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import dudley as du
from dudley.core.assumption import Status
from dudley.core.errors import InputError, NotYetPaid
from each import each

TOKENS = du.Tokens(1.0, T=8)
SEEN = du.Observed


def head(W_QK=2.0, W_v=1.0, w=1.0, d=16):
    single = du.Head(d, W_QK=du.L11(W_QK), W_v=du.L11(W_v), W_c=du.L11(1.0))
    return single >> du.Readout(du.L1(w))


def cap(network=None, inputs=TOKENS, n: float | None = 1e6, loss=None) -> du.Capacity:
    return du.capacity(network or head(), inputs, n, loss)


def statuses(bound: du.Bound) -> dict[str, Status]:
    return {a.name: a.status for a in bound.assumptions}


# -- observed numbers -------------------------------------------------------------------------

OBSERVED_INPUTS = {
    "ℓ2 radius": du.Tokens(SEEN(1.0), T=8),
    "ℓ1 radius": du.Tokens(1.0, T=8, row1inf=SEEN(2.0)),
}


@pytest.mark.parametrize("union", [None, du.Grid()], ids=["no union", "union"])
@pytest.mark.parametrize("case", OBSERVED_INPUTS)
def test_a_radius_measured_on_data_is_always_refused(case: str, union):
    with pytest.raises(NotYetPaid, match="measured on data"):
        cap(inputs=OBSERVED_INPUTS[case]).gap(0.05, union=union)


def test_a_measured_radius_to_which_inputs_are_clipped_can_be_paid():
    clipped = cap(inputs=du.Tokens(SEEN(1.1), T=8, clipped=True))
    with pytest.raises(NotYetPaid, match="pass union"):
        clipped.gap(0.05)
    bound = clipped.gap(0.05, union=du.Grid())
    declared = cap(inputs=du.Tokens(1.1, T=8, clipped=True)).gap(0.05)
    assert float(bound) > float(declared)
    assert statuses(bound)["weights"] is Status.PAID
    assert statuses(declared)["inputs"] is Status.CHECKED


READ_OFF = {
    "a norm": (lambda x: cap(head(W_QK=x(3.0))), 1),
    "two norms": (lambda x: cap(head(W_QK=x(3.0), w=x(0.7))), 2),
    "a norm that is zero": (lambda x: cap(head(W_QK=x(0.0))), 1),
    "a margin": (lambda x: cap(loss=du.Margin(x(0.3))), 1),
    "a clipping level": (lambda x: cap(loss=du.CrossEntropy(x(3.0))), 1),
    "a range": (lambda x: cap(loss=du.Loss(range=x(3.0))), 1),
    "a bias": (
        lambda x: cap(du.Dense(16, du.L11(1.0), b=du.L2(x(0.7))) >> du.Readout(du.L1(1.0))),
        1,
    ),
    "positions": (
        lambda x: cap(du.Positions(16, 8, du.Row2Inf(x(0.7))) >> head()),
        1,
    ),
    "a distance from a centre": (
        lambda x: cap(
            du.Dense(16, du.Frobenius(x(0.7), center={"op": 1.0})) >> du.Readout(du.L1(1.0))
        ),
        1,
    ),
    "the norm of a query": (
        lambda x: cap(
            du.Head(16, du.L11(1.0), du.L11(2.0), query="fixed", query_norm=x(0.7))
            >> du.Readout(du.L1(1.0))
        ),
        1,
    ),
    "inside a repeat": (
        lambda x: cap(
            du.Repeat(du.trauger_block(8, *(du.Spectral(x(0.9)) for _ in range(3))), 2)
            >> du.Readout(du.L2(1.0))
        ),
        3,
    ),
    "a rank": (
        lambda x: cap(
            du.Dense(16, du.Rank(x(3.0)) & du.Spectral(1.0)) >> du.Readout(du.L1(1.0)), n=1e8
        ),
        1,
    ),
}  # fmt: skip


@each("case", READ_OFF)
def test_what_was_read_off_after_training_needs_a_union(case: str):
    make, count = READ_OFF[case]
    seen = make(SEEN)
    for refused in (
        lambda: seen.gap(0.05),
        lambda: seen.gaps([1e5, 1e6], 0.05),
        lambda: seen.needed_n(0.5),
        lambda: seen.log10_needed_n(0.5),
        lambda: seen.elasticities(),
        lambda: seen.proof(),
    ):
        with pytest.raises(NotYetPaid, match="read off after training"):
            refused()
    declared, paid = make(float).gap(0.05), seen.gap(0.05, union=du.Grid())
    assert float(paid) > float(declared)
    assert statuses(paid)["weights"] is Status.PAID
    assert statuses(declared)["weights"] is Status.DECLARED
    assert paid.details["union_nats"] > 0 == declared.details["union_nats"]
    note = paid.terms[1].note
    assert f"for reading off {count} number" in note


def test_a_finer_grid_rounds_less_and_costs_more():
    seen = cap(head(W_QK=SEEN(3.0)))
    coarse, fine = (seen.gap(0.05, union=du.Grid(r)).details["union_nats"] for r in (4.0, 1.01))
    assert fine > coarse > 0


def test_a_union_without_observed_numbers_is_free():
    assert float(cap().gap(0.05, union=du.Grid())) == float(cap().gap(0.05))
    assert statuses(cap().gap(0.05, union=du.Grid()))["weights"] is Status.DECLARED


def test_the_diagnostics_accept_observed_numbers():
    seen, declared = cap(head(W_QK=SEEN(3.0))), cap(head(W_QK=3.0))
    assert seen.entropy(0.1) == declared.entropy(0.1)
    assert seen.rademacher() == declared.rademacher()
    assert seen.explain() == declared.explain()


@pytest.mark.parametrize("loss", [None, du.Margin(0.5), du.CrossEntropy(2.0)])
@pytest.mark.parametrize("clipped", [False, True])
def test_every_assumption_has_a_status(loss, clipped):
    bound = cap(inputs=du.Tokens(1.0, T=8, clipped=clipped), loss=loss).gap(0.05)
    assert {a.name for a in bound.assumptions} == {"sample", "inputs", "loss", "weights"}
    assert all(isinstance(a.status, Status) and a.statement for a in bound.assumptions)
    assert statuses(bound)["sample"] is Status.UNCHECKABLE
    assert Status.OBSERVED not in statuses(bound).values()
    assert all(a["status"] for a in bound.to_json()["assumptions"])


# -- how the gap moves ------------------------------------------------------------------------

SIZES = np.round(np.logspace(0, 12, 25))
NETWORKS = {
    "l11 head": head(),
    "spectral head": du.Head(8, du.Spectral(1.0), du.Spectral(2.0)) >> du.Readout(du.L2(1.0)),
    # here a cover on points wins, so the entropy grows with n
    "points": du.Dense(4096, du.Col21(1.0), 4096) >> du.Readout(du.L2(1.0)),
}
LOSSES = {
    "default": None,
    "ramp": du.Margin(0.3),
    "cross-entropy": du.CrossEntropy(3.23),  # exp(log 3.23) < 3.23 in floats
    "robust": du.Robust(du.Loss(range=9.0), power=1.5),
}


@pytest.mark.parametrize(
    ("network", "loss"),
    [*((name, "default") for name in NETWORKS), *(("l11 head", x) for x in LOSSES)],
)
def test_the_gap_falls_with_n_within_zero_and_the_range(network: str, loss: str):
    c = cap(NETWORKS[network], du.Tokens(1.0, T=2), loss=LOSSES[loss])
    gaps = c.gaps(SIZES, 0.05)
    assert (gaps > 0).all() and (gaps <= c.loss.range).all()
    assert (np.diff(gaps) <= 0).all()
    assert gaps[0] == c.loss.range and gaps[-1] < 0.1


@pytest.mark.parametrize("network", NETWORKS)
def test_one_example_more_never_raises_the_gap(network: str):
    """Covers on points are asked for a power of two: the step must not show."""
    c = cap(NETWORKS[network], du.Tokens(1.0, T=2))
    edges = 2.0 ** np.arange(14, 23, 2)
    at, after = c.gaps(edges, 0.05), c.gaps(edges + 1, 0.05)
    assert (after <= at).all()
    assert (at < 1).any()


@pytest.mark.parametrize("network", NETWORKS)
def test_the_gap_falls_as_delta_grows(network: str):
    c = cap(NETWORKS[network], du.Tokens(1.0, T=2), n=1e8)
    gaps = [float(c.gap(δ)) for δ in (1e-300, 1e-9, 0.01, 0.05, 0.5, 0.999)]
    assert all(a > b > 0 for a, b in pairwise(gaps))


@pytest.mark.parametrize("δ", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_a_confidence_outside_the_open_interval_is_refused(δ):
    for refused in (cap().gap, lambda δ: cap().gaps([1e6], δ), lambda δ: cap().needed_n(0.5, δ)):
        with pytest.raises(InputError, match="delta"):
            refused(δ)


@pytest.mark.parametrize("n", [0, -1, 0.5, math.nan, math.inf, [1e5, 0]])
def test_a_number_of_examples_below_one_is_refused(n):
    with pytest.raises(InputError, match="n:"):
        cap().gaps(n, 0.05)
    with pytest.raises(InputError, match="n:"):
        cap(n=n)


def test_the_bound_adds_up():
    for n in (10, 1e6):
        bound = cap(n=n).gap(0.05)
        total = sum(term.value for term in bound.terms)
        assert float(bound) == pytest.approx(min(total, 1.0), rel=1e-12)
        assert bound.terms[1].value == pytest.approx(math.sqrt(math.log(20) / (2 * n)), rel=1e-12)
        assert bound.vacuous == (total >= 1)


@pytest.mark.parametrize("range", [1.0, 3.23, 3.38, 10.83, 7.1e-3, 1e6 + 0.1])
def test_a_trivial_bound_is_called_vacuous(range: float):
    bound = cap(n=1, loss=du.Loss(range=range)).gap(0.05)
    assert float(bound) == range and bound.vacuous


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("target", [0.9, 0.5, 0.05])
def test_needed_n_is_where_the_gap_crosses(network: str, target: float):
    c = cap(NETWORKS[network], du.Tokens(1.0, T=2))
    n = c.needed_n(target)
    assert n == math.ceil(n) and c.log10_needed_n(target) == pytest.approx(math.log10(n), abs=1e-3)
    at, before = c.gaps([n, 0.9 * n], 0.05)
    assert at <= target < before


def test_needed_n_grows_with_confidence_and_accuracy():
    assert cap().needed_n(0.1, 0.05) > cap().needed_n(0.5, 0.05) > cap().needed_n(0.5, 0.9)
    for target in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="target"):
            cap().needed_n(target)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_sweep_is_many_single_evaluations(network: str):
    c = cap(NETWORKS[network], du.Tokens(1.0, T=2))
    sweep = c.gaps(SIZES, 0.05)
    chosen = range(0, len(SIZES), 4)
    assert [float(c.gap(0.05, n=SIZES[i])) for i in chosen] == [sweep[i] for i in chosen]
    assert [c.gaps([SIZES[i]], 0.05)[0] for i in chosen] == [sweep[i] for i in chosen]
    complexities = c.rademacher(SIZES)
    assert [c.rademacher(SIZES[i]) for i in chosen] == [complexities[i] for i in chosen]


@pytest.mark.parametrize("network", NETWORKS)
def test_the_forms_are_ordered(network: str):
    c = cap(NETWORKS[network], du.Tokens(1.0, T=2))
    forms = [c.rademacher(SIZES, form) for form in ("best", "optimised", "tree", "dudley")]
    for lower, upper in pairwise(forms):
        assert (lower <= upper * (1 + 1e-12)).all()
    assert (forms[0] > 0).all() and (forms[-1] <= float(c.facts.out.radius) * (1 + 1e-12)).all()
    assert (forms[0] < forms[-1]).any()
    with pytest.raises(InputError, match="form"):
        c.rademacher(form="best of all")


def test_the_entropy_falls_with_the_resolution():
    values = cap().entropy(np.logspace(-6, 1, 60))
    assert (np.diff(values) <= 0).all() and values[-1] == 0 and values[0] > 1e3


# -- the length of the sequence ---------------------------------------------------------------


def test_with_fixed_positions_the_length_does_not_matter():
    def gap(T: int) -> float:
        network = du.Positions(16, T, du.Row2Inf(0.5)) >> head()
        return float(cap(network, du.Tokens(1.0, T=T)).gap(0.05))

    assert gap(20) == gap(1_000_000)


def test_with_trained_positions_it_does():
    def gap(T: int) -> float:
        network = du.Positions(16, T, du.Row2Inf(0.5), trained=True) >> head()
        return float(cap(network, du.Tokens(1.0, T=T)).gap(0.05))

    assert gap(20) < gap(40) < gap(1_000_000)


# -- scaling ----------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.25, 3.0, 1e3])
def test_units_do_not_matter(c: float):
    def gap(R, W_QK, W_v, w, loss=None) -> float:
        return float(cap(head(W_QK, W_v, w), du.Tokens(R, T=8), loss=loss).gap(0.05))

    here = gap(1.0, 2.0, 1.0, 1.0)
    assert gap(c, 2.0 / c**2, 1.0 / c, 1.0) == pytest.approx(here, rel=1e-6)
    assert gap(1.0, 2.0, c, 1.0 / c) == pytest.approx(here, rel=1e-6)
    assert gap(1.0, 2.0, 1.0, c, du.Loss(lipschitz=1 / c)) == pytest.approx(here, rel=1e-6)
    scaled = gap(1.0, 2.0, 1.0, c, du.Loss(range=c))  # the loss in other units
    assert scaled == pytest.approx(c * here, rel=1e-6)


@pytest.mark.parametrize("c", [0.5, 2.0])
def test_larger_weights_never_lower_the_gap(c: float):
    low, high = sorted([1.0, c])
    for name in ("W_QK", "W_v", "w"):
        assert float(cap(head(**{name: low})).gap(0.05)) < float(
            cap(head(**{name: high})).gap(0.05)
        )


# -- what is refused --------------------------------------------------------------------------


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="network"):
        du.capacity("head", TOKENS)  # pyright: ignore
    with pytest.raises(InputError, match="inputs"):
        du.capacity(head(), 1.0)  # pyright: ignore
    with pytest.raises(InputError, match="n:"):
        cap(n=None).gap(0.05)
    with pytest.raises(InputError, match="n:"):
        cap().gap(0.05, n=[1e5, 1e6])
    with pytest.raises(InputError, match="width"):
        cap(inputs=du.Tokens(1.0, T=8, d=5)).gap(0.05)
    with pytest.raises(InputError, match="one per token"):
        cap(du.Dense(16, du.L11(1.0), 1)).gap(0.05)
    logits = du.Logits(3, du.Spectral(1.0))
    with pytest.raises(InputError, match="one output"):
        cap(logits, du.Tokens(1.0, T=8, d=16)).rademacher()
