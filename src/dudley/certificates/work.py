"""How much work a method has before it, and a refusal where it is too much.

A network takes about 2·rows multiplications and additions a weight and example, and attention
4·rows²·d a layer; an embedding is looked up. A step that cannot be left out half-way is refused
before it begins where this work is beyond `MOST`: with the 10¹⁰ operations a second of one core in
float64, a day and more.

>>> about(1e9), about(7e12), about(3e15)
('1 s', '12 min', '84 h')
"""

from __future__ import annotations

from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.predictor import Predictor
from dudley.core.errors import InputError

SPEED = 1e10  # operations a second
MOST = 1e15


def operations(model: Predictor, examples: int) -> float:
    """The operations of evaluating a described network on so many examples; 0 for any other."""
    if not isinstance(model, Hypothesis):
        return 0.0
    inputs = model.encoding.inputs
    first = next(iter(model.weights))
    read = sum(W.size for name, W in model.weights.items())
    if model.encoding.looks_up:
        read -= model.weights[first].size
    widest = max(min(W.shape) for W in model.weights.values())
    layers = sum(name.endswith(("W_Q", "W_QK", ".v")) for name in model.weights)
    return examples * (2.0 * inputs.T * read + 4.0 * layers * inputs.T**2 * widest)


def expect_feasible(model: Predictor, examples: int, what: str) -> str:
    """How long it takes, about; refused where that is more than a day."""
    work = operations(model, examples)
    if work > MOST:
        got = f"{work:.1e} on {examples:,} examples, {about(work)} on one core"
        raise InputError(what, f"at most {MOST:.0e} operations", got, "give fewer examples")
    return about(work)


def about(work: float) -> str:
    """Seconds, minutes or hours of one core, rounded up."""
    seconds = max(1.0, work / SPEED)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{-(-seconds // 3600):.0f} h"
