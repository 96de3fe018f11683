"""Statements: a published lemma, theorem or corollary as a program.

Each lives here twice. ``printed`` is what the paper prints (a hidden constant is the input ``c``,
1 unless given, and the result is flagged "up to a constant"); ``derived`` is the repaired version
with explicit constants, computed by the calculus in the paper's own way; ``best``, where there is
one, is the same quantity with every cover and rule known here, so it is never above ``derived``.
The verdict says whether the printed version is true and what its repair takes; where it is *false*
a witness refutes it. It is about the version of the paper that was examined, and about no other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from dudley.core.assumption import Assumption
from dudley.core.binding import arguments
from dudley.core.bound import Bound, Sense
from dudley.core.errors import DudleyError, InputError, UnknownName
from dudley.core.paper import Paper
from dudley.core.subject import subject
from dudley.core.verdict import Verdict
from dudley.core.vocabulary import VOCABULARY, check_value, describe

MEASURES = (
    "excess risk",
    "risk − training loss",
    "Rademacher complexity",
    "covering number",
    "other quantities",
)  # what a statement can bound, by the words that name it; the last is the rest


class MissingInputs(DudleyError, ValueError):
    """Inputs that a statement needs and did not get, or got ill-typed: all of them at once."""


@dataclass(frozen=True)
class Input:
    """One typed input: a name of the vocabulary, what it means here, and its default if any.

    A norm with default ``inf`` is one that the derived form can use but does not need.
    """

    name: str
    meaning: str = ""
    default: float | None = None
    aliases: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What it means, in this statement or in general."""
        return self.meaning or describe(self.name)


def argument_of(name: str) -> str:
    """The argument by which a program takes an input."""
    return name.replace(".", "_")


def _advice(argument: str, names: Mapping[str, str]) -> str:
    """What to do about an argument that is no input, given the names of the vocabulary."""
    if argument in names:
        return f"declare Input({names[argument]!r})"
    near = get_close_matches(argument, names, n=1)
    return f"did you mean {names[near[0]]}?" if near else "declare it as an Input"


@dataclass(frozen=True)
class Form:
    """One version of a statement: its formula and the program that evaluates it.

    ``value`` takes the inputs it needs by name, dots as underscores (``W_QK.l11`` arrives as
    ``W_QK_l11``), and returns a number or a full ``Bound``. A printed formula may come out
    negative: the result then says so.
    """

    latex: str
    value: Callable[..., float | Bound]
    sense: Sense = Sense.SURELY

    @cached_property
    def arguments(self) -> dict[str, bool]:
        """The inputs that the program takes, dots as underscores: must a call give them?"""
        return arguments(self.value)

    def select(self, values: Mapping[str, float]) -> dict[str, float]:
        """The inputs that this form uses, by the names of its arguments."""
        by_argument = {argument_of(name): value for name, value in values.items()}
        return {name: v for name, v in by_argument.items() if name in self.arguments}

    def __call__(self, values: Mapping[str, float]) -> float | Bound:
        return self.value(**self.select(values))


@dataclass(frozen=True)
class Statement:
    """A published statement with its printed and derived forms, verdict and erratum."""

    id: str  # paper/kind-number
    kind: str
    says: str
    quantity: str
    inputs: tuple[Input, ...]
    printed: Form
    derived: Form
    verdict: Verdict
    erratum: str
    example: Mapping[str, float]
    best: Form | None = None
    assumptions: tuple[Assumption, ...] = ()
    also: tuple[str, ...] = ()  # other numbers of the same statement
    rates: Mapping[str, float] = field(default_factory=dict)  # exponent of n by form, up to logs
    source: Paper | None = None  # in the version that was examined; set by registration

    @property
    def paper(self) -> str:
        return self.id.partition("/")[0]

    @property
    def standing(self) -> str:
        """Is it true as printed? Where it is false, of which version: ``false (arXiv v1)``."""
        version = "" if self.source is None else f" ({self.source.label})"
        return self.verdict.as_printed.value + (version if self.verdict.is_false else "")

    @property
    def judgement(self) -> str:
        """The whole verdict in words, with the version."""
        return self.standing + str(self.verdict).removeprefix(self.verdict.as_printed.value)

    @property
    def verdict_json(self) -> dict[str, str | None]:
        """The verdict as plain data, with what was examined and what was not."""
        source = self.source
        return self.verdict.to_json() | {
            "examined": None if source is None else source.version,
            "unexamined": None if source is None else source.unexamined,
        }

    @property
    def measure(self) -> str:
        """The kind of quantity it bounds: statements of one kind can be set side by side."""
        return next((kind for kind in MEASURES if kind in self.quantity), MEASURES[-1])

    @cached_property
    def subject(self) -> str:
        """The class of functions that it is about."""
        return subject(self.quantity, [i.name for i in self.inputs])

    @property
    def heading(self) -> str:
        """What is bounded, and of what: statements under one heading answer one question."""
        if self.measure == MEASURES[-1]:
            return self.quantity
        return f"{self.measure} of {self.subject}"

    def form(self, name: str) -> Form:
        """``printed``, ``derived`` or ``best``."""
        if name not in self.forms:
            raise UnknownName(f"form of {self.id}", name, self.forms)
        return self.forms[name]

    @property
    def forms(self) -> dict[str, Form]:
        """The forms there are, by name."""
        every = {"printed": self.printed, "derived": self.derived, "best": self.best}
        return {name: form for name, form in every.items() if form is not None}

    def check_arguments(self) -> None:
        """Refuse a form that needs what is none of the inputs. An input may go unused."""
        inputs = {argument_of(i.name): i.name for i in self.inputs}
        for form, program in self.forms.items():
            for argument, needed in program.arguments.items():
                if needed and argument not in inputs:
                    raise InputError(
                        f"{self.id}, {form}",
                        "arguments that are inputs of the statement, dots as underscores",
                        argument,
                        _advice(argument, {argument_of(n): n for n in VOCABULARY} | inputs),
                    )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.id,
            "kind": self.kind,
            "says": self.says,
            "quantity": self.quantity,
            "verdict": self.verdict_json,
            "erratum": self.erratum,
            "inputs": [{"name": i.name, "meaning": i.text} for i in self.inputs],
            "latex": {name: form.latex for name, form in self.forms.items()},
            "assumptions": [str(a) for a in self.assumptions],
            "also": list(self.also),
            "rates": dict(self.rates),
        }

    def gather(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """The inputs by vocabulary name, defaults filled in; every problem is named at once."""
        renamed = {alias: i.name for i in self.inputs for alias in i.aliases}
        values, problems = {}, []
        known = {i.name for i in self.inputs}
        for name, value in numbers.items():
            full = renamed.get(name, name)
            if full not in known:
                raise UnknownName(f"input of {self.id}", name, [*known, *renamed])
            try:
                if full in values:
                    raise InputError(full, "one value", f"another as {name}")
                values[full] = check_value(full, value)
            except InputError as error:
                problems.append(str(error))
        for i in self.inputs:
            if i.name not in values and not any(p.startswith(f"{i.name}:") for p in problems):
                if i.default is None:
                    problems.append(f"{i.name}: missing ({i.text})")
                else:
                    values[i.name] = i.default
        if problems:
            raise MissingInputs(f"{self.id} needs " + "; ".join(problems))
        return values

    def evaluate(self, form: str = "derived", **numbers: float) -> Bound:
        """The statement on numbers; names with dots go in as ``**{"W_QK.l11": 20}``."""
        return self.evaluate_on(numbers, form)

    def evaluate_on(self, numbers: Mapping[str, float], form: str = "derived") -> Bound:
        """The statement on a mapping of inputs."""
        chosen = self.form(form)
        values = self.gather(numbers)
        try:
            with np.errstate(all="ignore"):
                result = chosen(values)
        except (OverflowError, ZeroDivisionError):
            result = math.inf
        if getattr(result, "log_value", result) == math.inf:
            raise InputError(
                f"{self.id}, {form}",
                "inputs on which the formula stays below 1e308",
                "a larger value",
                "bring the largest and the smallest input closer to 1",
            )
        if isinstance(result, Bound):
            assumptions = (*self.assumptions, *result.assumptions)
            # a bound that states a probability of its own keeps it
            delta = None if "probability" in result.details else values.get("delta")
            return replace(result, quantity=self.quantity, assumptions=assumptions, delta=delta)
        return Bound.of(
            float(result),
            quantity=self.quantity,
            sense=chosen.sense,
            delta=values.get("delta"),
            assumptions=self.assumptions,
        )
