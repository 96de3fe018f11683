"""What a pass declares, chooses and finds."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.certificates.base import MethodDeclared
from dudley.certificates.methods.prequential.form import FORMS
from dudley.certificates.methods.prequential.totals import UnitExtent
from dudley.certificates.records import omitted
from dudley.core.errors import InputError

LOSSES = ("error", "bounded", "bits")
ABOUT = ("redraw", "mixture", "checkpoint")
MODES = ("evaluation", "training")
TOKEN = "token"
UNIT = 40  # characters of its name
MOST_UNITS = 10**7


@dataclass(frozen=True)
class PassDeclared(MethodDeclared):
    """All that is fixed before the pass.

    ``loss`` is ``error`` (0 or 1), ``bounded`` (in [0, limit]) or ``bits`` (smoothed, at most
    ``limit`` times the size of a unit). ``about`` says what the number is about: a checkpoint that
    is drawn anew for every prediction, the mixture of all (bits only), or one fixed checkpoint.
    ``start`` is the number of units before the stretch; its end is free. ``unit`` says what was
    drawn independently: example, document, package, user, or token, which is a statement of another
    kind. ``distinct`` says that no unit comes twice, since copies were left out: then a unit is
    drawn from those that had not come before, and the number is about such a unit. ``totals``
    bounds all bits over all sizes, for units of ``shortest`` to ``longest``; ``expected`` is a
    guess of that ratio. ``mode`` is that of the model while it predicts: ``training`` is the
    predictor with dropout. ``checkpoints`` is the number K of checkpoints whose losses are logged;
    0 is a log of losses alone. ``tolerance`` is added to every loss, so that another machine's
    arithmetic changes no number. ``guess`` is the loss of guessing. ``seed`` gives the order of the
    units and is told after the pass.
    """

    loss: str = "error"
    limit: float = 1.0
    about: str = "redraw"
    start: int = 0
    unit: str = "example"
    form: str = "mixture"
    totals: bool = False
    longest: int | None = omitted()
    shortest: int | None = omitted()
    expected: float | None = omitted()
    mode: str = "evaluation"
    checkpoints: int = 0
    tolerance: float = 0.0
    guess: float | None = omitted()
    seed: int | None = omitted()
    distinct: bool = False

    def __post_init__(self):
        super().__post_init__()
        for name, known in (("loss", LOSSES), ("about", ABOUT), ("mode", MODES)):
            if getattr(self, name) not in known:
                raise InputError(name, " or ".join(known), getattr(self, name))
        if self.form not in FORMS:
            raise InputError("form", " or ".join(FORMS), self.form)
        if not 0 < self.limit < 1e9 or (self.loss == "error" and self.limit != 1):
            raise InputError("limit", "1 for errors, and else a number > 0", self.limit)
        if not 0 <= self.start < MOST_UNITS:
            raise InputError("start", f"a number of units from 0 to {MOST_UNITS:,}", self.start)
        if not self.unit.isprintable() or not 1 <= len(self.unit) <= UNIT:
            raise InputError("unit", f"a word of at most {UNIT} characters", self.unit)
        if self.unit != TOKEN and self.unit.casefold().strip().removesuffix("s") == TOKEN:
            raise InputError("unit", f"the word {TOKEN}, for tokens", self.unit)
        if self.about == "mixture" and self.loss != "bits":
            fix = "for other losses, declare about=redraw"
            raise InputError("about", "a mixture for the loss bits alone", self.loss, fix)
        if self.about == "mixture" and (self.unit == TOKEN or self.distinct):
            expected = "redraw, for tokens and for units of which none comes twice"
            fix = "their losses are of one model each: no two models had the same new units"
            raise InputError("about", expected, self.about, fix)
        if not 0 <= self.tolerance < self.limit or (self.loss == "error" and self.tolerance):
            raise InputError("tolerance", "a number ≥ 0, and 0 for errors", self.tolerance)
        if not 0 <= self.checkpoints <= 10_000:
            raise InputError("checkpoints", "a number from 0 to 10,000", self.checkpoints)
        if self.about == "checkpoint" and not self.checkpoints:
            fix = "declare how many checkpoints there will be"
            raise InputError("checkpoints", "a number ≥ 1 where one is certified", 0, fix)
        if self.seed is not None and not 0 <= self.seed < 1 << 32:
            raise InputError("seed", "a whole number below 2^32", self.seed)
        if self.guess is not None and not 0 <= self.guess <= self.limit:
            raise InputError("guess", f"a loss from 0 to {self.limit:g}", self.guess)
        self._expect_totals()

    def _expect_totals(self) -> None:
        sizes = (self.longest, self.shortest)
        if self.totals:
            if self.loss != "bits" or None in sizes or self.form != "mixture":
                expected = "the loss bits, longest and shortest, and the form mixture"
                raise InputError("totals", expected, f"{self.loss}, {sizes}, {self.form}")
            assert self.extent is not None
            if self.expected is not None and not 0 < self.expected < self.limit:
                raise InputError("expected", f"a ratio in (0, {self.limit:g})", self.expected)
        elif self.expected is not None or sizes != (None, None):
            raise InputError("longest, shortest, expected", "nothing without totals", sizes)

    @property
    def extent(self) -> UnitExtent | None:
        """What is declared of the sizes, where totals are."""
        if self.longest is None or self.shortest is None:
            return None
        return UnitExtent(self.limit, self.longest, self.shortest)


@dataclass(frozen=True)
class PassChoices:
    """Where the stretch ends, in units, and which checkpoint the number is about, if one."""

    end: int
    checkpoint: int | None = omitted()


@dataclass(frozen=True)
class PassFacts:
    """Counts of units, and what was measured on those that count."""

    units: int
    counted: int
    lost: int
    mean_loss: float
    largest_loss: float
    limit: float
    checkpoints: int
    expected: float | None = omitted()
