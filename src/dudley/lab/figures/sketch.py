"""A figure before it is drawn, and the experiments' functions that make them.

A sketch is a drawing that knows the findings that belong to it. Its caption says the paper's claim
and what was found, from ``findings.json``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from dudley.core.registry import Registry
from dudley.lab.finding import Finding
from dudley.lab.pages.results import Results
from dudley.show.figures.drawing import Drawing

SHORT = 240  # characters of what was found, in a caption below the panels


@dataclass(frozen=True)
class Sketch(Drawing):
    """A drawing with the findings that belong to it."""

    findings: tuple[Finding, ...] = ()
    prose: bool = False  # words alone: nothing would be left of it without them

    @property
    def caption(self) -> str:
        """What is shown, then for each finding the claim and the verdict."""
        return "\n".join([self.shows, *map(sentence_of, self.findings)])

    @property
    def short(self) -> str:
        """The same with the first sentences of what was found: below the panels there is little
        room."""
        short = [replace(f, observation=first_sentences(f.observation)) for f in self.findings]
        return "\n".join([self.shows, *map(sentence_of, short)])


def sentence_of(finding: Finding) -> str:
    """A claim and what was found, in sentences.

    >>> from dudley.lab.finding import PaperReading
    >>> printed = PaperReading.printed("holds")
    >>> sentence_of(Finding.of_claim("m grows in T.", [printed], "the exponent is 0.3"))
    'Claim: m grows in T. Here, reproduced: the exponent is 0.3.'
    """
    claim = sentence(finding.claim.removeprefix("Not in the paper: "))
    kind = "Claim" if finding.kind == "claim" else f"Our {finding.kind}"
    if finding.kind == "question":
        return f"{kind}: {claim} Here: {sentence(finding.observation)}"
    return f"{kind}: {claim} Here, {finding.verdict}: {sentence(finding.observation)}"


def sentence(text: str) -> str:
    """With a full stop, unless it has an end.

    >>> sentence("so it is"), sentence("is it?"), sentence("It is. (Or is it.)")
    ('so it is.', 'is it?', 'It is. (Or is it.)')
    """
    text = text.strip()
    return text if text.endswith((".", "?", "!", ".)", "?)")) else f"{text}."


def first_sentences(text: str) -> str:
    """As many sentences as fit into a few lines, at least one.

    >>> first_sentences("One. Two. " + 100 * "Three and more ")
    'One. Two.'
    """
    parts = re.split(r"(?<=[.?!)]) +(?=[A-Z(])", text)
    sentences = parts[:1]
    for part in parts[1:]:
        if len(" ".join([*sentences, part])) > SHORT:
            break
        sentences.append(part)
    return " ".join(sentences)


Sketches = Callable[[Results], list[Sketch]]
SKETCHES: Registry[Sketches] = Registry(
    "figures of an experiment", "dudley.lab.experiments.*.figures"
)


def sketches(name: str) -> Callable[[Sketches], Sketches]:
    """Register the function that makes an experiment's figures."""
    return SKETCHES.register(name)
