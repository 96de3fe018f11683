"""Weights, measured: checkpoint readers, certified norms, and the layouts that join them.

The package can be called: ``du.measure(path)`` is ``dudley.measure.run.measure(path)``.
"""

import sys
from types import ModuleType


class _Callable(ModuleType):
    """A package of that name, and the function of that name."""

    def __call__(self, *args, **kwargs):
        from dudley.measure.run import measure

        return measure(*args, **kwargs)


measure = sys.modules[__name__]
measure.__class__ = _Callable
