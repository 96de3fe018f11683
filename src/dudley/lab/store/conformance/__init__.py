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

from __future__ import annotations

from collections.abc import Callable

from dudley.lab.store.conformance.backend import Backend, Inapplicable
from dudley.lab.store.conformance.contended import two_writers_on_one_cell
from dudley.lab.store.conformance.crowded import many_writers
from dudley.lab.store.conformance.full import full_disk
from dudley.lab.store.conformance.killed import killed_while_writing
from dudley.lab.store.conformance.observed import read_while_writing
from dudley.lab.store.conformance.versions import another_version

CHECKS: dict[str, Callable[..., None]] = {
    check.__name__: check
    for check in (
        killed_while_writing,
        two_writers_on_one_cell,
        full_disk,
        read_while_writing,
        another_version,
        many_writers,
    )
}

__all__ = ["CHECKS", "Backend", "Inapplicable"]
