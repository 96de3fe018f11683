"""What a backend supplies to be checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from dudley.lab.store.location import RunLocation


class Inapplicable(Exception):
    """A check that cannot be made here, and why."""


class Backend(ABC):
    """Abstract: somewhere to keep runs."""

    @abstractmethod
    def location(self, name: str) -> RunLocation:
        """A location without a run; equal names are one location, different names are two."""

    @abstractmethod
    def full(self, location: RunLocation) -> AbstractContextManager[None]:
        """Within it there is next to no room left for the location's store, as on a full disk.

        What this process writes must fail after some megabytes at most, by RLIMIT_FSIZE, say.
        Raise `Inapplicable` where that cannot be arranged.
        """
