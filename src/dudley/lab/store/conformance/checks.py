"""Every check of the suite, by its name."""

from __future__ import annotations

from collections.abc import Callable

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
