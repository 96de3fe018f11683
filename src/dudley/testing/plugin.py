"""For pytest: the assertion as a fixture, which prints what was proved.

In the ``conftest.py`` of your tests:

    pytest_plugins = ["dudley.testing.plugin"]

and in a test:

    def test_the_model_is_good_enough(assert_error_below):
        assert_error_below(0.02, y=labels, prediction=model.predict(examples))

It is no entry point on purpose: pytest would then rewrite the assertions of the whole package in
every run of every project.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dudley.testing.assertion import ProvedError, assert_error_below as asserted


@pytest.fixture(name="assert_error_below")
def fixture_assert_error_below(record_property) -> Callable[..., ProvedError]:
    """`dudley.testing.assert_error_below`; what was proved stands in the report of the run."""

    def check(*arguments, **named) -> ProvedError:
        __tracebackhide__ = True
        proved = asserted(*arguments, **named)
        record_property("error_at_most", proved.upper)
        return proved

    return check
