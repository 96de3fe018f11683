"""Where everything stands: certificates and published bounds on one model, beside what is measured.

For one trained model, its training set and a test set: every certificate method, every published
statement about a whole network at the norms of this one, as printed and as derived, and for each
row the term or the hypothesis that is to blame. A statement that does not apply is a row too.

The parts: :mod:`~.certificates`, :mod:`~.reading` (the model in the papers' words),
:mod:`~.case` (a statement as a bound on the error), :mod:`~.published`, :mod:`~.blame`,
:mod:`~.gather`.
"""

from dudley.core.lazy import attach_stub

__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
