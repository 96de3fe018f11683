"""What rows of numbers have in common: outcomes by form, at every point of an axis."""

from __future__ import annotations

from collections.abc import Mapping

from dudley.core.bound import Bound

BoundOrReason = Bound | str  # a bound, or why there is none


class ByForm:
    """``curves`` has each form's outcome at every point of the axis (at one, without a sweep).

    ``unmoved`` are the forms none of whose inputs changes along the axis: they do not depend on it.
    ``standing`` says whether the printed form is true, and in which version it is not.
    """

    id: str
    standing: str
    curves: Mapping[str, tuple[BoundOrReason, ...]]
    unmoved: frozenset[str]

    def bounds(self, form: str) -> list[Bound | None]:
        """The bounds of a form along the axis, ``None`` where it was refused."""
        return [b if isinstance(b, Bound) else None for b in self.curves.get(form, ())]

    @property
    def refusals(self) -> dict[str, str]:
        """For each form that was refused somewhere, the first reason."""
        reasons_by_form = {}
        for form, outcomes in self.curves.items():
            reasons = [outcome for outcome in outcomes if isinstance(outcome, str)]
            if reasons:
                reasons_by_form[form] = reasons[0]
        return reasons_by_form

    def still(self, form: str, axis: str) -> str:
        """In words, that a form does not move along the axis; empty where it does."""
        if form in self.unmoved:
            return f"does not depend on {axis}"
        values = {b if b is None else b.log_value for b in self.bounds(form)}
        same = len(self.curves[form]) > 1 and len(values) == 1 and None not in values
        return f"the same at every {axis} here" if same else ""
