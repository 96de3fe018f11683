"""Many networks at once: each number is the one that the network gives by itself."""

from __future__ import annotations

import numpy as np
import pytest

import dudley as du
from dudley.calculus import allocate, chain, hull, solve
from dudley.networks import files, together


def head(norm, r=2.0, T=9, readout=True):
    net = du.Head(d=16, W_QK=norm(r), W_v=du.L11(1.0), W_c=du.Frobenius(1.0))
    net = net >> du.Readout(w=du.L1(1.0)) if readout else net
    return du.capacity(net, du.Tokens(1.0, T=T))


def network(name, **values):
    shape = files.load(name, values)
    return du.capacity(shape.network, shape.inputs, loss=shape.loss)


ALONG = {
    "norm": lambda: [head(du.Col21, r) for r in np.geomspace(1e-3, 300, 41)],
    "T": lambda: [head(du.Col21, T=T) for T in (1, 2, 3, 17, 1000)],
    "layers": lambda: [
        network("bert-base", **{"W_Q.op": r, "T": T})
        for r, T in ((0.1, 512), (8.0, 31), (8.0, 512))
    ],
    "all sorts": lambda: [
        head(du.L11),
        network("single-head"),
        head(du.Frobenius, 0.0),  # no entropy but that of W_v and W_c
        network("gpt2-small", T=64),
        network("single-head", **{"w.l1": 0.0}),
    ],
}


@pytest.mark.parametrize("n", [7, 1e5, 1e12])
@pytest.mark.parametrize("along", ALONG)
def test_each_gap_is_the_one_that_the_network_has_alone(along, n):
    hull.forget()
    swept = together.gaps(ALONG[along](), n, 0.05)
    hull.forget()
    alone = [float(one.gaps([n], 0.05)[0]) for one in ALONG[along]()]
    assert swept.tolist() == alone


def test_what_was_computed_together_is_not_computed_again(monkeypatch):
    capacities = ALONG["norm"]()
    hull.forget()
    together.foresee(capacities[:5], 1e5)
    monkeypatch.setattr(allocate, "solve", None)
    monkeypatch.setattr(chain, "_program", None)
    assert all(one.gap(0.05, 1e5).value > 0 for one in capacities[:5])


def test_two_hundred_points_ask_the_solver_a_few_times(monkeypatch):
    """Counted, since a clock is no test."""
    counts = {"alone": 0, "together": 0}
    right = solve._solve
    name = "alone"

    def counting(problems):
        counts[name] += 1
        return right(problems)

    monkeypatch.setattr(solve, "_solve", counting)
    hull.forget()
    head(du.Col21).gaps([1e5], 0.05)
    name = "together"
    together.gaps([head(du.Col21, r) for r in np.geomspace(0.1, 100, 200)], 1e5, 0.05)
    assert counts["alone"] >= 1
    assert counts["together"] <= 20 * counts["alone"], counts


@pytest.mark.parametrize("along", ["norm", "T"])
def test_a_network_that_is_solved_with_the_rows_of_its_neighbour_is_seen(monkeypatch, along):
    alone = [float(one.gaps([1e5], 0.05)[0]) for one in ALONG[along]()]
    beside = solve._beside

    def planted(problems):
        return beside([one._replace(rows=problems[0].rows) for one in problems])

    monkeypatch.setattr(solve, "_beside", planted)
    hull.forget()
    assert together.gaps(ALONG[along](), 1e5, 0.05).tolist() != alone
