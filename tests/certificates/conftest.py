"""Certificates that are computed once: tests that change one field of a file meet the same one."""

from collections.abc import Iterator

import pytest

from dudley.certificates.base import Method


@pytest.fixture(scope="module")
def certified_once() -> Iterator[None]:
    """The same model, data, declarations and choices are certified once.

    A certificate is a function of these, so `verify` compares with it as with a new one.
    """
    compute, table = Method.made, {}

    def made(self, model, data, declared, choices=None):
        # By repr, since 1, 1.0 and true are equal; the table holds on to what an id belongs to.
        key = (type(self), id(model), id(data), repr(declared), repr(choices))
        if key not in table:
            table[key] = model, data, compute(self, model, data, declared, choices)
        return table[key][-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Method, "made", made)
        yield
