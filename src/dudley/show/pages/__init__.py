"""Builders: from results to documents, one kind of result in a file.

`read` finds the builder of a file: a certificate, what a command printed with ``--json``, or the
folder of an experiment. A builder is registered under the ``kind`` of that JSON.
"""

from dudley.core.lazy import attach_stub

__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
