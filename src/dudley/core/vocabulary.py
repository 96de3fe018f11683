"""The names of a situation: one vocabulary for commands, files and Python.

Sizes, norms and accuracies are given as ``name=value``; ``MATRIX.NORM`` names the norm of a
weight matrix with its orientation. A name outside the vocabulary is refused with the nearest one.
"""

from __future__ import annotations

import math
import re

from dudley.core.errors import InputError, UnknownName
from dudley.core.norms import ALIASES, NORMS

SIZES = {
    "n": "number of examples",
    "T": "tokens per example",
    "d": "embedding width",
    "k": "hidden width",
    "H": "heads",
    "L": "layers",
    "V": "vocabulary size or number of classes",
    "r_QK": "rank of W_QK",
    "r_v": "rank of W_v",
    "r_c": "rank of W_c",
}
INPUTS = {
    "X.row2inf": "largest ℓ2 norm of a token",
    "X.row1inf": "largest ℓ1 norm of a token",
    "X.op": "spectral norm of the token matrix",
    "X.fro": "Frobenius norm of the token matrix",
    "P.row2inf": "largest ℓ2 norm of a position",
    "query.norm2": "ℓ2 norm of a fixed query",
}
MAPS = {
    "sigma.lipschitz": "Lipschitz constant of the activation",
    "sigma.at0": "value of the activation at 0",
    "score.scale": "factor on the scores",
    "attention.lipschitz": "Lipschitz constant of the normaliser, ℓ∞ to ℓ1",
    "attention.mass": "largest ℓ1 norm of the attention weights",
    "loss.lipschitz": "Lipschitz constant of the loss",
    "loss.range": "the loss lies in [0, range]",
    "margin": "margin of the ramp loss",
    "kappa": "Lipschitz constant of the excess loss",
    "target.bound": "bound on the target function",
}
ACCURACY = {
    "delta": "one minus the confidence",
    "epsilon": "resolution of a cover",
    "beta": "offset",
    "tail.nu": "scale of a sub-Gaussian tail",
    "tail.beta": "exponent of a polynomial tail",
    "tail.C": "constant of a polynomial tail",
    "truncation": "level at which inputs are truncated",
}
VOCABULARY = SIZES | INPUTS | MAPS | ACCURACY
_MATRIX = re.compile(r"(W_\w+|w|b_\w+|P|W)\.(\w+)")
_POSITIVE_SIZES = set(SIZES)


def known(name: str) -> bool:
    """Is this a name of the vocabulary?

    >>> known("W_QK.l11"), known("W_QK.l12"), known("n")
    (True, False, True)
    """
    match = _MATRIX.fullmatch(name)
    if match:
        return match[2] in NORMS or match[2] in ALIASES or match[2] == "rank"
    return name in VOCABULARY


def parse_assignments(words: list[str]) -> dict[str, float]:
    """``name=value`` words as a dictionary of finite numbers.

    >>> parse_assignments(["n=1e5", "W_QK.l11=20"])
    {'n': 100000.0, 'W_QK.l11': 20.0}
    >>> parse_assignments(["W_QK.l21=20"])
    Traceback (most recent call last):
    dudley.core.errors.UnknownName: unknown name 'W_QK.l21'; did you mean W_QK.l2 or ...
    """
    found: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise InputError("argument", "name=value, such as n=1e5", word)
        if not known(name):
            head = name.partition(".")[0]
            norms = [f"{head}.{norm}" for norm in [*NORMS, *ALIASES, "rank"]]
            raise UnknownName("name", name, [*VOCABULARY, *norms])
        if name in found:
            raise InputError(name, "one value", "two")
        found[name] = _number(name, text)
    return found


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(name, "a number", repr(text)) from None
    if not math.isfinite(value) or value < 0:
        raise InputError(name, "a finite number ≥ 0", text)
    if name in _POSITIVE_SIZES and (value < 1 or value != int(value)):
        raise InputError(name, "an integer ≥ 1", text)
    if name == "delta" and not 0 < value < 1:
        raise InputError(name, "a number strictly between 0 and 1", text)
    if name in ("epsilon", "margin") and value == 0:
        raise InputError(name, "a number > 0", text)
    return value
