"""The network that a situation describes: L layers of H heads and a readout.

Its gap is what no printed statement of these papers gives: risk − training loss of the ramp loss
of the margin, or of a loss with the given range and Lipschitz constant. The network is a network
file (`networks.files`) whose numbers are the situation's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dudley.calculus.memory import remembered
from dudley.core.bound import Bound
from dudley.core.errors import DudleyError, InputError
from dudley.networks import files
from dudley.networks.capacity import Capacity, capacity
from dudley.networks.together import AT_ONCE, foresee

ID = "calculus/gap"
MATRICES = ("W_QK", "W_Q", "W_K", "W_v", "W_c", "w")
NEEDED = ("T", "d", "X.row2inf")
DELTA = 0.05  # where none is given


def tables(values: Mapping[str, float]) -> dict[str, Any]:
    """The network file of a situation.

    >>> tables({"T": 8, "d": 4, "X.row2inf": 1.0, "W_v.op": 2.0, "W_c.op": 1.0,
    ...         "w.l1": 1.0})["output"]
    {'node': 'readout', 'w': {'l1': 1.0}}
    """
    missing = [name for name in NEEDED if name not in values]
    if missing:
        raise InputError("network", f"{', '.join(NEEDED)}", f"no {missing[0]}")
    norms: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        owner, dot, norm = name.partition(".")
        if dot and owner in MATRICES:
            norms.setdefault(owner, {})[norm] = value
    for name in ("W_v", "W_c", "w"):
        if name not in norms:
            raise InputError("network", f"a norm of {name}, such as {name}.l11", "none")
    readout = norms.pop("w")
    X = {
        name.partition(".")[2]: v
        for name, v in values.items()
        if name in ("X.row2inf", "X.row1inf")
    }
    layer = {
        "node": "heads",
        "H": int(values.get("H", 1)),
        "repeat": int(values.get("L", 1)),
        **norms,
    }
    if "k" in values:
        layer["k"] = int(values["k"])
    if "sigma.lipschitz" in values:
        layer["sigma"] = {"lipschitz": values["sigma.lipschitz"]}
    loss = {"margin": values["margin"]} if "margin" in values else {
        name.partition(".")[2]: values[name]
        for name in ("loss.lipschitz", "loss.range")
        if name in values
    }  # fmt: skip
    return {
        "schema": files.SCHEMA,
        "input": {"T": int(values["T"]), "d": int(values["d"]), "X": X},
        "layer": [layer],
        "output": {"node": "readout", "w": readout},
        "loss": loss,
    }


def capacity_of(values: Mapping[str, float]) -> Capacity:
    """The capacity of that network."""
    if "n" not in values:
        raise InputError("network", "n, the number of examples", "none")
    made = files.build(tables(values), {})
    return capacity(made.network, made.inputs, values["n"], made.loss)


def gap_of(values: Mapping[str, float]) -> Bound | str:
    """The gap at one point, or why there is none."""
    return _gap(tuple(sorted(values.items())))


def gaps_of(points: Sequence[Mapping[str, float]]) -> tuple[Bound | str, ...]:
    """The gap at each point, or why there is none, computed side by side where n stays the same."""
    bounds: list[Bound | str] = []
    for start in range(0, len(points), AT_ONCE):
        some = points[start : start + AT_ONCE]
        sizes = {values["n"] for values in some if "n" in values}
        made = [_described(tuple(sorted(values.items()))) for values in some]
        capacities = [one for one in made if isinstance(one, Capacity)]
        if len(sizes) == 1 and len(capacities) > 1:
            foresee(capacities, sizes.pop())
        bounds += map(gap_of, some)
    return tuple(bounds)


@remembered(1 << 10)
def _gap(items: tuple[tuple[str, float], ...]) -> Bound | str:
    made = _described(items)
    if isinstance(made, str):
        return made
    try:
        return made.gap(dict(items).get("delta", DELTA))
    except DudleyError as refusal:
        return str(refusal)


@remembered(2 * AT_ONCE)
def _described(items: tuple[tuple[str, float], ...]) -> Capacity | str:
    try:
        return capacity_of(dict(items))
    except DudleyError as refusal:
        return str(refusal)
