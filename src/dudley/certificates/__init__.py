"""Certificates: an upper bound on the error of one concrete model that a stranger can recompute.

A `Certificate` (`dudley.certificates.certificate`) is what a method of ``METHODS`` says about a
hypothesis (`dudley.certificates.hypothesis`) on a data set (`dudley.certificates.data`). What was
fixed before the data is *declared*. Whatever was chosen after is a *choice*: it is taken from a
list fixed before, and paid for in nats (`dudley.certificates.price`). The number is a function of
the model, the data, what was declared and the choices: `verify` calls the same function and
compares.
"""
