"""Single examples: a model that answers an example otherwise in another company is refused.

**Meaning.** A certificate bounds the error on *one* new example. Errors are counted on the sample
in batches. A forward pass that reads the rest of its batch (its mean, its longest text), or that
draws at random in evaluation mode, is not the same model for one example, and the count says
nothing of it.

**Rule.** A few different examples are evaluated together, and each of them alone. An example is
*moved* if an output differs by more than 1 % of 1 + the largest output of the example: far more
than the rounding of another order of addition. Two moved examples are refused; a single one may be
a class that a rounding has flipped.

**What it cannot see**: a model that looks at its batch on rare occasions, or after many examples.
That an output depends on its own example is declared on every certificate, too.

>>> expect_single(lambda X: X - X.mean(axis=0), np.arange(8.0)[:, None])
Traceback (most recent call last):
dudley.core.errors.InputError: outputs of the model: expected those of each example by itself, got
others for 8 of 8 examples when they are computed together; ...
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dudley.core.errors import InputError

LOOKED = 8  # examples
MOVED = 0.01  # of 1 + the largest output


def expect_single(
    outputs: Callable[[np.ndarray], np.ndarray], X: np.ndarray, what: str = "outputs of the model"
) -> None:
    """Refuse outputs, a row an example, that depend on the other examples of a batch."""
    few = _different(X)
    if len(few) < 2:
        return
    together = outputs(few)
    alone = np.concatenate([outputs(few[i : i + 1]) for i in range(len(few))])
    if together.shape != alone.shape:
        moved = len(few)
    else:
        size = 1 + np.abs(np.nan_to_num(alone, posinf=0, neginf=0)).max(axis=1, keepdims=True)
        near = np.isclose(together, alone, rtol=0, atol=MOVED * size, equal_nan=True)
        moved = int((~near.all(axis=1)).sum())
    if moved > 1:
        raise InputError(
            what,
            "those of each example by itself",
            f"others for {moved} of {len(few)} examples when they are computed together",
            "let forward read no other example of the batch, and draw nothing at random",
        )


def _different(X: np.ndarray) -> np.ndarray:
    """Some rows that differ, from all over the array."""
    chosen: dict[bytes, int] = {}
    for i in np.linspace(0, len(X) - 1, min(len(X), 16 * LOOKED)).astype(int):
        chosen.setdefault(X[i].tobytes(), int(i))
        if len(chosen) == LOOKED:
            break
    return X[sorted(chosen.values())]
