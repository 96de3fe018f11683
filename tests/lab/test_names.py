"""The public names of the laboratory, and those that it had before."""

from __future__ import annotations

import pytest

from dudley import lab


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("Grid", "TrialGrid"),
        ("Place", "RunLocation"),
        ("Standing", "BatchStatus"),
        ("Table", "TrialTable"),
    ],
)
def test_a_former_name_works_and_warns(before: str, now: str):
    with pytest.warns(DeprecationWarning, match=f"lab.{before} is called {now}"):
        assert getattr(lab, before) is getattr(lab, now)
    assert before not in dir(lab) and now in dir(lab)


def test_another_name_is_none_of_its():
    with pytest.raises(AttributeError, match="no attribute 'Crate'"):
        lab.Crate  # noqa: B018
