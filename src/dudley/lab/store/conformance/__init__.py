"""What any backend of a store must pass: SQLite and PostgreSQL do, and a third one may ask.

A backend says where a run can be kept and how its disk fills up; every check is a function of one,
raises AssertionError where it fails and `Inapplicable` where it cannot be made. No test framework
is needed; with pytest it is::

    from dudley.lab.store.conformance import CHECKS, Inapplicable

    @pytest.mark.parametrize("name", CHECKS)
    def test_it_conforms(name, backend):  # a fresh one, without tables, for each check
        try:
            CHECKS[name](backend, thorough=True)
        except Inapplicable as reason:
            pytest.skip(str(reason))

``thorough`` asks for the full size: every place of a kill, 10,000 cells by four writers.
"""

from dudley.core.lazy import attach_stub

__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
