"""What builders share; ``__init__.py`` loads each name on first use."""

from dudley.show.pages.base import (
    BUILDERS as BUILDERS,
    made_by as made_by,
    short_hash as short_hash,
)

__all__: list[str]
