r"""One line for whatever is refused in a file: the file, the tensor, what was expected, what came.

>>> raise refusal("model.safetensors", "a known dtype", "F13", "W\x1b[31m")
Traceback (most recent call last):
dudley.core.errors.InputError: model.safetensors: tensor 'W\x1b[31m': expected a known dtype, got
F13
"""

from __future__ import annotations

import os

from dudley.core.boundary.text import line
from dudley.core.errors import InputError

LONGEST = 160


def refusal(
    file: str | os.PathLike, expected: str, got: object, tensor: str | None = None, fix: str = ""
) -> InputError:
    """The error that names file and tensor."""
    place = line(file, 2 * LONGEST)
    if tensor is not None:
        place += f": tensor '{line(tensor, LONGEST)}'"
    return InputError(place, expected, line(got, LONGEST), fix)
