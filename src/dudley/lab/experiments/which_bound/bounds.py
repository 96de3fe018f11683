"""Published statements and the calculus, at the norms of one trained network.

Norms are taken as they are, as if they had been fixed beforehand: paying for them adds what is
nearly the same for all models. What a statement is read as, in each of its forms:

* a covering number: √(log N(ε)/m) at ε = `RESOLUTION`, a quarter of the margin 1 of the ramp. The
  integral over all ε is cut off at the radius of the class, where these are; one ε is not;
* a Rademacher complexity or an excess risk: its number; a printed one may be negative;
* the calculus: √(log N(ε)/m) of the whole network, with every cover.

A network of depth L is a member of a class with one radius for all layers: the largest norm of any
of them. w is the difference of two columns of the logits' matrix, which is what a margin reads; of
more than two classes, the largest of each norm. At depth 1 the network is the papers' head, and a
block by dividing W_v and W_c by powers of two and multiplying w (`certificates.standing.reading`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dudley.calculus.union import Grid
from dudley.certificates.standing.case import Case, Readings
from dudley.certificates.standing.margins import TrainingMargins
from dudley.certificates.standing.published import about_networks
from dudley.certificates.standing.reading import VECTOR, Reading
from dudley.core.backend import torch
from dudley.core.errors import DudleyError
from dudley.core.norms import NORMS
from dudley.core.statement import Statement
from dudley.core.vocabulary import known
from dudley.lab.shared.beyond_bounds import at_norms, ramp_loss
from dudley.lab.shared.beyond_trained import MARGIN, norms
from dudley.models.token_network import TokenNetwork
from dudley.models.transformer import Transformer
from dudley.networks.embeddings import OneHot, Tokens
from dudley.train.ensemble.base import WeightTensors

RESOLUTION = MARGIN / 4
TRAINED = frozenset({"W_QK", "W_v", "W_c", "w"})
PIXEL_ROW = 8.0  # the largest ℓ2 norm of 64 grey levels in [0, 1]
MeasuredRow = Mapping[str, Any]


def measured_norms(weights: WeightTensors) -> dict[str, torch.Tensor]:
    """Every norm of every matrix, and of w, (E,) each: ``norms.0.W_v.op``, ``norms.w.op``."""
    sizes = norms(weights, tuple(NORMS))
    W = list(weights.values())[-1].detach()
    pairs = itertools.combinations(range(W.shape[-1]), 2)
    readers = [norms({"w": W[..., [i]] - W[..., [j]]}, tuple(NORMS)) for i, j in pairs]
    for name in readers[0]:
        sizes[name] = torch.stack([one[name] for one in readers]).amax(0)
    return sizes


def statements(row: MeasuredRow) -> tuple[dict[str, float], dict[str, str]]:
    """The number of each form of each statement, ``id form``; and of the others why there is none.

    ``row`` has the config, the norms, and ``least_margin``, the least margin of the examples.
    """
    values, reasons = {}, {}
    readings, m = readings_of(row), row["config"]["task"]["m"]
    margins = TrainingMargins(np.full(m, row["least_margin"]), 0.05, 0.5)
    for s in about_networks():
        reason = refusal(s, readings, margins)
        if reason:
            reasons[s.id] = reason
            continue
        case = Case(s, readings, margins)
        for form in s.forms:
            try:
                values[f"{s.id} {form}"] = number(case, form, m)
            except DudleyError as error:
                reasons[f"{s.id} {form}"] = str(error)
    return values, reasons


def refusal(s: Statement, readings: Readings, margins: TrainingMargins) -> str:
    """Why a statement does not speak of this network, or nothing."""
    takes = {i.name for i in s.inputs}
    if not readings:
        return "its class has no residual branches, norm layers, MLPs or trained positions"
    if "L" not in takes and "head" not in readings:
        return "its class has one layer"
    fails = Case(s, readings, margins).fails
    return fails[1] if fails else ""


def number(case: Case, form: str, m: int) -> float:
    """What is ranked: see above."""
    inputs = dict(case.measured_inputs)
    inputs |= {name: x for name, x in (("n", m), ("epsilon", RESOLUTION)) if name in case.takes}
    bound = case.statement.evaluate_on(inputs, form)
    if case.statement.measure == "covering number":
        return math.sqrt(max(0.0, bound.value) / m)
    return float(bound.value)


def readings_of(row: MeasuredRow) -> Readings:
    """The network as a member of the papers' classes; of none where it is a pre-norm one."""
    task, model = row["config"]["task"], row["config"]["model"]
    if model["name"] != "token-network":
        return {}
    T = task["T"] + bool(model.get("bits"))
    sizes = {"T": T, "H": 1, "L": model["L"], "d": model["V"] + T, "k": model["k"]}
    sizes |= {"P.row2inf": 0.0, "sigma.lipschitz": 1.0, "X.row2inf": 1.0, "X.row1inf": math.sqrt(2)}
    if model.get("every"):
        sizes |= {"V": model["classes"], "loss.range": 1.0}
    largest = {owner: largest_norms(row, owner) for owner in sorted(TRAINED)}
    if model["L"] > 1:
        return {"block": reading(largest, sizes)}
    s, t = (Grid(2.0).round_up(max(1.0, largest[W]["op"]))[0] for W in ("W_v", "W_c"))
    by = {"W_QK": 1.0, "W_v": 1 / s, "W_c": 1 / t, "w": s * t}
    idle = {W: {n: by[W] * x for n, x in some.items()} for W, some in largest.items()}
    return {"head": reading(largest, sizes), "block": reading(idle, sizes)}


def largest_norms(row: MeasuredRow, owner: str) -> dict[str, float]:
    """The largest norms over all matrices of that name."""
    largest: dict[str, float] = {}
    for path, value in row.items():
        if path.startswith("norms.") and path.split(".")[-2] == owner:
            norm = path.rpartition(".")[2]
            largest[norm] = max(largest.get(norm, 0.0), value)
    return largest


def reading(norms_by_owner: Mapping[str, Mapping[str, float]], sizes: Mapping[str, float]):
    """Such norms by the names of the vocabulary."""
    numbers = dict(sizes)
    for owner, some in norms_by_owner.items():
        for norm, value in some.items():
            name = f"{owner}.{VECTOR.get(norm, norm) if owner == 'w' else norm}"
            if known(name):
                numbers[name] = value
    return Reading({}, TRAINED, numbers)


def calculus(row: MeasuredRow) -> float:
    """√(log N(ε)/m) of the network by the calculus."""
    task, model = row["config"]["task"], row["config"]["model"]
    name, m = model["name"], task["m"]
    sizes = {k: v for k, v in model.items() if k not in ("name", "bits", "inputs", "dropout", "T")}
    T = task.get("T", model.get("T")) + (bool(model.get("bits")) or "inputs" in model)
    inputs = None
    if name == "token-network":
        twin = TokenNetwork(T=T, **sizes)
    else:
        twin = Transformer(T=T, **sizes)
        rows = model.get("inputs") == "rows"
        inputs = Tokens(PIXEL_ROW, T, model["V"]) if rows else OneHot(model["V"], T)
    bound = at_norms(twin, row, ramp_loss(MARGIN), inputs)
    return math.sqrt(float(bound.entropy(RESOLUTION, m)) / m)
