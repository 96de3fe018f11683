"""What a run says: of a claim of a paper, of a hypothesis of ours, or in answer to a question.

A paper leaves choices open: which check counts, how images are scaled, where a plateau begins.
Each way to settle them that was run is a `PaperReading` with an outcome of its own, and the verdict
on a claim is a function of all of them (`verdict_of`), so that no verdict stands without the
readings behind it. What was run against the paper's own words is listed too, and decides nothing. A
hypothesis of ours is confirmed, refuted or undecided; where its plan lists readings (which networks
count, which margin, which norms a bound reads), that is a function of all of them, too. A question
has numbers for an answer and no verdict: it is measured.

>>> few = PaperReading({"epochs": "600"}, "is silent", "fails")
>>> many = PaperReading({"epochs": "6,000"}, "is silent", "holds")
>>> Finding.of_claim("the loss falls with N", [few, many], "it does so late").verdict
'depends on epochs'
>>> Finding.of_hypothesis("both protocols agree", "refuted", "they do not").verdict
'refuted'
>>> Finding.under_readings("the loss falls with N", [few, many], "it does so late").verdict
'depends on epochs'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dudley.core.errors import InputError

UPHELD = "not contradicted"  # of a bound that nothing exceeds: that shows little
OUTCOMES = ("holds", "fails", "undecided", UPHELD)
KINDS = ("claim", "hypothesis", "question")
ANSWERS = ("confirmed", "refuted", "undecided")
NOTHING_OPEN = "nothing is left open"
LONGEST = 10  # words that a verdict names readings by
SMOKE = "undecided: smoke decides nothing"
OURS = "ours to choose, set before the run"  # what a reading of a hypothesis of ours settles
BRIEF = {
    "confirmed under": "confirmed under some readings",
    "refuted under": "refuted under some readings",
    "reproduced under": "reproduced under some readings",
    "depends on": "depends on the reading",
    UPHELD: UPHELD,
}
WHOSE = {"claim": "the paper's claims", "hypothesis": "our hypotheses", "question": "our questions"}
# Verdicts of records from before readings were listed. They are read, and not repeated.
FORMER = ("reproduced", "not reproduced", "differs", "undecided", "beyond the paper")


@dataclass(frozen=True)
class PaperReading:
    """One way to settle what a paper leaves open, as it was run.

    ``choices`` has, by what is left open, what was taken; ``paper`` is what the paper says about it
    or that it is silent, ``outcome`` whether the claim holds then. ``contrary``: the paper says
    otherwise, so that this is an extra of ours, which no verdict counts.
    """

    choices: Mapping[str, str]
    paper: str
    outcome: str
    numbers: dict[str, Any] = field(default_factory=dict)
    contrary: bool = False

    def __post_init__(self):
        if not isinstance(self.choices, Mapping) or not self.choices:
            raise InputError("choices of a reading", "texts by name", ascii(self.choices))
        for text in (*self.choices, *self.choices.values()):
            if not isinstance(text, str) or not text.strip():
                raise InputError("choices of a reading", "texts by name", ascii(text))
        if not isinstance(self.paper, str) or not self.paper.strip():
            raise InputError("paper of a reading", "a text", ascii(self.paper))
        if self.outcome not in OUTCOMES:
            raise InputError("outcome of a reading", " | ".join(OUTCOMES), ascii(self.outcome))
        if not isinstance(self.numbers, dict):
            raise InputError("numbers of a reading", "numbers by name", type(self.numbers).__name__)

    @classmethod
    def printed(cls, outcome: str, **numbers: Any) -> PaperReading:
        """The only reading, where the paper leaves nothing open."""
        choices = {NOTHING_OPEN: "the printed statement"}
        return cls(choices, "says all that was needed", outcome, numbers)

    @classmethod
    def ours(cls, choices: Mapping[str, str], answer: str, **numbers: Any) -> PaperReading:
        """A reading of a hypothesis of ours, by its answer."""
        if answer not in ANSWERS:
            raise InputError("answer of a reading", " | ".join(ANSWERS), ascii(answer))
        outcome = {"confirmed": "holds", "refuted": "fails"}.get(answer, answer)
        return cls(choices, OURS, outcome, numbers)

    @property
    def choice(self) -> str:
        """What is left open, in words."""
        return "; ".join(self.choices)

    @property
    def chosen(self) -> str:
        """What was taken, in words."""
        return ", ".join(self.choices.values())

    def as_json(self) -> dict[str, Any]:
        record = {"choices": dict(self.choices), "paper": self.paper, "outcome": self.outcome}
        return record | ({"contrary": True} if self.contrary else {}) | {"numbers": self.numbers}

    @staticmethod
    def read(record: Mapping[str, Any]) -> PaperReading:
        """From what `as_json` wrote; an older record has a single choice."""
        fields = dict(record)
        if "choice" in fields:
            fields["choices"] = {fields.pop("choice"): fields.pop("chosen")}
        return PaperReading(**fields)


@dataclass(frozen=True)
class Finding:
    """A claim, a hypothesis or a question; what was observed; the numbers behind it.

    It is made by `of_claim`, `of_hypothesis`, `under_readings` or `of_question`. A claim without
    readings is refused, and so is a single reading that does not say that nothing is left open. A
    hypothesis has an answer, or readings that give it.
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
        if self.kind == "claim" and all(reading.contrary for reading in self.readings):
            fix = "list what the paper leaves open, and run it"
            raise InputError("readings of a claim", "at least one", "none", fix)
        if count == 1 and NOTHING_OPEN not in self.readings[0].choices:
            fix = "run another reading, or say that nothing is left open (PaperReading.printed)"
            raise InputError(f"readings of a {self.kind}", "two of an open choice", "one", fix)
        if self.kind == "question" and count:
            raise InputError(f"readings of a {self.kind}", "none", count)
        if self.kind == "hypothesis" and count and self.answer:
            raise InputError("answer to a hypothesis with readings", "none", ascii(self.answer))
        if self.kind == "hypothesis" and not count and self.answer not in ANSWERS:
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
    def under_readings(
        cls,
        hypothesis: str,
        readings: Sequence[PaperReading],
        observation: str,
        numbers: dict[str, Any] | None = None,
    ) -> Finding:
        """A hypothesis of ours whose answer is a function of readings."""
        if not readings:
            raise InputError("readings of a hypothesis", "at least two", "none")
        return cls(hypothesis, "hypothesis", observation, numbers or {}, tuple(readings))

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
        if self.readings:
            return answer_of(self.readings)
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
        if self.answer:
            record["answer"] = self.answer
        if not self.decides:
            record["decides"] = False
        record["found"] = self.observation
        if self.readings:
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
        fields["readings"] = tuple(map(PaperReading.read, fields.pop("readings", ())))
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
            words = ", ".join(_counted(*item) for item in counted.items())
            parts.append(f"{whose}: {words}")
    return "; ".join(parts)


def _counted(verdict: str, count: int) -> str:
    return f"{count} {verdict.replace('depends', 'depend') if count > 1 else verdict}"


def verdict_of(readings: Sequence[PaperReading]) -> str:
    """The verdict on a claim over all readings that were run and that the paper allows.

    - *reproduced*: it holds under every reading;
    - *reproduced under …*: it holds under those, and no other speaks against it;
    - *depends on …*: it fails under some readings and not under others; what is named are the
      choices that tell two such readings apart, the fewest that do (`_deciding`);
    - *not reproduced under any reading tried*: it fails under every reading;
    - *not contradicted …*: a bound that nothing exceeds, which shows little;
    - *undecided*: otherwise.

    >>> whole = PaperReading({"begins at": "T ≥ 20"}, "is silent", "undecided")
    >>> upper = PaperReading({"begins at": "T ≥ 100"}, "is silent", "holds")
    >>> verdict_of([whole, upper])
    'reproduced under T ≥ 100'
    """
    readings = [reading for reading in readings if not reading.contrary]
    outcomes = {reading.outcome for reading in readings}
    if outcomes == {"holds"}:
        return "reproduced"
    if outcomes == {"fails"}:
        return "not reproduced under any reading tried"
    if "fails" in outcomes and outcomes & {"holds", UPHELD}:
        return f"depends on {', '.join(_deciding(readings))}"
    if "holds" in outcomes:
        return f"reproduced under {_named(readings, 'holds')}"
    if outcomes == {UPHELD}:
        return UPHELD
    return f"{UPHELD} with {_named(readings, UPHELD)}" if UPHELD in outcomes else "undecided"


def answer_of(readings: Sequence[PaperReading]) -> str:
    """The answer to a hypothesis of ours over all readings that were run: as `verdict_of`, with

    - *confirmed*, *refuted*: it holds, or fails, under every reading;
    - *confirmed under …*, *refuted under …*: no other reading speaks against that.

    >>> all_runs = PaperReading.ours({"networks": "all"}, "undecided")
    >>> answer_of([all_runs, PaperReading.ours({"networks": "fitted"}, "refuted")])
    'refuted under fitted'
    """
    outcomes = {reading.outcome for reading in readings}
    if outcomes == {"fails", "undecided"}:
        return f"refuted under {_named(readings, 'fails')}"
    words = {"reproduced": "confirmed", "not reproduced under any reading tried": "refuted"}
    verdict = verdict_of(readings)
    return words.get(verdict, verdict.replace("reproduced under", "confirmed under"))


def _deciding(readings: Sequence[PaperReading]) -> list[str]:
    """The choices that decide: two readings disagree that differ in them, and in nothing else.

    Where several choices changed at once between two readings, and some of them alone change the
    outcome elsewhere, the others are not named.
    """
    bad = [reading.choices for reading in readings if reading.outcome == "fails"]
    good = [reading.choices for reading in readings if reading.outcome in ("holds", UPHELD)]
    apart = {
        frozenset(name for name in {*a, *b} if a.get(name) != b.get(name))
        for a in bad
        for b in good
    }
    least = [some for some in apart if not any(other < some for other in apart)]
    names = dict.fromkeys(name for reading in readings for name in reading.choices)
    return [name for name in names if any(name in some for some in least)]


def _named(readings: Sequence[PaperReading], outcome: str) -> str:
    """The readings with an outcome: by what is common to them alone, listed, or by their number."""
    some = [reading.choices for reading in readings if reading.outcome == outcome]
    others = [reading.choices for reading in readings if reading.outcome != outcome]
    common = some[0].items() & set.intersection(*(set(choices.items()) for choices in some))
    if common and not any(common <= choices.items() for choices in others):
        telling = [item for item in some[0].items() if item in common]
        telling = [item for item in telling if any(item not in c.items() for c in others)]
        return ", ".join(value for _, value in telling)
    words = "; ".join(dict.fromkeys(", ".join(choices.values()) for choices in some))
    short = len(words.split()) <= LONGEST
    return words if short else f"{len(some)} of {len(readings)} readings"
