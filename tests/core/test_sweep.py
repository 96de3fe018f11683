"""The axis of a sweep: its syntax, its values, its refusals."""

from __future__ import annotations

import pytest

from dudley.core.errors import DudleyError
from dudley.core.sweep import Sweep
from each import each


def test_log_and_linear_axes():
    assert Sweep.parse("epsilon=0.01:1:log3").values == pytest.approx((0.01, 0.1, 1.0))
    axis = Sweep.parse("W_QK.l11=0:2:lin5")
    assert axis.values == (0.0, 0.5, 1.0, 1.5, 2.0) and not axis.log


def test_sizes_are_distinct_integers():
    axis = Sweep.parse("T=1:10:log40")
    assert axis.values == tuple(float(t) for t in range(1, 11))


@each(
    ("text", "message"),
    [
        ("n=1e3:1e9", "NAME=FROM:TO:logCOUNT"),
        ("n=1e3:1e9:log", "NAME=FROM:TO:logCOUNT"),
        ("n=one:1e9:log5", "NAME=FROM:TO:logCOUNT"),
        ("m=1e3:1e9:log5", "unknown name 'm'"),
        ("n=1e9:1e3:log5", "a start below its end"),
        ("W_v.op=0:1:log5", "a start > 0 on a log axis"),
        ("n=1:2:log1", "2 to 10000 points"),
        ("n=1:2:log99999", "2 to 10000 points"),
        ("delta=0.1:1:lin3", "strictly between 0 and 1"),
        ("n=2:2.4:lin5", "integer"),
        ("n=1e3:inf:log5", "finite"),
        ("n=nan:5:lin5", "finite"),
    ],
)
def test_a_bad_axis_is_refused(text: str, message: str):
    with pytest.raises(DudleyError, match=message):
        Sweep.parse(text)
