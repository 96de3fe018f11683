"""A counterexample's numbers: what is printed, what is provably true, what is derived.

>>> slip, = against("trauger2024/lemma-3.1")
>>> slip.name, slip.values["printed"].value, slip.lower_bound, slip.values["derived"].value
('maurey-slip', 0.0, 0.25, 0.25)
>>> slip.command
'dudley evaluate trauger2024/lemma-3.1 d=1 terms=1 combination.mass=0.5 combination.norm2=0.5 ...'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dudley.core.bound import Bound
from dudley.core.statement import Statement
from dudley.theorems import registry
from dudley.theorems.witness.base import WITNESSES, Family, FormalProof, Witness, family_against


@dataclass(frozen=True)
class Counterexample:
    """One witness against one statement."""

    name: str
    statement: Statement
    witness: Witness

    @property
    def story(self) -> str:
        return self.witness.story

    @cached_property
    def inputs(self) -> dict[str, float]:
        return self.witness.inputs(self.statement.id)

    @cached_property
    def hypotheses(self) -> tuple[str, ...]:
        """What the statement asks for, in words; the tests check each on the instance."""
        premises = self.witness.hypotheses(self.statement.id)
        return tuple(p.words if p.check is not None else f"{p.words} (proved)" for p in premises)

    @property
    def kind(self) -> str:
        """What claims nothing cannot be refuted: an instance lies outside of it."""
        return "counterexample" if self.statement.verdict.claims else "instance outside"

    @cached_property
    def lower_bound(self) -> float:
        """What the bounded quantity provably is at least."""
        return float(self.witness.lower_bound())

    @cached_property
    def values(self) -> dict[str, Bound]:
        """Every form of the statement on these inputs."""
        return evaluated(self.statement, self.inputs)

    @property
    def ratio(self) -> float | None:
        """How many times the printed value is too small; none where it is not positive."""
        printed = self.values["printed"].value
        return self.lower_bound / printed if printed > 0 else None

    @cached_property
    def family(self) -> Family | None:
        """Instances of growing size, where the witness has them."""
        return family_against(self.witness, self.statement.id)

    @property
    def formal(self) -> FormalProof | None:
        """The theorem of the Coq kernel that says so, where there is one."""
        return self.witness.formal.get(self.statement.id)

    @property
    def command(self) -> str:
        """What to type to see the numbers."""
        return command(self.statement, self.inputs)

    def to_json(self) -> dict:
        """Plain data."""
        return {
            "name": self.name,
            "kind": self.kind,
            "story": self.story,
            "hypotheses": list(self.hypotheses),
            "inputs": {name: float(value) for name, value in self.inputs.items()},
            "lower_bound": self.lower_bound,
            "ratio": self.ratio,
            "forms": {name: bound.to_json()["value"] for name, bound in self.values.items()},
            "family": None if self.family is None else _plain(self.family),
            "formal": None if self.formal is None else self.formal.to_json(),
        }


def _plain(family: Family) -> dict:
    return {
        "grows": family.grows,
        "sizes": [float(size) for size in family.sizes],
        "lower_bounds": [float(value) for value in family.lower_bounds],
        "printed": [float(value) for value in family.printed],
        "exponent": family.exponent,
    }


def against(id: str) -> list[Counterexample]:
    """The counterexamples to a statement; those that refute existence come first."""
    statement = registry.load()[id]
    counterexamples = [
        Counterexample(name, statement, witness())
        for name, witness in sorted(WITNESSES.items())
        if id in witness.refutes
    ]
    return sorted(counterexamples, key=lambda c: c.witness.own_weights)


def evaluated(statement: Statement, inputs: Mapping[str, float]) -> dict[str, Bound]:
    """Every form of a statement on the same inputs."""
    return {form: statement.evaluate_on(inputs, form) for form in statement.forms}


def command(statement: Statement, inputs: Mapping[str, float]) -> str:
    """The command line that evaluates a statement on these very numbers."""
    return " ".join(["dudley", "evaluate", statement.id, *words(inputs)])


def words(inputs: Mapping[str, float]) -> list[str]:
    """name=value, exact."""
    return [f"{name}={exact(float(value))}" for name, value in inputs.items()]


def exact(value: float) -> str:
    """A number that reads back as itself."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
