"""The names of this package; ``__init__.py`` loads each on first use."""

from dudley.core.norms.base import (
    NORMS as NORMS,
    ByNorm as ByNorm,
    Norm as Norm,
    Sums as Sums,
    aliases as aliases,
    canonical as canonical,
    norm_named as norm_named,
    register as register,
)
from dudley.core.norms.implications import implied as implied

__all__: list[str]
