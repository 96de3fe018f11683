"""The papers' architectures as torch modules that know their description.

>>> import dudley as du
>>> from dudley.models import SingleHead
>>> model, tokens = SingleHead(d=8), du.Tokens(row2inf=1.0, T=16)
>>> du.capacity(model.description(tokens), tokens, n=10**6).gap(0.05, union=du.Grid()).vacuous
False
"""

from dudley.core.lazy import attach_stub

__getattr__, __dir__ = attach_stub(__name__, __file__)
__all__ = __dir__()  # pyright: ignore[reportUnsupportedDunderAll]
