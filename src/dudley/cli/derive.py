"""``dudley derive``: the calculus on a network file."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from dudley.cli.output import print_json
from dudley.core.errors import UnknownName
from dudley.core.vocabulary import parse_assignments
from dudley.networks import explain, files, proof
from dudley.networks.capacity import Capacity, capacity

OWN = {"n": None, "delta": 0.05, "epsilon": None}  # names that are not the network's


def derive(
    network: Annotated[str, typer.Argument(help="A network file, or an example's name.")],
    values: Annotated[
        list[str] | None, typer.Argument(help="name=value: n, delta, epsilon, or a norm or size.")
    ] = None,
    show_explain: Annotated[
        bool, typer.Option("--explain", help="The network as a tree: what costs what.")
    ] = False,
    show_proof: Annotated[
        bool, typer.Option("--proof", help="The bound lemma by lemma, with LaTeX.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Entropy, Rademacher complexity and generalisation gap of a network, explicit constants.

    Example: dudley derive single-head n=1e5 delta=0.05 --explain
    """
    given = parse_assignments(values or [])
    own = {name: given.pop(name, default) for name, default in OWN.items()}
    unusable = [name for name in given if name.startswith(("tail.", "truncation", "beta", "kappa"))]
    if unusable:
        raise UnknownName("name for derive", unusable[0], [*OWN, "margin", "T", "W_QK.l11"])
    described = files.load(network, given)
    cap = capacity(described.network, described.inputs, own["n"], described.loss)
    delta = float(own["delta"] or OWN["delta"])
    if as_json:
        print_json("derive", [_item(network, cap, delta, own["epsilon"], show_explain, show_proof)])
        return
    print(report(described.title or network, cap, delta, own["epsilon"]))
    print("\n" + (cap.explain() if show_explain else f"culprit: {explain.culprit(cap)}"))
    if show_proof:
        print("\n" + cap.proof(delta))


def needed(cap: Capacity, delta: float) -> float:
    """log₁₀ of the examples at which the gap is half its trivial bound."""
    return cap.log10_needed_n(cap.loss.range / 2, delta)


def report(title: str, cap: Capacity, delta: float, epsilon: float | None) -> str:
    """The answer for people."""
    count = files.count_parameters(cap.network, cap.signal.width)
    out = cap.facts.out
    rows = [
        ("network", f"{title} ({count:,} weights)"),
        ("output radius", explain.power(float(out.radius.log))),
        ("Lipschitz", explain.power(float(cap.facts.lipschitz.log))),
    ]
    if epsilon is not None:
        log_ε = math.log(epsilon)
        log_n = None if cap.n is None else math.log(cap.n)
        log_H = float(cap.allocated.log_log(log_ε, log_n))
        rows.append((f"log N({epsilon:g})", explain.power(log_H)))
    if cap.n is not None and out.width == 1:
        rows.append((f"Rademacher, n={cap.n:g}", f"{cap.rademacher():.4g}"))
    log10 = needed(cap, delta)
    half = f"gap ≤ {cap.loss.range / 2:g}"
    rows.append((half, f"needs n = {examples(log10)}"))
    lines = [f"{name:<20} {text}" for name, text in rows]
    if cap.n is not None:
        lines += ["", str(cap.gap(delta))]
    return "\n".join(lines)


def examples(log10: float) -> str:
    """A number of examples for people: digits while they mean something, then a power."""
    if not math.isfinite(log10):
        return "more than any power of ten tried"
    return f"{math.ceil(10**log10):,}" if log10 < 6 else f"10^{log10:.2f}"


def _item(name: str, cap: Capacity, delta: float, epsilon, with_tree: bool, with_proof: bool):
    """The answer for programs."""
    log10 = needed(cap, delta)
    item: dict = {
        "id": name,
        "form": "derived",
        "delta": delta,
        "radius_log10": finite(float(cap.facts.out.radius.log10)),
        "lipschitz_log10": finite(float(cap.facts.lipschitz.log10)),
        "needed_n_log10": finite(log10),
        "needed_n_target": cap.loss.range / 2,
        "culprit": explain.culprit(cap),
    }
    if epsilon is not None:
        log_n = None if cap.n is None else math.log(cap.n)
        log_H = float(cap.allocated.log_log(math.log(epsilon), log_n))
        item["entropy"] = {"epsilon": epsilon, "log_value": finite(log_H)}
    if cap.n is not None:
        item |= {"n": cap.n} | cap.gap(delta).to_json()
        if cap.facts.out.width == 1:
            item["rademacher"] = finite(cap.rademacher())
    if with_tree:
        rows, log_ε, log_n = cap.shares
        item["explain"] = {
            "log_epsilon": finite(log_ε),
            "log_n": finite(log_n),
            "blocks": [
                vars(row) | {"log10_weight": [*map(finite, row.log10_weight)]} for row in rows
            ],
        }
    if with_proof:
        item["proof"] = [vars(step) for step in proof.steps(cap)]
    return item


def finite(value: float) -> float | None:
    """The value, or null where it is not a finite float."""
    return value if math.isfinite(value) else None
