"""The price of numbers read off after training."""

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given, strategies as st

import calculus_checks as checks
import dudley as du
from dudley.calculus.union import Grid, observed_numbers, pay
from dudley.core.constraint import Center


@pytest.mark.parametrize("ratio", [math.sqrt(2), 1.01, 2.0, 10.0])
def test_grids(ratio):
    checks.check_grid(Grid(ratio))


@given(st.floats(1e-290, 1e290), st.sampled_from([1.05, math.sqrt(2), 3.0, 100.0]))
def test_norms_go_up_and_margins_down(value, ratio):
    grid = Grid(ratio)
    above, _ = grid.round_up(value)
    below, _ = grid.round_down(value)
    assert below <= value <= above
    assert above <= value * ratio * (1 + 1e-9)
    assert below >= value / ratio * (1 - 1e-9)
    assert grid.round_up(above)[0] == above
    assert grid.round_down(below)[0] == below


@pytest.mark.parametrize("ratio", [1.5, 1e3, 1e10])
def test_a_norm_of_zero_has_a_price(ratio):
    used, nats = Grid(ratio).round_up(0.0)
    assert 0 <= used < 1e-12
    assert nats > 0


@pytest.mark.parametrize("ratio", [1.0, 0.5, -2.0, math.inf, math.nan])
def test_bad_ratios_are_refused(ratio):
    with pytest.raises(du.InputError):
        Grid(ratio)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_bad_values_are_refused(value):
    with pytest.raises(du.InputError):
        Grid().round_up(value)
    with pytest.raises(du.InputError):
        Grid().round_down(value)


def test_values_at_the_end_of_the_floats():
    with pytest.raises(du.InputError):
        Grid().round_up(1.7e308)  # no grid point above it is a float
    assert Grid().round_up(5e-324)[0] >= 5e-324


def test_margins_of_zero_are_refused():
    with pytest.raises(du.InputError):
        Grid().round_down(0.0)


@dataclass(frozen=True)
class Inner:
    size: float
    margin: float = field(metadata={"round": "down"})


@dataclass(frozen=True)
class Outer:
    name: str
    parts: tuple
    inner: Inner
    plain: float = 3.0


def tree():
    seen = du.Observed
    return Outer("net", (seen(5.0), (Inner(seen(0.3), seen(0.3)), 7)), Inner(2.0, seen(1.9)))


def test_every_number_is_found_wherever_it_stands():
    numbers = dict(observed_numbers(tree(), "top"))
    assert numbers == {
        "top.parts.0": 5.0,
        "top.parts.1.0.size": 0.3,
        "top.parts.1.0.margin": 0.3,
        "top.inner.margin": 1.9,
    }


def test_pay_moves_every_number_the_right_way():
    grid = Grid(2.0)
    paid, payments = pay(tree(), grid)
    assert paid == Outer("net", (8.0, (Inner(0.5, 0.25), 7)), Inner(2.0, 1.0))
    assert not observed_numbers(paid)
    assert {p.where: (p.observed, p.used) for p in payments} == {
        "parts.0": (5.0, 8.0),
        "parts.1.0.size": (0.3, 0.5),
        "parts.1.0.margin": (0.3, 0.25),
        "inner.margin": (1.9, 1.0),
    }
    expected = [grid.nats(3), grid.nats(-1), grid.nats(-2), grid.nats(0)]
    assert [p.nats for p in payments] == pytest.approx(expected)


def test_nothing_seen_costs_nothing():
    thing = Outer("net", (1.0,), Inner(2.0, 1.9))
    assert pay(thing, Grid()) == (thing, [])


def test_constraints_losses_and_centres_pay():
    seen = du.Observed
    constraint = du.L11(seen(3.0)) & du.Spectral(1.0, center={"op": seen(0.7)})
    paid, payments = pay((constraint, du.Margin(seen(0.3))), Grid(2.0))
    (constraint, loss) = paid
    assert [ball.radius for ball in constraint.balls] == [4.0, 1.0]
    assert constraint.balls[1].center == Center((("op", 1.0),))
    assert loss.margin == 0.25
    assert len(payments) == 3


def network(radius, margin=0.5):
    head = du.Head(d=8, W_QK=du.L11(radius), W_v=du.L11(1.0), W_c=du.L11(1.0))
    net = head >> du.Readout(w=du.L1(1.0))
    return du.capacity(net, du.Tokens(row2inf=1.0, T=4), n=10**6, loss=du.Margin(margin))


def test_a_gap_refuses_what_was_not_paid():
    seen = du.Observed
    for cap in (network(seen(2.0)), network(2.0, seen(0.5))):
        with pytest.raises(du.NotYetPaid):
            cap.gap(0.05)
        with pytest.raises(du.NotYetPaid):
            cap.gaps([100, 1000], 0.05)
        with pytest.raises(du.NotYetPaid):
            cap.needed_n(0.5)


def test_a_paid_gap_is_the_gap_at_the_grid_point_with_less_confidence():
    grid = Grid()
    used, nats = grid.round_up(2.1)
    paid = network(du.Observed(2.1)).gap(0.05, union=grid)
    declared = network(used).gap(0.05 * math.exp(-nats))
    assert paid.value == pytest.approx(declared.value, rel=1e-9)
    assert paid.value > network(2.1).gap(0.05).value
    margin, nats = grid.round_down(0.3)
    paid = network(2.0, du.Observed(0.3)).gap(0.05, union=grid)
    assert paid.value == pytest.approx(network(2.0, margin).gap(0.05 * math.exp(-nats)).value)


def test_a_radius_measured_on_data_needs_clipping():
    head = du.Head(d=8, W_QK=du.L11(1.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
    net = head >> du.Readout(w=du.L1(1.0))
    seen = du.Tokens(row2inf=du.Observed(1.0), T=4)
    with pytest.raises(du.NotYetPaid):
        du.capacity(net, seen, n=1000).gap(0.05, union=Grid())
    clipped = du.Tokens(row2inf=du.Observed(1.0), T=4, clipped=True)
    assert du.capacity(net, clipped, n=10**7).gap(0.05, union=Grid()).value <= 1
