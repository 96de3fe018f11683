"""How much a sweep computes: counted, since a clock is no test."""

from __future__ import annotations

import pytest

from dudley.calculus import allocate, chain, hull
from dudley.theorems.comparison import compare

HERE = {
    "n": 1e5, "T": 128, "d": 64, "k": 64, "L": 2, "H": 2, "V": 1000, "X.row2inf": 1.0,
    "sigma.lipschitz": 1.0, "W_QK.l11": 2.0, "W_v.l11": 1.0, "W_c.l11": 1.0, "w.l1": 1.0,
    "epsilon": 0.5, "delta": 0.05, "loss.range": 1.0, "kappa": 1.0, "target.bound": 1.0,
}  # fmt: skip


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch):
    """What a comparison builds from empty tables: hulls, allocations, chains."""
    counts = {"allocations": 0, "chains": 0}
    solve, program = allocate.solve, chain._program

    def solving(*more):
        counts["allocations"] += 1
        return solve(*more)

    def chaining(*more):
        counts["chains"] += 1
        return program(*more)

    monkeypatch.setattr(allocate, "solve", solving)
    monkeypatch.setattr(chain, "_program", chaining)

    def of(sweep: str | None, forms: tuple[str, ...]) -> dict[str, int]:
        hull.forget()
        counts.update(allocations=0, chains=0)
        compare(HERE, sweep, forms=forms)
        hulls = hull._hull.cache_info()  # pyright: ignore[reportFunctionMemberAccess]
        return counts | {"hulls": hulls.misses}

    return of


@pytest.mark.slow
def test_two_hundred_sizes_cost_at_most_twenty_evaluations(work):
    single, many = work(None, ("derived", "best")), work("n=1e3:1e9:log200", ("derived", "best"))
    assert min(single.values()) > 10
    assert all(many[name] <= 20 * single[name] for name in single), (single, many)


@pytest.mark.slow
def test_a_further_norm_builds_a_tenth_of_the_hulls(work):
    points = 40
    single, many = work(None, ("derived",)), work(f"W_QK.l11=0.1:100:log{points}", ("derived",))
    assert single["hulls"] > 10
    assert many["hulls"] - single["hulls"] <= points * single["hulls"] / 10, (single, many)
