"""Certificates for people: the best one whole, the others in a line each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dudley.cli.output import paragraph, print_json
from dudley.core.rounding import ceiling, floor

if TYPE_CHECKING:
    from dudley.certificates.auto import Ranking
    from dudley.certificates.certificate import Certificate


def print_ranking(ranking: Ranking, out: Path | None, check: str, as_json: bool) -> None:
    """The best certificate and what stands beside it; ``out`` is where it was written."""
    if as_json:
        print_json("certificates", [one.to_json() for one in ranking.certificates])
        return
    show(ranking.best)
    for other in ranking.certificates[1:]:
        print(f"  {'beside it':<18} {other.method}: {ceiling(other.to_json()['value'], 6)}")
    for name, why in ranking.refused.items():
        print(paragraph(f"{name} refused: {why}", 21, f"  {'beside it':<19}"))
    if out is None:
        print("\nnothing written; --out FILE.json keeps the certificate")
    else:
        print(f"\nwrote {out}; check it: {check}")


def show(one: Certificate) -> None:
    """A certificate for people: the number, why it is what it is, what it rests on."""
    from dudley.show.pages.certificate import told

    file = one.to_json()
    print(paragraph(f"{one.quantity} ≤ {ceiling(file['value'], 6)}"))
    if one.vacuous:
        print("  vacuous: guessing the most frequent class may do as well")
    n = one.data["n"]
    print(f"  with probability at least 1 − {one.delta} over {n:,} examples; method {one.method}")
    if one.declared["population"]:
        print(paragraph(one.declared["population"], 21, f"  {'population':<19}"))
    for name, value in file["facts"].items():
        if value not in ([], {}):
            print(paragraph(told(value), 21, f"  {name.replace('_', ' '):<19}"))
    print(f"  {'price':<18} {file['nats']:.6g} nats for what was chosen after the data")
    for price in file["prices"]:
        print(paragraph(price["note"], 34, f"  {'':<18} {price['nats']:>8.4g}  {price['name']}: "))
    most = file["baseline"]
    print(
        f"  {'baseline':<18} class {most['class']} always: {most['errors']:,} errors here, "
        f"a risk of {floor(most['error_at_least'])} at least"
    )
    for words in one.advice:
        print(paragraph(words, 4, "  → "))
    for words in one.declarations:
        print(paragraph(words, 4, "  · "))
