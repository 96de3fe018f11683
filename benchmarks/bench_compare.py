"""What a sweep over all applicable statements costs, as a ratio within one run.

CPU time, from empty tables, against the comparison at one point.
"""

from __future__ import annotations

import time

import pytest

from dudley.calculus import hull
from dudley.theorems import registry
from dudley.theorems.comparison import compare

HERE = {
    "n": 1e5, "T": 128, "d": 64, "k": 64, "L": 2, "H": 2, "V": 1000, "X.row2inf": 1.0,
    "sigma.lipschitz": 1.0, "W_QK.l11": 2.0, "W_v.l11": 1.0, "W_c.l11": 1.0, "w.l1": 1.0,
    "epsilon": 0.5, "delta": 0.05, "loss.range": 1.0, "kappa": 1.0, "target.bound": 1.0,
}  # fmt: skip


def seconds(sweep: str | None) -> float:
    hull.forget()
    start = time.process_time()
    compare(HERE, sweep)
    return time.process_time() - start


# Along n and ε the classes stay what they are. A norm or T makes every point a class of its own,
# to be composed, allocated and chained anew: there only tables are shared, and for T, on which
# covers of points depend, fewer of them.
@pytest.mark.parametrize(
    ("sweep", "allowed"),
    [
        ("n=1e3:1e9:log200", 20),
        ("epsilon=1e-3:1:log200", 20),
        ("W_QK.l11=0.1:100:log200", 100),
        ("T=2:1e4:log200", 80),
    ],
)
def test_a_sweep_of_two_hundred_points_costs_much_less_than_two_hundred(sweep: str, allowed: float):
    registry.load()
    compare(HERE)
    single = min(seconds(None) for _ in range(3))
    many = seconds(sweep)
    print(f"{sweep}: {many:.2f} s / one point: {single:.2f} s = {many / single:.1f}")
    assert many <= allowed * single
