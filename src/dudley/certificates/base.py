"""Methods: each turns a model and data into a certificate, and can do so again.

``choose`` may look at everything: it picks the entries of the lists that the method declares.
``certify`` is a function of the model, the data, what was declared and those choices, and nothing
else: `verify` calls it with what a file says and compares the result field by field. What was
declared and chosen are records (`dudley.certificates.records`) of the classes that the method names
in ``declares`` and ``chooses``.

The method ``norm-cover`` is registered by ``dudley.certificates.methods.norm_cover.method``, which
is imported when its name is looked up. Any other class derived from `Method` becomes one by
``@method``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from dudley.certificates.certificate import Certificate
from dudley.certificates.copies import expect_chance
from dudley.certificates.data import Dataset, read
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.order import counts
from dudley.certificates.predictor import Predictor
from dudley.certificates.records import from_json
from dudley.core.errors import InputError, UnknownName
from dudley.core.registry import Registry

METHODS: Registry[Method] = Registry("method", "dudley.certificates.methods.{name}.method")
CertifiedModel = Any  # a Hypothesis, for a randomised method a Posterior, a coded language model


@dataclass(frozen=True)
class MethodDeclared:
    """What every method declares.

    ``among`` is the number of methods (times that of whatever else, networks say) among which this
    one was chosen after a look at the data: it pays ln(among). ``population`` says in words whose
    risk the number bounds. ``repeats`` says that equal rows of floats are separate draws.
    """

    delta: float = 0.05
    population: str = ""
    among: int = 1
    repeats: bool = False

    def __post_init__(self):
        if self.among < 1:
            raise InputError("among", "a number of methods ≥ 1", self.among)


D = TypeVar("D", bound=MethodDeclared)
C = TypeVar("C")
Kind = TypeVar("Kind", bound="type[Method]")


class Method(ABC, Generic[D, C]):
    """Abstract: choices, and the number they lead to."""

    name: ClassVar[str]
    declares: type[D]
    chooses: type[C]
    certifies: ClassVar[type[Predictor]] = Hypothesis
    randomised: ClassVar[bool] = False  # certifies a posterior, not one model

    @abstractmethod
    def choose(self, model: CertifiedModel, data: Any, declared: D) -> C:
        """The entries that make the number small."""

    @abstractmethod
    def certify(
        self, model: CertifiedModel, data: Any, declared: D, choices: C
    ) -> Certificate[D, C, Any]:
        """The certificate; the same arguments give the same one."""

    def __call__(self, model: CertifiedModel, data: Any, **declared: Any) -> Certificate[D, C, Any]:
        """Choose, then certify."""
        return self.made(model, data, self.read_declared(declared))

    def made(
        self, model: CertifiedModel, data: Any, declared: D, choices: C | None = None
    ) -> Certificate[D, C, Any]:
        """The certificate of a model and data that can have one; choices are looked for first.

        Whoever makes or verifies a certificate comes this way, so no method can leave out the
        checks of the data.
        """
        self.expect(model)
        self.expect_independent(model, data, declared)
        if choices is None:
            choices = self.choose(model, data, declared)
        return self.certify(model, data, declared, choices)

    def remade(
        self, model: CertifiedModel, data: Any, declared: D, choices: C, facts: Mapping[str, Any]
    ) -> tuple[Certificate[D, C, Any], tuple[str, ...]]:
        """What a verifier computes of a file with these facts, and where its arithmetic differs."""
        model = self.decoded(model, declared, choices)
        self.expect(model)
        self.expect_independent(model, data, declared)
        return self.recount(model, data, declared, choices, facts)

    def decoded(self, model: CertifiedModel, declared: D, choices: C) -> CertifiedModel:
        """The model that a verifier has; where it has a start alone, the one of the word."""
        return model

    def recount(
        self, model: CertifiedModel, data: Any, declared: D, choices: C, facts: Mapping[str, Any]
    ) -> tuple[Certificate[D, C, Any], tuple[str, ...]]:
        """As `certify`; a method with a declared tolerance accepts counts by `agreement`."""
        return self.certify(model, data, declared, choices), ()

    def read_declared(self, table: Mapping[str, Any]) -> D:
        """What a table declares, the rest by default; anything else is refused."""
        return from_json(self.declares, table, "declaration", self.name)

    def read_choices(self, table: Mapping[str, Any]) -> C:
        """What a table says was chosen; anything else is refused."""
        return from_json(self.chooses, table, "choice", self.name)

    def read_model(self, path: str | Path) -> CertifiedModel:
        """The model of a file, as the method certifies it."""
        from dudley.certificates.files import load

        return load(path)

    def read_data(self, path: str | Path) -> Any:
        """The data of a file, as the method counts them."""
        return read(path)

    def expect(self, model: CertifiedModel) -> None:
        """Refuse a posterior where one model is certified, and one model where a posterior is."""
        if isinstance(model, Predictor) and not isinstance(model, self.certifies):
            expected, got = "a described network", type(model).__name__
            fix = "hold-out and pick-to-learn certify any predictor"
            raise InputError(f"model for {self.name}", expected, got, fix)
        if isinstance(model, Predictor) is self.randomised:
            kinds = "one model", "a posterior around one"
            expected, got = kinds if not self.randomised else kinds[::-1]
            fix = "dudley.certificates.fit.posterior fits one" if self.randomised else ""
            raise InputError(f"model for {self.name}", expected, got, fix)

    def expect_independent(self, model: CertifiedModel, data: Any, declared: D) -> None:
        """Refuse rows that cannot be independent draws (`dudley.certificates.copies`)."""
        expect_draws(model, data, declared)


def expect_draws(
    model: CertifiedModel, data: Dataset, declared: MethodDeclared, pool: int | None = None
) -> None:
    """Refuse rows that cannot be independent draws, or draws without replacement from a pool.

    The pool itself may hold copies, so its draws may. A model that is somebody's code is also
    refused where it answers an example otherwise in another batch (`dudley.certificates.single`).
    """
    if pool is None:
        expect_different(data, declared)
    expect_few_copies(model, data, pool)
    if isinstance(model, Predictor) and not isinstance(model, Hypothesis):
        from dudley.certificates.single import expect_single  # described networks do without

        expect_single(model.outputs, data.X)


def expect_different(data: Dataset, declared: MethodDeclared) -> None:
    """Refuse equal rows of floats, unless they were declared to be separate draws."""
    if data.repeated and data.X.dtype.kind == "f" and not declared.repeats:
        raise InputError(
            "independent examples",
            "rows of X that differ",
            f"{data.repeated} that equal an earlier one",
            "declare repeats before the data if equal rows are separate draws",
        )


def expect_few_copies(model: CertifiedModel, data: Dataset, pool: int | None = None) -> None:
    """Refuse more copies than chance explains: of rows, and of what the network reads of them."""
    expect_chance(data.counts, pool=pool)
    content = model.content(data.X)
    if content is not data.X:
        expect_chance(counts(content), "examples, as the network reads them", pool)


def method(cls: Kind) -> Kind:
    """Register a method under its name."""
    METHODS.register(cls.name)(cls())
    return cls


def method_named(name: str) -> Method:
    """A method by its name; a refusal names all that are known."""
    if name not in METHODS:
        raise UnknownName("method", name, METHODS, all_named=True)
    return METHODS[name]
