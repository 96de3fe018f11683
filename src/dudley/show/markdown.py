"""GitHub-flavoured Markdown: tables, code, formulas, and prose that stays as it is written."""

from __future__ import annotations

import re

from dudley.core.boundary.text import line

WIDE = 140  # so many characters of LaTeX still fit on a line
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$#])")


def section(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *parts])


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def code(text: str) -> str:
    return f"`{text}`"


def cell(text: str) -> str:
    """Text in a table, where a bar would end the cell."""
    return text.replace("|", "\\|")


def math(latex: str) -> str:
    """A formula that may stand in a table: a bar there would end the cell."""
    safe = latex.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
    return f"${safe}$"


def display(latex: str) -> str:
    r"""A formula of its own, fenced: between dollars Markdown would eat the ``\`` of ``\,``.

    A long one is broken where it has a ``,\quad`` outside all braces.

    >>> print(display(r"a,\quad b"))
    ```math
    a,\quad b
    ```
    """
    lines = clauses(latex) if len(latex) > WIDE else [latex]
    if len(lines) > 1:
        latex = "\n".join([r"\begin{gathered}", "\\\\\n".join(lines), r"\end{gathered}"])
    return f"```math\n{latex}\n```"


def clauses(latex: str) -> list[str]:
    r"""The parts of a formula between ``,\quad``, none of which is inside braces.

    >>> clauses(r"x=\text{a,\quad b},\quad y")
    ['x=\\text{a,\\quad b},', 'y']
    """
    parts, depth, start = [], 0, 0
    for sign in re.finditer(r"(?<!\\)[{}]|\\(?:left|right)\b|,\\q?quad(?![a-z]) ?", latex):
        if sign[0] in ("{", "\\left"):
            depth += 1
        elif sign[0] in ("}", "\\right"):
            depth -= 1
        elif depth == 0:
            parts.append(latex[start : sign.start()] + ",")
            start = sign.end()
    return [*parts, latex[start:]]


def prose(text: str) -> str:
    r"""Plain text whose signs mean themselves; ``name`` in double backquotes is code.

    >>> prose("‖W_c‖_{1,∞} of ``W_c``")
    '‖W\\_c‖\\_{1,∞} of `W_c`'
    """
    pieces = re.split(r"``([^`]+)``", line(re.sub(r"\s+", " ", text)))
    return "".join(
        code(piece) if i % 2 else _SPECIAL.sub(r"\\\1", piece) for i, piece in enumerate(pieces)
    )


def number(value: float) -> str:
    """Four significant digits; a whole number below a billion stays whole unless it is round.

    >>> [number(x) for x in (20001, 1e8, 6.93147e17, 0.25, -1e-12, 0.0)]
    ['20001', '10⁸', '6.931·10¹⁷', '0.25', '−10⁻¹²', '0']
    """
    whole = value == int(value)
    if whole and (abs(value) < 1e6 or (abs(value) < 1e9 and float(f"{value:.4g}") != value)):
        return str(int(value)).replace("-", "−")
    mantissa, _, power = f"{value:.4g}".partition("e")
    if power:
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        mantissa = {"1": "", "-1": "-"}.get(mantissa, mantissa + "·") + "10" + raised
    return mantissa.replace("-", "−")


def power_of_ten(log_value: float) -> str:
    """A number known by its natural logarithm only, past the floats."""
    return f"10^{log_value / 2.302585092994046:.1f}"
