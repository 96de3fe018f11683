"""What the suite offers; ``__init__.py`` loads each name on first use."""

from dudley.lab.store.conformance.backend import Backend as Backend, Inapplicable as Inapplicable
from dudley.lab.store.conformance.checks import CHECKS as CHECKS

__all__: list[str]
