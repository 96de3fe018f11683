"""Matrix norms, one per file: what each is, and what is known of it.

A matrix acts on token rows, x ↦ xW with W ∈ R^{a×b}: *columns* are output coordinates, *rows*
belong to input coordinates. The orientation is part of the name: ``col21`` is the sum of the ℓ2
norms of the columns (the papers' ‖W‖_{2,1}), ``row21`` the sum of the ℓ2 norms of the rows
(‖Wᵀ‖_{2,1}). Two printed lemmas are false because these were confused.

A vector is a matrix with one column; ``l1``, ``l2`` and ``linf`` are its usual names.

Adding a norm means adding one file here: a class derived from :class:`Norm`, with ``@register``.
"""

from dudley.core.lazy import attach_stub

__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
