"""Ladder: the radii of many equal layers, without a step for each.

Layers map the ball of log radius r into the ball of φ(r). After so many layers that were followed
one by one, a whole run of radii r_0 ≤ … ≤ r_m is guessed, and accepted if one evaluation of φ on
all of them at once confirms φ(r_j) ≤ r_{j+1}: then, by induction, layer j sees rows of at most r_j,
since what holds of a ball holds of every smaller one inside. A guess can only fail to be accepted,
or to be tight; runs grow with the layers before them, so a million layers need less than a hundred.

Guesses: radii that grow by equal steps (a residual branch of bounded size), by equal factors (maps
of degree one), and radii that have come to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

RadiusMap = Callable[[np.ndarray], np.ndarray]  # φ, of one log radius or of many

_ONE_BY_ONE = 512  # layers that are followed
_PART = 8  # a run is at most this part of the layers before it
_SHORTEST = 32  # layers that are followed where no run of so many is confirmed
_ROOM = 1e-6  # by how much a guess exceeds what was extrapolated, in units of a step


def radii(step: RadiusMap, first: np.ndarray, L: int) -> np.ndarray:
    """log radii of the inputs of L layers, from above, layers first.

    >>> bound = radii(lambda r: np.logaddexp(r, 0.0), np.array(0.0), 10**5)  # R ↦ R + 1
    >>> np.exp(bound[[0, 1, -1]]).round().astype(int)
    array([     1,      2, 100000])
    """
    pieces = [np.asarray(first, dtype=float)[None]]
    last, count = pieces[0][0], 1
    with np.errstate(all="ignore"):  # radii may leave the floats, even by their logarithm
        while count < L:
            run = None
            if count >= _ONE_BY_ONE:
                run = _run(step, last, min(L - count, count // _PART))
            if run is None:
                run = _followed(step, last, min(L - count, _SHORTEST))
                if np.array_equal(run[-1], step(run[-1])):  # layers past a fixed point are alike
                    run = np.concatenate([run, np.broadcast_to(run[-1], (L, *run[-1].shape))])
            pieces.append(run[: L - count])
            count += len(pieces[-1])
            last = pieces[-1][-1]
    return np.concatenate(pieces)


def _followed(step: RadiusMap, last: np.ndarray, m: int) -> np.ndarray:
    """The radii after each of the next m layers, or of those up to a fixed point."""
    run = []
    for _ in range(m):
        before, last = last, np.asarray(step(last))
        run.append(last)
        if np.array_equal(before, last):
            break
    return np.stack(run)


def _run(step: RadiusMap, last: np.ndarray, m: int) -> np.ndarray | None:
    """The smallest confirmed guess for the next m layers, or fewer; ``None`` for too few."""
    while m >= _SHORTEST:
        some = np.unique(np.geomspace(1, m, 64).astype(int)) - 1  # most wrong guesses fail here
        for run in sorted(_guesses(step, last, m), key=lambda run: float(run[-1].max())):
            if _holds(step, last, run, some) and _holds(step, last, run, np.arange(m)):
                return run
        m //= 2
    return None


def _holds(step: RadiusMap, last: np.ndarray, run: np.ndarray, layers: np.ndarray) -> bool:
    """φ of the radius is at most the next one, at these layers."""
    before = np.where((layers == 0).reshape(-1, *(1,) * last.ndim), last, run[layers - 1])
    return bool((np.asarray(step(before)) <= run[layers]).all())


def _guesses(step: RadiusMap, last: np.ndarray, m: int) -> Iterator[np.ndarray]:
    """Runs of m log radii after ``last``, by extrapolation."""
    j = np.arange(1, m + 1).reshape(-1, *(1,) * last.ndim)
    for slope in _slopes(step, last, m):
        yield last + j * slope
    for log_gain in _log_gains(step, last, m):
        yield np.logaddexp(last, np.log(j) + log_gain)
    once = step(last)
    ratio = np.expm1(step(once) - once) * np.exp(once - last) / np.expm1(once - last)
    rest = last + np.log1p(np.expm1(once - last) / (1 - ratio) * (1 + _ROOM))
    yield np.broadcast_to(np.fmax(rest, last), (m, *last.shape))


def _slopes(step: RadiusMap, last: np.ndarray, m: int) -> Iterator[np.ndarray]:
    """What a layer adds to the log radius: at the start of the run, and at its end."""
    slope = step(last) - last
    for _ in range(2):
        if not np.isfinite(slope).all():
            return
        slope = slope + _ROOM * np.abs(slope) / m + 8 * np.spacing(np.abs(last) + m * np.abs(slope))
        yield slope
        end = last + m * slope
        slope = np.maximum(slope, step(end) - end)


def _log_gains(step: RadiusMap, last: np.ndarray, m: int) -> Iterator[np.ndarray]:
    """log of what a layer adds to the radius at the end of a run, which is pieces by iteration."""
    end = last
    for _ in range(6):
        if not np.isfinite(end).all():
            return
        after = step(end)
        log_gain = after + np.log(-np.expm1(end - after)) + _ROOM
        end = np.logaddexp(last, np.log(m) + log_gain)
        yield log_gain
