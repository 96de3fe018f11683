"""Certificates: an upper bound on the error of one concrete model that a stranger can recompute.

A :class:`~dudley.certify.certificate.Certificate` is what a method of ``METHODS`` says about a
hypothesis (`dudley.certify.hypothesis`) on a data set (`dudley.certify.data`). What was fixed
before the data is *declared*; whatever was chosen after is a *choice*, taken from a list fixed
before, and paid for in nats (`dudley.certify.price`). The number is a function of the model, the
data, what was declared and the choices: `verify` calls the same function and compares.

The package can be called: ``du.certify(model, train=…)`` is ``dudley.certify.run.certify(…)``.
"""

import sys
from types import ModuleType


class _Callable(ModuleType):
    """A package of that name, and the function of that name."""

    def __call__(self, *args, **kwargs):
        from dudley.certify.run import certify

        return certify(*args, **kwargs)


certify = sys.modules[__name__]
certify.__class__ = _Callable
