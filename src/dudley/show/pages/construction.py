"""Constructed weights as a document: norms beside the paper's claims, and what a run gave."""

from __future__ import annotations

from typing import Any

from dudley.show.document import Cell, Document, DocumentBlock, Properties, Prose, Section, Table
from dudley.show.pages import BUILDERS, made_by
from dudley.theorems.constructions.assemble import Construction
from dudley.theorems.constructions.selector import NormClaim
from dudley.theorems.constructions.verify import ConstructionCheck

ROUNDING = 1e-9  # a norm computed in float64 may exceed its claim by this, relatively
HEADS = ["norm", "true", "paper claims", "holds", "proved here"]


def document(title: str, built: Construction, checked: ConstructionCheck) -> Document:
    """What was built, its norms, and whether it computes the function."""
    about = Properties(
        (
            ("construct", title),
            ("relevant", ", ".join(str(i + 1) for i in built.indices)),
            ("coherence", f"{built.coherence:.6g} (measured)"),
            ("gamma", f"{built.selector.γ:.6g}"),
        )
    )
    return Document(
        "",
        (about, Section("", (norms(built),)), Section("", tuple(run(built, checked)))),
        kind="construction",
    )


@BUILDERS.register("construct")
def from_json(items: list[dict[str, Any]]) -> Document:
    """What ``dudley construct --json`` prints."""
    (item,) = items
    answers = {True: "yes", False: "NO", None: "—"}
    rows = [
        [
            n["name"],
            number(n["true"]),
            number(n["claimed"]),
            answers[n["holds"]],
            number(n["proved"]),
        ]
        for n in item["norms"]
    ]
    inputs = f"{item['inputs']:,}" + ("" if item["exhaustive"] else " drawn")
    settings = ("form", "heads", "basis", "mapping", "seed")
    about = (
        ("task", f"{item['task']}, T = {item['T']}, s = {item['s']}"),
        *((name, str(item[name])) for name in settings),
        ("coherence", f"{item['coherence']:.6g} (measured)"),
        ("gamma", f"{item['gamma']:.6g}"),
        ("head error", f"{item['head_error']:.6g}, stated {item['stated_error']:.6g}"),
        ("wrong", f"{item['wrong']:,} of {inputs} inputs"),
    )
    return Document(
        f"Constructed: {item['id']}",
        (Properties(about), Section("Norms", (Table.of(HEADS, rows),))),
        made=made_by(),
        kind="construction",
    )


def norms(built: Construction) -> Table:
    """Each norm beside what the paper claims of it and what is proved here."""
    rows = [
        [
            f"{claim.weight}.{claim.norm}",
            Cell(f"{true:.6g}", true),
            number(claim.paper),
            {True: "yes", False: "NO", None: "—"}[holds(claim, true)],
            number(claim.ours),
        ]
        for claim, true in built.norms()
    ]
    return Table.of(HEADS, rows)


def holds(claim: NormClaim, true: float) -> bool | None:
    """Whether the paper's claim is true of a norm; None where it claims nothing."""
    return None if claim.paper is None else true <= claim.paper * (1 + ROUNDING)


def number(x: float | None) -> Cell:
    return Cell("—") if x is None else Cell(f"{x:.6g}", x)


def run(built: Construction, checked: ConstructionCheck) -> list[DocumentBlock]:
    """On which inputs it was run, and with what error."""
    inputs = f"all {checked.inputs:,} inputs" if checked.exhaustive else f"{checked.inputs:,} drawn"
    head = f"{checked.head_error:.6g}   stated {checked.stated_error:.6g}   "
    rows = (
        ("run", inputs),
        ("head error", f"{head}{_yes(checked.head_holds)}   ({built.selector.lemma})"),
        ("output error", f"{checked.output_error:.3g}   stated 0   {_yes(checked.right)}"),
    )
    blocks: list[DocumentBlock] = [Properties(rows)]
    if checked.right:
        blocks.append(Prose(f"every {'' if checked.exhaustive else 'drawn '}input is right"))
    else:
        blocks.append(Prose(f"{checked.wrong:,} inputs are wrong, the first: {checked.example}"))
    if not checked.exhaustive:
        sure = f"with confidence {checked.confidence:g} over the draw, at most a fraction "
        blocks.append(Prose(f"{sure}{checked.wrong_fraction:.3g} of all inputs is wrong"))
    return blocks


def _yes(truth: bool) -> str:
    return "yes" if truth else "NO"
