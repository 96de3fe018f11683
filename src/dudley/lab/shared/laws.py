"""Three laws of the critical m as hypotheses, each with the test of its fit and held-out lengths.

A law is *refuted* if logistic curves of their own at every T reject it (deviance, slopes free in
both models) at 5 % shared by three laws, by the best check and by the last one; otherwise it stays
*undecided*, since a law that is not rejected is not shown. This rule was written after the records
of the paper's scale had been looked at, with slopes tilted and free: both
reject the power and a + b·log T on the far range. On the paper's grid alone tilted slopes reject
all three laws, and free ones, which test m_c and nothing else, the power alone; the numbers have
both. The power of log T was thought of after those data had been seen, so that they cannot confirm
it in any case.
"""

from __future__ import annotations

from typing import Any

from dudley.lab.finding import Finding
from dudley.lab.shared.growth import favoured, fitted_law, rejected
from dudley.lab.statistics.goodness import p_value

HYPOTHESES = {
    "power": "The critical m is a power of T.",
    "log": "The critical m is a + b·log T (the paper's theory; its own claim for the data is "
    "sublinear).",
    "power of log": "The critical m is a power of log T (a law chosen after seeing these data).",
}
CRITERIA = {"best": "by the best check", "last": "by the last check"}
FAR = 3  # longest T that count as an end of the range


def law_findings(by_criterion: dict[str, dict[str, Any] | None]) -> list[Finding]:
    """A finding for each law, and one on held-out lengths; growths by ``best`` and ``last``."""
    known = {name: grown for name, grown in by_criterion.items() if grown is not None}
    few = "Too few outcomes."
    if not known:
        return [Finding.of_hypothesis(text, "undecided", few) for text in HYPOTHESES.values()]
    findings = [_law(name, known) for name in HYPOTHESES]
    grown = known.get("best")
    if grown is not None and "difference" in grown["plain"]:
        findings.append(_left_out(grown))
    return findings


def _law(name: str, known: dict[str, dict[str, Any]]) -> Finding:
    words = "; ".join(f"{CRITERIA[by]} {fitted_law(grown, name)}" for by, grown in known.items())
    both = len(known) == len(CRITERIA)
    bad = [rejected(grown, name) for grown in known.values()]
    answer = "refuted" if both and all(bad) else "undecided"
    end = "Curves of their own at every T reject it at level .05/3"
    if answer == "undecided":
        end = "Not rejected at this level, .05/3"
        if any(bad):
            end = "Rejected at level .05/3 by one of the criteria alone"
    end += (
        f"; this rule was fixed after the paper-scale data had been seen. {_one_slope(name, known)}"
    )
    if name == "power of log" and answer == "undecided":
        end += " These data suggested it and cannot confirm it; that takes new runs."
    laws = {by: grown["free"][name] for by, grown in known.items()}
    return Finding.of_hypothesis(
        HYPOTHESES[name], answer, f"{words[0].upper()}{words[1:]}. {end}", {"law": name, **laws}
    )


def _one_slope(name: str, known: dict[str, dict[str, Any]]) -> str:
    """What the test says where the law has one slope b at all T."""
    bad = [rejected(grown, name, "plain") for grown in known.values()]
    word = "is rejected" if any(bad) else "is not rejected"
    word += " by one of the criteria" * (any(bad) and not all(bad))
    tests = (p_value(grown["plain"][name]["goodness"]) for grown in known.values())
    return f"With one slope b at all T it {word} ({', '.join(tests)})."


def _left_out(grown: dict[str, Any]) -> Finding:
    """Which law predicts a T that it has not seen."""
    favourite = favoured(grown)
    parts = []
    for kind, words in (("plain", "one slope b"), ("tilted", "b depending on T")):
        line = grown[kind]["difference"]
        low, high = line["interval"]
        parts.append(f"{line['sum']:+.1f} [{low:.1f}, {high:.1f}] with {words}")
    gains = grown["tilted"]["gain_of_power_of_log"]
    more, at_the_ends = [], True
    for name, line in gains.items():
        low, high = line["interval"]
        rows = line["by_T"]
        ends = rows[:1] + rows[1:][-FAR:]
        share = sum(row["sum"] for row in ends)
        at_the_ends &= len(rows) > len(ends) + 1 and share > line["sum"] / 2 > 0
        more.append(f"{line['sum']:+.1f} [{low:.1f}, {high:.1f}] over {name}, {share:+.1f} of it "
                    f"at T = {', '.join(format(row['T'], ',') for row in ends)}")  # fmt: skip
    where = ": mostly at the ends of the range, where laws are extrapolated" if at_the_ends else ""
    text = (
        "Log-likelihood of a T left out, summed over cells, power law less log law: "
        f"{' and '.join(parts)}"
        + (
            "; neither is favoured by both."
            if favourite == "undecided"
            else f"; both favour the {favourite} law."
        )
        + f" Gain of the power of log T, with b depending on T: {'; '.join(more)}{where}."
    )
    numbers = {"favoured": favourite, "gains": gains}
    numbers |= {kind: grown[kind]["difference"] for kind in ("plain", "tilted")}
    question = "Which law of the critical m predicts a length that it was not fitted to?"
    return Finding.of_question(question, text, numbers)
