"""What a run says: of a claim of a paper, of a hypothesis of ours, or in answer to a question.

A paper leaves choices open: which check counts, how images are scaled, where a plateau begins.
Each way to settle them that was run is a `PaperReading` with an outcome of its own, and the verdict
on a claim is a function of all of them (`verdict_of`), so that no verdict stands without the
readings behind it. A hypothesis of ours is confirmed, refuted or undecided. A question has numbers
for an answer and no verdict: it is measured.

>>> check = PaperReading("which check counts", "the best of all", "says so", "holds")
>>> last = PaperReading("which check counts", "the last", "does not report it", "fails")
>>> Finding.of_claim("m grows with T", [check, last], "α = .5 and 0").verdict
'depends on which check counts'
>>> Finding.of_hypothesis("both protocols agree", "refuted", "they do not").verdict
'refuted'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dudley.core.errors import InputError

OUTCOMES = ("holds", "fails", "undecided")
KINDS = ("claim", "hypothesis", "question")
ANSWERS = ("confirmed", "refuted", "undecided")
NOTHING_OPEN = "nothing is left open"
SMOKE = "undecided: smoke decides nothing"
BRIEF = {
    "reproduced under": "reproduced under some readings",
    "depends on": "depends on the reading",
}
WHOSE = {"claim": "the paper's claims", "hypothesis": "our hypotheses", "question": "our questions"}
# Verdicts of records from before readings were listed. They are read, and not repeated.
FORMER = ("reproduced", "not reproduced", "differs", "undecided", "beyond the paper")


@dataclass(frozen=True)
class PaperReading:
    """One way to settle what a paper leaves open, as it was run.

    ``choice`` names what is left open, ``chosen`` what was taken, ``paper`` what the paper says
    about it or that it is silent, ``outcome`` whether the claim holds then.
    """

    choice: str
    chosen: str
    paper: str
    outcome: str
    numbers: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        texts = {"choice": self.choice, "chosen": self.chosen, "paper": self.paper}
        for name, text in texts.items():
            if not isinstance(text, str) or not text.strip():
                raise InputError(f"{name} of a reading", "a text", ascii(text))
        if self.outcome not in OUTCOMES:
            raise InputError("outcome of a reading", " | ".join(OUTCOMES), ascii(self.outcome))
        if not isinstance(self.numbers, dict):
            raise InputError("numbers of a reading", "numbers by name", type(self.numbers).__name__)

    @classmethod
    def printed(cls, outcome: str, **numbers: Any) -> PaperReading:
        """The only reading, where the paper leaves nothing open."""
        chosen = "the printed statement"
        return cls(NOTHING_OPEN, chosen, "says all that was needed", outcome, numbers)

    def as_json(self) -> dict[str, Any]:
        texts = {"choice": self.choice, "chosen": self.chosen, "paper": self.paper}
        return texts | {"outcome": self.outcome, "numbers": self.numbers}


@dataclass(frozen=True)
class Finding:
    """A claim, a hypothesis or a question; what was observed; the numbers behind it.

    It is made by `of_claim`, `of_hypothesis` or `of_question`. A claim without readings is refused,
    and so is a single reading that does not say that nothing is left open.
    """

    claim: str
    kind: str
    observation: str  # the key "found" in files
    numbers: dict[str, Any] = field(default_factory=dict)
    readings: tuple[PaperReading, ...] = ()
    answer: str = ""  # of a hypothesis
    decides: bool = True  # false at the scale smoke

    def __post_init__(self):
        if self.kind not in KINDS:
            fix = "make it by Finding.of_claim, of_hypothesis or of_question"
            raise InputError("kind of a finding", " | ".join(KINDS), ascii(self.kind), fix)
        count = len(self.readings)
        if self.kind == "claim" and not count:
            fix = "list what the paper leaves open, and run it"
            raise InputError("readings of a claim", "at least one", "none", fix)
        if count == 1 and self.readings[0].choice != NOTHING_OPEN:
            fix = "run another reading, or say that nothing is left open (PaperReading.printed)"
            raise InputError("readings of a claim", "two of an open choice", "one", fix)
        if self.kind != "claim" and count:
            raise InputError(f"readings of a {self.kind}", "none", count)
        if self.kind == "hypothesis" and self.answer not in ANSWERS:
            raise InputError("answer to a hypothesis", " | ".join(ANSWERS), ascii(self.answer))
        if self.kind != "hypothesis" and self.answer:
            raise InputError(f"answer to a {self.kind}", "none", ascii(self.answer))

    @classmethod
    def of_claim(
        cls,
        claim: str,
        readings: Sequence[PaperReading],
        observation: str,
        numbers: dict[str, Any] | None = None,
    ) -> Finding:
        """A claim of a paper."""
        return cls(claim, "claim", observation, numbers or {}, tuple(readings))

    @classmethod
    def of_hypothesis(
        cls, hypothesis: str, answer: str, observation: str, numbers: dict[str, Any] | None = None
    ) -> Finding:
        """A hypothesis of ours: confirmed, refuted or undecided."""
        return cls(hypothesis, "hypothesis", observation, numbers or {}, answer=answer)

    @classmethod
    def of_question(
        cls, question: str, observation: str, numbers: dict[str, Any] | None = None
    ) -> Finding:
        """A question of ours whose answer is numbers."""
        return cls(question, "question", observation, numbers or {})

    @property
    def verdict(self) -> str:
        """What follows, in a few words."""
        if not self.decides:
            return SMOKE
        if self.kind == "claim":
            return verdict_of(self.readings)
        return self.answer or "measured"

    @property
    def brief(self) -> str:
        """The verdict without what it depends on; for counts."""
        for start, short in BRIEF.items():
            if self.verdict.startswith(start):
                return short
        return self.verdict

    @property
    def word(self) -> str:
        """The first word of the verdict, or its first two where that is *not*; for styles."""
        words = self.verdict.replace(":", "").split()
        return "-".join(words[: 2 if words[0] == "not" else 1])

    def at_scale(self, scale: str) -> Finding:
        """The finding as it stands at a scale: smoke decides nothing."""
        return replace(self, decides=scale != "smoke")

    def as_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"claim": self.claim, "kind": self.kind, "verdict": self.verdict}
        if self.kind == "hypothesis":
            record["answer"] = self.answer
        if not self.decides:
            record["decides"] = False
        record["found"] = self.observation
        if self.kind == "claim":
            record["readings"] = [reading.as_json() for reading in self.readings]
        return record | {"numbers": self.numbers}

    @staticmethod
    def read(record: dict[str, Any]) -> Finding:
        """From what `as_json` wrote; a verdict that does not follow from the rest is refused.

        A record from before readings were listed becomes a question, since nothing is behind its
        verdict.
        """
        fields = dict(record)
        verdict, fields["observation"] = fields.pop("verdict"), fields.pop("found")
        if "kind" not in fields:
            if verdict not in FORMER:
                raise InputError("verdict of a finding", " | ".join(FORMER), ascii(verdict))
            return Finding(kind="question", **fields)
        fields["readings"] = tuple(PaperReading(**one) for one in fields.pop("readings", ()))
        finding = Finding(**fields)
        if verdict != finding.verdict:
            raise InputError("verdict of a finding", finding.verdict, ascii(verdict))
        return finding


def counts(findings: Sequence[Finding]) -> str:
    """How often each verdict, the paper's claims apart from what is ours.

    >>> ours = Finding.of_hypothesis("x", "refuted", "y")
    >>> counts([Finding.of_claim("x", [PaperReading.printed("holds")], "y"), ours, ours])
    "the paper's claims: 1 reproduced; our hypotheses: 2 refuted"
    """
    parts = []
    for kind, whose in WHOSE.items():
        counted = Counter(finding.brief for finding in findings if finding.kind == kind)
        if counted:
            words = ", ".join(f"{count} {verdict}" for verdict, count in counted.items())
            parts.append(f"{whose}: {words}")
    return "; ".join(parts)


def verdict_of(readings: Sequence[PaperReading]) -> str:
    """The verdict on a claim over all readings that were run.

    - *reproduced*: it holds under every reading;
    - *reproduced under …*: it holds under those, and the others are undecided;
    - *depends on …*: it holds under some and fails under others; what is named are the choices
      whose readings disagree, or all choices where none disagrees by itself;
    - *not reproduced under any reading tried*: it fails under every reading;
    - *undecided*: otherwise.

    >>> whole = PaperReading("where it begins", "T ≥ 20", "is silent", "undecided")
    >>> upper = PaperReading("where it begins", "T ≥ 100", "is silent", "holds")
    >>> verdict_of([whole, upper])
    'reproduced under T ≥ 100'
    """
    outcomes = {reading.outcome for reading in readings}
    if outcomes == {"holds"}:
        return "reproduced"
    if outcomes == {"fails"}:
        return "not reproduced under any reading tried"
    if "holds" not in outcomes:
        return "undecided"
    if "fails" not in outcomes:
        good = [reading.chosen for reading in readings if reading.outcome == "holds"]
        return f"reproduced under {'; '.join(dict.fromkeys(good))}"
    by_choice: dict[str, set[str]] = {}
    for reading in readings:
        by_choice.setdefault(reading.choice, set()).add(reading.outcome)
    split = [choice for choice, seen in by_choice.items() if {"holds", "fails"} <= seen]
    return f"depends on {'; '.join(split or by_choice)}"
