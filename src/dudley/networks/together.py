"""Together: the gaps of many networks at once, such as one network along a norm or T.

A network by itself asks for a few dozen resolutions, and most of the time goes into asking. So all
networks say first what they will ask; that is solved side by side (``calculus.solve``), as are
their chains. Every number is the one that the network gives by itself.

>>> import dudley as du
>>> def cap(r):
...     head = du.Head(d=8, W_QK=du.L11(r), W_v=du.L11(1.0), W_c=du.L11(1.0))
...     return du.capacity(head >> du.Readout(w=du.L1(1.0)), du.Tokens(1.0, T=4))
>>> along = gaps([cap(r) for r in (0.5, 1.0, 2.0)], 1e5, delta=0.05)
>>> bool((along == [cap(r).gap(0.05, 1e5).value for r in (0.5, 1.0, 2.0)]).all())
True
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dudley.networks.capacity import Capacity, log_sizes
from dudley.networks.chained import chain_together

AT_ONCE = 32  # networks: the tables of more are not all remembered


def gaps(capacities: Sequence[Capacity], n: float, delta: float) -> np.ndarray:
    """The gap of each network at n examples."""
    values = np.zeros(len(capacities))
    for start in range(0, len(capacities), AT_ONCE):
        some = capacities[start : start + AT_ONCE]
        foresee(some, n)
        values[start : start + len(some)] = [one.gaps([n], delta)[0] for one in some]
    return values


def foresee(capacities: Sequence[Capacity], n: float) -> None:
    """Compute side by side what the gaps of these networks at n examples rest on."""
    chain_together([way for one in capacities for way in one.chained], log_sizes(n))
