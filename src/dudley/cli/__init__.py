"""The command line: thin commands over the library.

Exit codes: 0 fine · 1 the answer is no · 2 bad usage or bad input · 3 undecided within the budget
· 70 internal error · 130 interrupted. With ``--json`` the answer stands alone on stdout.
"""

from dudley.core.lazy import attach_stub

__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
