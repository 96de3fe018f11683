"""dudley: the generalization theory of Transformers, executable.

Public names stand in ``__init__.pyi``, each with its home. They are loaded on first use, so that
``import dudley`` costs next to nothing.
"""

from dudley.core.lazy import attach_stub

__version__ = "0.2.0"
__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
