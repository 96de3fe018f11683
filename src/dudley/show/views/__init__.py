"""Views: how results look in Python and in notebooks, one kind of result in a file.

A class derived from `core.shown.Shown` names its view; `base` has what views share.
"""

from dudley.core.lazy import attach_stub

__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
