"""One entry of ERRATA.md: a statement that does not stand as printed, and what stands instead."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dudley.core.bound import Bound, Sense
from dudley.core.statement import Statement
from dudley.core.verdict import AsPrinted
from dudley.show.counterexamples import Counterexample, against, command, evaluated
from dudley.show.markdown import code, display, number, power_of_ten, prose, table
from dudley.show.numbers import power

DIFFERENCE = {
    AsPrinted.TRUE: "What to mend.",
    AsPrinted.FALSE: "Where the two part.",
    AsPrinted.UNDECIDED: "What is open.",
    AsPrinted.NO_CLAIM: "What to mend.",
}


def entry(s: Statement) -> str:
    """One statement that does not stand as printed."""
    parts = [
        f'<a id="{anchor(s)}"></a>',
        f"### {title(s)}",
        f"{prose(s.says)} The quantity bounded: {prose(s.quantity)}. ({code(s.id)})",
        f"*The repair takes {s.verdict.repair.value}. As printed: {as_printed(s)}.*",
        *holds(s),
        f"**Printed**{sense(s.printed.sense)}:",
        display(s.printed.latex),
        f"**{DIFFERENCE[s.verdict.as_printed]}** {prose(s.erratum)}",
    ]
    counterexamples = against(s.id)
    for counterexample in counterexamples:
        parts += refutation(counterexample)
    if not counterexamples:
        values = evaluated(s, s.example)
        parts += [
            f"On an ordinary instance, {listed(s.example)}:",
            numbers(values, {}),
            shell(command(s, s.example)),
        ]
    return "\n\n".join(parts)


def as_printed(s: Statement) -> str:
    """The word on the printed form, with the version and, of a false one, where it fails."""
    return s.standing + s.verdict.where.removeprefix(s.verdict.as_printed.value)


def holds(s: Statement) -> list[str]:
    """What holds instead: the derived formula, its assumptions, and how it falls with n."""
    if s.derived.latex == s.printed.latex:
        parts = ["**What holds.** The same formula."]
    else:
        parts = [f"**What holds**{sense(s.derived.sense)}:", display(s.derived.latex)]
    if s.assumptions:
        parts.append(f"Assumed: {'; '.join(prose(a.statement) for a in s.assumptions)}.")
    if s.rates:
        said = ", ".join(f"{form} $n^{{{power(rate)}}}$" for form, rate in s.rates.items())
        parts.append(f"Rates, up to logarithms: {said}.")
    return parts


def refutation(c: Counterexample) -> list[str]:
    """A counterexample: its story, inputs, numbers, family and command."""
    path = "src/" + type(c.witness).__module__.replace(".", "/") + ".py"
    weights = " It runs the paper's own weights." if c.witness.own_weights else ""
    lead = "It keeps every hypothesis; the tests check each, large weights at a smaller size:"
    if not c.statement.verdict.claims:
        lead = "The tests check of it:"
    parts = [
        f"**{c.kind.capitalize()}** {code(c.name)} ([proof]({path})). {prose(c.story)}{weights}",
        f"{lead} {prose('; '.join(c.hypotheses))}.",
        *kernel(c),
        f"Inputs: {listed(c.inputs)}.",
        numbers(
            c.values,
            {
                "provably at least": number(c.lower_bound),
                "ratio": "" if c.ratio is None else number(c.ratio),
            },
        ),
    ]
    if c.family is not None:
        parts += grown(c)
    return [*parts, shell(c.command)]


def kernel(c: Counterexample) -> list[str]:
    """Where the refutation is a theorem that the Coq kernel has checked."""
    if c.formal is None:
        return []
    path, theorem, says = c.formal.path, code(c.formal.theorem), prose(c.formal.says)
    return [f"Checked by the Coq kernel: [{path}]({path}), theorem {theorem} ({says})."]


def grown(c: Counterexample) -> list[str]:
    """The family of a counterexample: the ratio at each size, and the fitted exponent."""
    assert c.family is not None
    f = c.family
    name = prose(f.grows)
    rows = [
        ["printed", *map(number, map(float, f.printed))],
        ["provably at least", *map(number, map(float, f.lower_bounds))],
        ["ratio", *(number(t / p) for t, p in zip(f.lower_bounds, f.printed, strict=True))],
    ]
    text = f"The ratio grows about like {name}^{f.exponent:.2f}:"
    if c.statement.printed.sense is Sense.CONSTANT:
        text = "Whatever the constant: the" + text[3:]
    return [text, table([name, *(number(float(size)) for size in f.sizes)], rows)]


def numbers(values: Mapping[str, Bound], extra: Mapping[str, str]) -> str:
    """One row: printed, what is provable, derived, best."""
    cells = {"printed": shown(values["printed"])} | dict(extra)
    cells |= {name: shown(bound) for name, bound in values.items() if name != "printed"}
    cells = {name: text for name, text in cells.items() if text}
    return table(list(cells), [list(cells.values())])


def shown(bound: Bound) -> str:
    """A value, and whether it says anything."""
    if bound.negative is not None:
        return f"{number(bound.value)} (negative)"
    text = number(bound.value) if math.isfinite(bound.value) else power_of_ten(bound.log_value)
    known = math.isfinite(bound.trivial)
    return f"{text} (vacuous)" if bound.vacuous and known else text


def listed(inputs: Mapping[str, float]) -> str:
    return ", ".join(f"{code(name)} = {number(float(value))}" for name, value in inputs.items())


def shell(line: str) -> str:
    return f"```console\n$ {line}\n```"


def sense(s: Sense) -> str:
    """In which sense it is a bound, if not simply one."""
    return "" if s is Sense.SURELY else f" ({prose(s.value)})"


def title(s: Statement) -> str:
    """Its name in the paper: Lemma 2.2 (Lemma A.5)."""
    first, *others = map(worded, (s.id.partition("/")[2], *s.also))
    return f"{first} ({', '.join(others)})" if others else first


def worded(name: str) -> str:
    """lemma-A.5 as Lemma A.5."""
    kind, _, number = name.partition("-")
    return f"{kind.capitalize()} {number}"


def anchor(s: Statement) -> str:
    return s.id.replace("/", "-").lower()
