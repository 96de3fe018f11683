"""The tables and formulas of a document as LaTeX for papers (booktabs, amsmath)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dudley.core.boundary.text import line
from dudley.show import document as doc
from dudley.show.formulas import is_mathematics

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"$\sim$", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$",
    "≤": r"$\le$", "≥": r"$\ge$", "→": r"$\to$", "−": "$-$", "·": r"$\cdot$", "×": r"$\times$",
    "∞": r"$\infty$", "ε": r"$\varepsilon$", "δ": r"$\delta$", "γ": r"$\gamma$", "α": r"$\alpha$",
    "β": r"$\beta$", "σ": r"$\sigma$", "ℓ": r"$\ell$", "√": r"$\surd$", "‖": r"$\|$", "±": r"$\pm$",
    "⌈": r"$\lceil$", "⌉": r"$\rceil$", "λ": r"$\lambda$", "τ": r"$\tau$", "κ": r"$\kappa$",
    "½": r"$\tfrac12$", "≈": r"$\approx$", "Φ": r"$\Phi$", "Σ": r"$\Sigma$", "∝": r"$\propto$",
    "[": "{[}", "*": "{*}",  # at the start of a row they would be an option of the line above
    "₀": "$_0$", "₁": "$_1$", "₂": "$_2$", "⁻": "$^-$", "…": r"\ldots{}", "–": "--",
}  # fmt: skip
PREAMBLE = "% \\usepackage{booktabs,amsmath}\n"


def latex(document: doc.Document) -> str:
    """All tables, with the headings they stand under.

    >>> print(latex(doc.Document("Found", (doc.Table.of(["n_0"], [["5 %"]]),))))
    % \\usepackage{booktabs,amsmath}
    % Found
    <BLANKLINE>
    \\begin{tabular}{l}
    \\toprule
    n\\_0 \\\\
    \\midrule
    5 \\% \\\\
    \\bottomrule
    \\end{tabular}
    <BLANKLINE>
    """
    title = PREAMBLE + f"% {line(document.title)}"
    return "\n\n".join([title, *below(document.blocks)]) + "\n"


def below(blocks: Sequence[doc.DocumentBlock]) -> list[str]:
    """Headings, notices, tables and formulas."""
    parts = []
    for block in blocks:
        match block:
            case doc.Section() | doc.Folded():
                inside = below(block.blocks)
                parts += [f"% {line(block.title)}", *inside] if inside else []
            case doc.Table():
                parts.append(tabular(block))
            case doc.Notice():
                parts.append(rf"\noindent\textbf{{{escaped(block.text)}}}")
            case doc.Formula():
                parts.append(formula(block.latex))
    return parts


def formula(latex: str) -> str:
    """A display; what is no mathematics stands there as text."""
    one_line = " ".join(latex.split())
    if is_mathematics(one_line):
        return f"\\[\n{one_line}\n\\]"
    return f"\\[\n\\text{{{escaped(one_line)}}}\n\\]"


def tabular(table: doc.Table) -> str:
    """One table."""
    right = set(table.numbers)
    columns = "".join("r" if i in right else "l" for i in range(len(table.heads)))
    rows = [" & ".join(escaped(cell.text) for cell in row) + r" \\" for row in table.rows]
    head = " & ".join(map(escaped, table.heads)) + r" \\"
    lines = [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def escaped(text: str) -> str:
    """Text whose signs mean themselves; ``code`` is typeset as such."""
    pieces = re.split(r"``([^`]+)``", line(re.sub(r"\s+", " ", text)))
    safe = ["".join(SPECIAL.get(sign, sign) for sign in piece) for piece in pieces]
    return "".join(rf"\texttt{{{piece}}}" if i % 2 else piece for i, piece in enumerate(safe))
