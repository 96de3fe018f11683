"""Planting a mistake, and the demand that the check which should see it goes red."""

import pytest


def goes_red(check, *args, **options):
    """The check passes on what it judges only if it does not raise here."""
    with pytest.raises(AssertionError):
        check(*args, **options)


def changed(function, change):
    """The function with its result passed through ``change``."""
    return lambda *args, **options: change(function(*args, **options))
