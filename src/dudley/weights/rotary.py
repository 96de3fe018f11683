"""Rotary positions as a config states them: the angles by which each pair of entries is turned.

Base b and n pairs give the angles b^{−j/n} per position. Some of them are made smaller:

    linear     all of them divided by the factor
    dynamic    none up to ``max_position_embeddings`` tokens
    llama3     those with a wavelength above old/low divided by the factor, those below old/high
               kept, and in between a mean of both (old: ``original_max_position_embeddings``)

Rotations keep norms, so no angle moves a bound. Other kinds (yarn, longrope) scale the scores too,
and are refused by name.

>>> angles({"rope_theta": 100.0}, 4)
((1.0, 0.1), '')
>>> angles({"rope_theta": 100.0, "partial_rotary_factor": 0.5}, 8)[0]
(1.0, 0.1)
>>> angles({"rope_type": "yarn"}, 4)
(None, "rotary positions of type 'yarn', which scale the scores")
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dudley.core.errors import InputError
from dudley.weights.architecture import Architecture, Config

USUAL = 10000.0
TABLES = ("rope_scaling", "rope_parameters")


def rotary_table(
    config: Config, base: float = USUAL, part: float = 1.0, kind: str | None = None
) -> dict[str, Any]:
    """What a config says of rotations, in one table; ``kind``: of layers of this kind.

    ``base`` and ``part`` (how much of a head is turned): where the config does not say it.
    """
    table: dict[str, Any] = {"rope_theta": base, "partial_rotary_factor": part}
    plain = {"rotary_emb_base": "rope_theta", "rotary_pct": "partial_rotary_factor"}
    for name in ("rope_theta", "partial_rotary_factor", *plain):
        if config.values.get(name) is not None:
            table[plain.get(name, name)] = config.values[name]
    for name in TABLES:
        inner = config.values.get(name) or {}
        if not isinstance(inner, Mapping):
            raise InputError(f"{config.source}: {name}", "a table", repr(inner))
        if any(isinstance(value, Mapping) for value in inner.values()):
            inner = inner.get(kind) or {}
        table |= {key: value for key, value in inner.items() if value is not None}
    return table


def angles(table: Mapping[str, Any], k: int) -> tuple[tuple[float, ...] | None, str]:
    """The angles for heads of width k, or why the network does more than to turn."""
    config = Config(dict(table), "rotary positions")
    kind = table.get("rope_type", table.get("type", "default"))
    base, part = config.number("rope_theta"), config.number("partial_rotary_factor")
    turned = int(k * (1.0 if part is None else part))
    base, pairs = USUAL if base is None else base, turned // 2
    if not 0 < base < math.inf:
        raise InputError("rotary positions: rope_theta", "a number > 0", base)
    if not 0 <= turned <= k or turned % 2:
        return None, f"rotary positions that turn {turned} of {k} entries"
    plain = tuple(base ** (-j / pairs) for j in range(pairs))
    if kind in ("default", "dynamic"):
        return plain, ""
    if kind not in ("linear", "llama3"):
        return None, f"rotary positions of type {kind!r}, which scale the scores"
    factor = config.number("factor")
    if factor is None or not factor > 0:
        raise InputError("rotary positions: factor", "a number > 0", factor)
    if kind == "linear":
        return tuple(angle / factor for angle in plain), ""
    return tuple(_llama3(angle, factor, config) for angle in plain), ""


def _llama3(angle: float, factor: float, config: Config) -> float:
    low, high = config.number("low_freq_factor"), config.number("high_freq_factor")
    old = config.number("original_max_position_embeddings")
    if low is None or high is None or old is None or low >= high:
        expected = "low_freq_factor below high_freq_factor, original_max_position_embeddings"
        raise InputError("rotary positions", expected, (low, high, old))
    turns = old * angle / (2 * math.pi)  # so often within the old length
    share = min(1.0, max(0.0, (turns - low) / (high - low)))
    return (1 - share) * angle / factor + share * angle


def angles_by_kind(
    arch: Architecture, config: Config, kinds: Sequence[object], bases: Mapping[str, float]
) -> tuple[tuple[tuple[float, ...], ...] | None, str]:
    """The same where layers of each kind have a base of their own, and perhaps a table.

    What stands beside the bases in ``rope_scaling`` is for layers of full attention.
    """
    tables: dict[str, Any] = {}
    for kind, base in bases.items():
        names = TABLES if kind == "full_attention" else TABLES[1:]
        inner = {name: config.values.get(name) for name in names}
        tables[kind] = rotary_table(Config(inner, config.source), base, kind=kind)
    return turns_of(arch, [tables.get(str(kind)) for kind in kinds])


def turns_of(
    arch: Architecture, tables: Sequence[Mapping[str, Any] | None]
) -> tuple[tuple[tuple[float, ...], ...] | None, str]:
    """The angles of every layer, and why they do not describe the network, if they do not.

    ``tables``: one for each layer, None where nothing is turned. None for the angles: the usual
    ones in every layer, or heads of a width that nobody knows.
    """
    split = arch.heads() if arch.k or arch.d else None
    k = 2 if split is None else split[2]
    every = [((), "") if table is None else angles(table, k) for table in tables]
    odd = next((why for _, why in every if why), "")
    usual = angles({}, k)[0] if k % 2 == 0 else None
    if split is None or odd or all(turned == usual for turned, _ in every):
        return None, odd
    return tuple(turned or () for turned, _ in every), ""
