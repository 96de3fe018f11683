"""A document as a LaTeX article that compiles by itself: everything of it, in the order it stands.

What has no sign in pdflatex's fonts is declared in the preamble, as its name in Unicode: so a
stranger's title does not stop the compiler.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from dudley.core.boundary.text import line
from dudley.show import document as doc
from dudley.show.as_latex import escaped, formula

PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=2cm]{geometry}
\usepackage{amsmath,amssymb,booktabs,longtable}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\sloppy"""
LEVELS = ("section*", "subsection*", "paragraph")
SHORT = 40  # rows of a table that stays on one page
LONG, NARROW, WIDEST = 40, 0.3, 0.6  # letters of a column that is broken, and parts of a line
_INDEXED = re.compile(r"(?<![\w\\])([A-Za-z])\\_(\w{1,2}|\$\\ell\$)(?!\w)")


def article(document: doc.Document) -> str:
    """The whole file.

    >>> print(article(doc.Document("Found", (doc.Prose("5 % of β"),))).split("sloppy\\n")[1])
    \\begin{document}
    \\section*{Found}
    <BLANKLINE>
    5 \\% of $\\beta$
    <BLANKLINE>
    \\end{document}
    <BLANKLINE>
    """
    title = [heading(document.title, 0)] if document.title else []
    lead = [words_of(words) for words in document.lead]
    made = [rf"{{\footnotesize {words_of(document.made)}}}"] if document.made else []
    parts = [*title, *lead, *below(document.blocks, len(title)), *made]
    body = "\n\n".join(filter(None, parts))
    preamble = "\n".join([PREAMBLE, *declared(body)])
    return f"{preamble}\n\\begin{{document}}\n{body}\n\n\\end{{document}}\n"


def declared(body: str) -> list[str]:
    """A name for each sign of a text that pdflatex may not know."""
    signs = sorted({sign for sign in body if ord(sign) > 0xFF})
    names = [unicodedata.name(sign, "a sign").lower() for sign in signs]
    return [
        rf"\DeclareUnicodeCharacter{{{ord(sign):04X}}}{{[{name}]}}"
        for sign, name in zip(signs, names, strict=True)
    ]


def words_of(text: str) -> str:
    """Text whose signs mean themselves; a letter with an index has it below.

    >>> print(words_of("W_QK costs 5 %"))
    W$_{QK}$ costs 5 \\%
    """
    return _INDEXED.sub(lambda mark: f"{mark[1]}$_{{{mark[2].strip('$')}}}$", escaped(text))


def heading(title: str, level: int) -> str:
    return rf"\{LEVELS[min(level, len(LEVELS) - 1)]}{{{words_of(title)}}}"


def below(blocks: Sequence[doc.DocumentBlock], level: int) -> list[str]:
    """Each block; sections below their headings."""
    parts = []
    for block in blocks:
        match block:
            case doc.Section() | doc.Folded():
                parts += [heading(block.title, level)] if block.title else []
                parts += below(block.blocks, level + 1)
            case doc.Chart():
                parts.append(table_of(block.ends()))
            case _:
                parts.append(single(block))
    return parts


def single(block: doc.DocumentBlock) -> str:
    """A block that holds no others."""
    match block:
        case doc.Prose(text):
            return words_of(text)
        case doc.Notice(text):
            return rf"\textbf{{{words_of(text)}}}"
        case doc.Formula(latex):
            return formula(latex)
        case doc.Listing(text):
            return listing(text)
        case doc.Points(lines):
            items = "\n".join(rf"\item {words_of(words)}" for words in lines)
            return f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}" if lines else ""
        case doc.Properties(rows):
            named = (rf"\item[{{{words_of(name)}}}] {words_of(words)}" for name, words in rows)
            items = "\n".join(named)
            return f"\\begin{{description}}\n{items}\n\\end{{description}}" if rows else ""
        case doc.Table():
            return table_of(block)
        case doc.Picture():
            return rf"\emph{{{words_of(block.caption or block.alt)}}}"
        case _:
            raise TypeError(f"no block: {type(block).__name__}")


def listing(text: str) -> str:
    """Text as it stands, line by line: what it is indented by is kept."""
    rows = []
    for each in text.split("\n"):
        words = each.lstrip(" ")
        rows.append(rf"\hspace*{{{(len(each) - len(words)) / 2:g}em}}{words_of(line(words))}")
    return "\\begin{flushleft}\\footnotesize\n" + "\\\\\n".join(rows) + "\n\\end{flushleft}"


def table_of(table: doc.Table) -> str:
    """A table, its last column broken where it is long; a long one runs over pages."""
    if not table.rows:
        return ""
    rows = [" & ".join(words_of(cell.text) for cell in row) + r" \\" for row in table.rows]
    head = " & ".join(map(words_of, table.heads)) + r" \\"
    name, above = ("tabular", ""), [r"\toprule", head, r"\midrule"]
    if len(table.rows) > SHORT:
        name, above = ("longtable", "[l]"), [*above, r"\endhead"]
    begin = rf"\begin{{{name[0]}}}{name[1]}{{{columns(table)}}}"
    lines = [r"{\footnotesize", begin, *above, *rows, r"\bottomrule", rf"\end{{{name[0]}}}", "}"]
    return "\n".join(lines)


def columns(table: doc.Table) -> str:
    """Numbers to the right, texts to the left; the last column has a width where it is long."""
    right = set(table.numbers)
    letters = ["r" if i in right else "l" for i in range(len(table.heads))]
    longest = max(len(row[-1].text) for row in table.rows)
    if letters[-1] == "l" and longest > LONG:
        letters[-1] = rf"p{{{WIDEST if len(letters) < 4 else NARROW}\linewidth}}"
    return "".join(letters)
