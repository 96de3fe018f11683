"""What a bound is a bound of: statements are set side by side where they bound the same thing.

The class is read off the statement's own words and inputs. A class with vectors as outputs is
another one than that with a readout, and the losses of a class are another one than the class.

>>> subject("log covering number of the head, ℓ2 outputs", {"W_v.op", "W_QK.l11"})
'one head (vectors)'
>>> subject("excess risk of an empirical risk minimiser", {"L", "W_v.op", "w.l2"})
'L layers'
"""

from __future__ import annotations

from collections.abc import Collection

GIVEN = "a given class"
OTHER = "another class"
MASKED_WORD = "masked-word losses"
LINEAR_MAPS = "linear maps"
VECTORS = "ℓ2 outputs"
BY_WORDS = {
    "cross-entropy": MASKED_WORD,
    "encoder": "the encoder",
    "token's output": "one token's output",
    "L-layer": "L layers",
    "L blocks": "L layers",
    "x ↦ x·w": "linear functions",
    "x ↦ xW": LINEAR_MAPS,
    "x ↦ Wx": LINEAR_MAPS,
    "linear maps": LINEAR_MAPS,
    "H heads": "H heads",
    "head": "one head",
}
BY_INPUTS = {"L": "L layers", "H": "H heads", "W_QK": "one head", "W_v": "one head"}


def subject(quantity: str, inputs: Collection[str]) -> str:
    """The class of functions that a statement is about; of networks, with one output or vectors."""
    owners = {name.partition(".")[0] for name in inputs}
    by_words = (title for word, title in BY_WORDS.items() if word in quantity)
    by_inputs = (title for name, title in BY_INPUTS.items() if name in owners)
    title = next(by_words, None) or next(by_inputs, None)
    if title is None:
        return GIVEN if "class" in owners else OTHER
    if title in BY_INPUTS.values() and VECTORS in quantity:
        return f"{title} (vectors)"
    return title
