"""Assertions for tests of models: an error is below a level, or it is said why not.

``__init__.pyi`` lists the public names, which are loaded on first use.
"""

from dudley.core.lazy import attach_stub

__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
