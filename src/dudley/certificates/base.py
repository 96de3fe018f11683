"""Methods: each turns a model and data into a certificate, and can do so again.

``choose`` may look at everything: it picks the entries of the lists that the method declares.
``certify`` is a function of the model, the data, what was declared and those choices, and nothing
else: `verify` calls it with what a file says and compares the result field by field. What a method
reads from ``declared`` it names in ``DECLARED`` with a default; anything else is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeVar

from dudley.certificates.certificate import Certificate
from dudley.certificates.copies import expect_chance
from dudley.certificates.data import Dataset
from dudley.certificates.declarations import expect_kind
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.order import counts
from dudley.core.errors import InputError, UnknownName
from dudley.core.registry import Registry

METHODS: Registry[Method] = Registry("method")
Kind = TypeVar("Kind", bound="Method")
Model = Any  # a Hypothesis, or for a randomised method a Posterior
COMMON = {"delta": 0.05, "population": "", "among": 1, "repeats": False}


class Method(ABC):
    """Abstract: choices, and the number they lead to."""

    name: ClassVar[str]
    DECLARED: ClassVar[dict[str, Any]] = {}
    randomised: ClassVar[bool] = False  # certifies a posterior, not one model

    @abstractmethod
    def choose(self, model: Model, data: Dataset, declared: dict[str, Any]) -> dict[str, Any]:
        """The entries that make the number small; JSON."""

    @abstractmethod
    def certify(
        self, model: Model, data: Dataset, declared: dict[str, Any], choices: dict[str, Any]
    ) -> Certificate:
        """The certificate; the same arguments give the same one."""

    def __call__(self, model: Model, data: Dataset, **declared: Any) -> Certificate:
        """Choose, then certify."""
        return self.made(model, data, self.declared(declared))

    def made(
        self,
        model: Model,
        data: Any,
        declared: dict[str, Any],
        choices: dict[str, Any] | None = None,
    ) -> Certificate:
        """The certificate of a model and data that can have one; choices are looked for first.

        Whoever makes or verifies a certificate comes this way, so no method can leave out the
        checks of the data.
        """
        self.expect(model)
        self.expect_independent(model, data, declared)
        if choices is None:
            choices = self.choose(model, data, declared)
        return self.certify(model, data, declared, choices)

    def expect_independent(self, model: Model, data: Any, declared: dict[str, Any]) -> None:
        """Refuse rows that cannot be independent draws (`dudley.certificates.copies`)."""
        if data.repeated and data.X.dtype.kind == "f" and not declared["repeats"]:
            raise InputError(
                "independent examples",
                "rows of X that differ",
                f"{data.repeated} that equal an earlier one",
                "declare repeats before the data if equal rows are separate draws",
            )
        expect_few_copies(model, data)

    def expect(self, model: Model) -> None:
        """Refuse a posterior where one model is certified, and one model where a posterior is."""
        if isinstance(model, Hypothesis) is self.randomised:
            kinds = "one model", "a posterior around one"
            expected, got = kinds if not self.randomised else kinds[::-1]
            fix = "dudley.certificates.fit.posterior fits one" if self.randomised else ""
            raise InputError(f"model for {self.name}", expected, got, fix)

    def declared(self, given: dict[str, Any]) -> dict[str, Any]:
        """What is declared, with defaults; unknown names and values of another kind are refused.

        ``among`` is the number of methods (times that of whatever else, networks say) among which
        this one was chosen after a look at the data: it pays ln(among). ``population`` says in
        words whose risk the number bounds. ``repeats`` says that equal rows of floats are separate
        draws.
        """
        known = COMMON | self.DECLARED
        for name in given:
            if name not in known:
                raise UnknownName(f"declaration of {self.name}", name, known)
            expect_kind(self.name, name, known[name], given[name])
        told = known | given
        if told["among"] < 1:
            raise InputError("among", "a number of methods ≥ 1", told["among"])
        return told


def expect_few_copies(model: Model, data: Dataset, pool: int | None = None) -> None:
    """Refuse more copies than chance explains: of rows, and of what the network reads of them."""
    expect_chance(data.counts, pool=pool)
    content = model.encoding.content(data.X)
    if content is not data.X:
        expect_chance(counts(content), "examples, as the network reads them", pool)


def method(cls: type[Kind]) -> type[Kind]:
    """Register a method under its name."""
    METHODS.register(cls.name)(cls())
    return cls
