"""What is derived for a network as a document: its bounds, the examples they need, the culprit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dudley.calculus.union import Grid, pay
from dudley.core.assumption import Assumption
from dudley.core.bound import Bound
from dudley.networks import explain, files
from dudley.networks.capacity import Capacity
from dudley.networks.proof.steps import Proof
from dudley.show.document import (
    Cell,
    Document,
    DocumentBlock,
    Folded,
    Listing,
    Points,
    Properties,
    Prose,
    Section,
    Table,
)
from dudley.show.pages import BUILDERS, made_by, proof as proofs


@dataclass(frozen=True)
class Derivation:
    """What is derived for a network: numbers read off after training are paid for by ``union``."""

    cap: Capacity
    delta: float
    epsilon: float | None
    union: Grid | None = None
    assumptions: tuple[Assumption, ...] = ()
    train_error: float | None = None  # of the trained network: the gap by one scale

    @cached_property
    def paid(self) -> Capacity:
        """The same class with every number on its grid."""
        return self.cap if self.union is None else pay(self.cap, self.union)[0]

    @cached_property
    def gap(self) -> Bound:
        bound = self.cap.gap(self.delta, union=self.union, train_error=self.train_error)
        return replace(bound, assumptions=bound.assumptions + self.assumptions)

    @property
    def needed(self) -> float:
        """log₁₀ of the examples at which the gap is half its trivial bound."""
        return needed(self.cap, self.delta, self.union, self.train_error)

    @property
    def log_entropy(self) -> float:
        """log log N(ε)."""
        assert self.epsilon is not None
        log_n = None if self.cap.n is None else math.log(self.cap.n)
        return float(self.paid.allocated.log_log(math.log(self.epsilon), log_n))

    @cached_property
    def proof(self) -> Proof:
        """The gap lemma by lemma, with what the checkpoint's reader assumes."""
        proof = self.cap.prove(self.delta, train_error=self.train_error, union=self.union)
        return proof if proof.bound is None else replace(proof, bound=self.gap)


def needed(
    cap: Capacity, delta: float, union: Grid | None = None, train_error: float | None = None
) -> float:
    """log₁₀ of the examples at which the gap is half the range of the loss."""
    return cap.log10_needed_n(cap.loss.range / 2, delta, union, train_error=train_error)


def document(
    title: str, derivation: Derivation, *, with_tree: bool = False, with_proof: bool = False
) -> Document:
    """The numbers, what is to blame or the whole tree, and the proof where it is wanted."""
    blocks: list[DocumentBlock] = [Properties(tuple(numbers(title, derivation)))]
    if derivation.cap.n is not None:
        blocks.append(Section("", (Listing(str(derivation.gap)),)))
    elif derivation.assumptions:
        lines = "\n".join(f"  · {assumption}" for assumption in derivation.assumptions)
        blocks.append(Section("", (Listing(lines),)))
    paid = derivation.paid
    blame = paid.explain() if with_tree else f"culprit: {explain.culprit(paid)}"
    blocks.append(Section("", (Listing(blame),)))
    if with_proof:
        blocks.append(Section("", proofs.document(derivation.proof).blocks))
    return Document("", tuple(blocks), kind="derivation")


@BUILDERS.register("derive")
def from_json(items: list[dict[str, Any]]) -> Document:
    """What ``dudley derive --json`` prints, with blocks and proof if it has them."""
    (item,) = items
    half = f"gap ≤ {item['needed_n_target']:g}"
    needs = item["needed_n_log10"]
    rows = [
        ("output radius", ten(item["radius_log10"])),
        ("Lipschitz", ten(item["lipschitz_log10"])),
        (half, f"needs n = {examples(math.inf if needs is None else needs)}"),
    ]
    if item.get("rademacher") is not None:
        rows.insert(2, (f"Rademacher, n={item['n']:g}", f"{item['rademacher']:.4g}"))
    if "entropy" in item:
        log = item["entropy"]["log_value"]
        shown = "0" if log is None else explain.power(log)
        rows.insert(2, (f"log N({item['entropy']['epsilon']:g})", shown))
    blocks: list[DocumentBlock] = [Properties(tuple(rows))]
    if "n" in item:
        blocks.append(evaluation(item))
    if item.get("assumptions"):
        lines = (f"{a['statement']} ({a['status']})" for a in item["assumptions"])
        blocks.append(Folded("What it rests on", (Points(tuple(lines)),), open=True))
    blocks.append(Prose(f"Culprit: {item['culprit']}."))
    if "explain" in item:
        heads = ("block", "constraint", "count", "largest weight", "share", "cover")
        table = Table.of(heads, [block(row) for row in item["explain"]["blocks"]])
        blocks.append(Section("What each block costs", (table,)))
    if "proof" in item:
        blocks.append(Section("Proof", proofs.blocks(item["proof"])))
    return Document(
        f"Derived: {item['id']}",
        tuple(blocks),
        lead=(f"δ = {item['delta']:g}",) + ((f"n = {item['n']:g}",) if "n" in item else ()),
        made=made_by(),
        kind="derivation",
    )


def evaluation(item: dict[str, Any]) -> Section:
    """A bound from its JSON: what it bounds, its number, and the terms of it."""
    value = "past the floats" if item["value"] is None else f"{item['value']:.6g}"
    says = ", which says nothing" if item["vacuous"] else ""
    rows = [
        [
            term["name"],
            Cell("–") if (x := term["value"]) is None else Cell(f"{x:.6g}", x),
            term["note"],
        ]
        for term in item["terms"]
    ]
    table = (Table.of(["term", "value", ""], rows),) if rows else ()
    return Section("", (Prose(f"{item['quantity']} ≤ {value}{says} ({item['sense']})."), *table))


def block(row: dict[str, Any]) -> list[Cell]:
    """A block of weights in the table of costs."""
    weight, share = row["log10_weight"][1], row["share"]
    return [
        Cell(row["block"]),
        Cell(row["constraint"]),
        Cell(str(row["count"]), row["count"]),
        Cell(ten(weight), weight),
        Cell(f"{share:.1%}", share),
        Cell(row["cover"]),
    ]


def ten(log10: float | None) -> str:
    """A magnitude by its log₁₀, which is null where it is 0 or unknown."""
    return "0 or unknown" if log10 is None else explain.power(log10 * math.log(10))


def numbers(title: str, derivation: Derivation) -> list[tuple[str, str]]:
    """Sizes and radii of the network, its entropy and complexity, and the examples it needs."""
    cap, paid = derivation.cap, derivation.paid
    count = files.count_parameters(cap.network, cap.signal.width)
    out = paid.facts.out
    rows = [
        ("network", f"{title} ({count:,} weights)"),
        ("output radius", explain.power(float(out.radius.log))),
        ("Lipschitz", explain.power(float(paid.facts.lipschitz.log))),
    ]
    if derivation.epsilon is not None:
        rows.append((f"log N({derivation.epsilon:g})", explain.power(derivation.log_entropy)))
    if cap.n is not None and out.width == 1:
        rows.append((f"Rademacher, n={cap.n:g}", f"{paid.rademacher():.4g}"))
    half = f"gap ≤ {cap.loss.range / 2:g}"
    if derivation.train_error is not None:
        half += f" at training error {derivation.train_error:g}"
    return [*rows, (half, f"needs n = {examples(derivation.needed)}")]


def examples(log10: float) -> str:
    """A number of examples for people: digits while they mean something, then a power."""
    if not math.isfinite(log10):
        return "more than any power of ten tried"
    return f"{math.ceil(10**log10):,}" if log10 < 6 else f"10^{log10:.2f}"
