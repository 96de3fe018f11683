"""The public names for tests; ``__init__.py`` loads each on first use."""

from dudley.testing.assertion import (
    assert_error_below as assert_error_below,
)

__all__: list[str]
