"""The public names, for type checkers; ``__init__.py`` loads each on first use."""

from dudley.certificates.standing.gather import standing as standing
from dudley.certificates.standing.row import (
    Standing as Standing,
    StandingRow as StandingRow,
    from_json as from_json,
)
