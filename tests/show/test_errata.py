"""ERRATA.md says what the registries say, its commands run, and its Markdown holds together."""

from __future__ import annotations

import inspect
import json
import math
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from dudley.cli import main
from dudley.core.bound import Bound, Sense
from dudley.core.verdict import AsPrinted, Repair
from dudley.show import counterexamples, markdown
from dudley.show.generated import erratum
from dudley.show.generated.errata import errata
from dudley.theorems import registry
from dudley.theorems.order import in_reading_order, reading_order
from dudley.theorems.witness.base import WITNESSES
from each import each

ROOT = Path(__file__).resolve().parents[2]
STATEMENTS = dict(registry.load().items())
WRONG = [id for id, s in STATEMENTS.items() if not s.verdict.stands]


# Commands that KaTeX and MathJax know and that the statements use; a new one is checked and added.
LATEX = """
Bigl Bigr Delta Gamma Lambda Omega Phi Pi Psi Sigma Theta Vert alpha beta big bigl bigr
biggl biggr binom cap cdot cdots chi circ cup delta dfrac dots ell epsilon eta exp forall frac
gamma ge geq hat in inf infty int kappa lVert lambda langle lceil ldots left le leq lesssim
lfloor ln log lor mapsto mathbb mathbf mathcal mathrm max mid min mu ne neq nu omega overline
partial phi pi pm prod propto psi qquad quad rVert rangle rceil rfloor rho right rm setminus
sigma sim simeq sqrt subset substack succ sum sup tanh tau tbinom text textstyle tfrac theta
tilde times to top varepsilon varphi vert wedge widehat widetilde xi zeta
"""


def commands() -> list[str]:
    return re.findall(r"^```console\n\$ (dudley .*)\n```$", errata(), re.MULTILINE)


def entry(id: str) -> str:
    start = errata().index(f'<a id="{erratum.anchor(STATEMENTS[id])}"></a>')
    return re.split(r"\n(?:<a id=|### Sharper)", errata()[start + 1 :])[0]


def plain(text: str) -> str:
    """Markdown prose as it reads."""
    return re.sub(r"\\([\\`*_\[\]<>|~$#])", r"\1", text)


@pytest.mark.slow
@each("id", WRONG)
def test_an_entry_says_what_the_statement_says(id: str):
    s, text = STATEMENTS[id], entry(id)
    read = plain(text)
    assert f"`{id}`" in text and s.standing in text
    assert f"The repair takes {s.verdict.repair.value}." in text
    assert s.says in read and s.quantity in read and " ".join(s.erratum.split()) in read
    assert markdown.display(s.printed.latex) in text
    assert markdown.display(s.derived.latex) in text or s.derived.latex == s.printed.latex
    assert all(a.statement in read for a in s.assumptions)


@each("id", WRONG)
def test_an_entry_tells_every_counterexample(id: str):
    text = entry(id)
    against = {n: w for n, w in WITNESSES.items() if id in w.refutes}
    assert len(re.findall(r"\*\*(Counterexample|Instance outside)\*\*", text)) == len(against)
    for name, kind in against.items():
        witness = kind()
        assert f"`{name}`" in text and kind.story in plain(text)
        assert all(premise.words in plain(text) for premise in witness.hypotheses(id))
        printed = STATEMENTS[id].evaluate_on(witness.inputs(id), "printed").value
        truth = witness.lower_bound()
        assert f"| {markdown.number(printed)}" in text and f"| {markdown.number(truth)} |" in text
        if printed > 0:
            assert f"| {markdown.number(truth / printed)} |" in text
        if STATEMENTS[id].printed.sense is Sense.CONSTANT:
            takes = inspect.signature(witness.family).parameters
            family = witness.family(*([id] if "statement" in takes else []))
            growth = f"the ratio grows about like {family.grows}^{family.exponent:.2f}:"
            assert f"Whatever the constant: {growth}" in plain(text)
    for path in re.findall(r"\[proof\]\((.*?)\)", text):
        assert (ROOT / path).is_file()


@each("id", WRONG)
def test_the_repair_stands_before_the_printed_form(id: str):
    text = entry(id)
    assert text.index("**What holds") < text.index("**Printed**")


def test_every_wrong_statement_has_a_command():
    shown = [shlex.split(line)[2] for line in commands()]
    for id in WRONG:
        witnesses = [w for _, w in WITNESSES.items() if id in w.refutes]
        assert shown.count(id) == max(1, len(witnesses))


@each("line", commands)
def test_a_command_runs_and_prints_the_numbers_beside_it(line: str, capsys):
    words = shlex.split(line)
    with pytest.raises(SystemExit) as leaving:
        main([*words[1:], "--json"])
        raise SystemExit(0)
    assert leaving.value.code in (0, None), capsys.readouterr().err
    items = json.loads(capsys.readouterr().out)["items"]
    before = errata()[: errata().index(f"$ {line}\n")]
    (head, row) = re.findall(r"^\| (printed \|.*) \|\n\| ---.*\n\| (.*) \|$", before, re.M)[-1]
    shown = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    for item in items:
        if item["value"] is not None:
            assert shown[item["form"]].split(" (")[0] == markdown.number(item["value"])


def test_right_statements_with_a_remark_are_listed():
    for id, s in STATEMENTS.items():
        line = f"- **{erratum.title(s)}.** {markdown.prose(s.erratum)}"
        assert (line in errata()) == (s.verdict.stands and bool(s.erratum)), id


def test_the_counts_are_those_of_the_registry():
    for paper in {s.paper for s in STATEMENTS.values()}:
        verdicts = [s.verdict for s in STATEMENTS.values() if s.paper == paper]
        repairs = Counter(verdict.repair for verdict in verdicts)
        truths = Counter(verdict.as_printed for verdict in verdicts)
        for tallies in ([repairs[r] for r in Repair], [truths[t] for t in AsPrinted]):
            cells = map(str, [*tallies, len(verdicts)])
            assert f"| [{paper}](#{paper}) | {' | '.join(cells)} |" in errata()


def test_entries_stand_in_reading_order():
    ids = [s.id for s in in_reading_order() if not s.verdict.stands]
    assert [errata().index(entry(id)) for id in ids] == sorted(
        errata().index(entry(id)) for id in ids
    )
    assert reading_order("trauger2024/lemma-E.2") < reading_order("li2026/theorem-4.4")


def test_every_link_has_its_anchor():
    anchors = re.findall(r'<a id="(.*?)"></a>', errata())
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r"\]\(#(.*?)\)", errata())) == set(anchors)


def test_no_number_is_missing():
    with_numbers = re.findall(
        r"^(?:\||Inputs:|On an ord|The ratio|Whatever).*$", errata(), re.MULTILINE
    )
    assert len(with_numbers) > 100
    for line in [*with_numbers, *commands()]:
        assert not re.search(r"\b((?i:nan|inf)|None)\b|∞", line), line


def test_tables_hold_together():
    width, rows = None, 0
    for line in errata().splitlines():
        if not line.startswith("| "):
            width = None
            continue
        cells = re.sub(r"\\\|", "", line).count("|")
        assert width in (None, cells), line
        width, rows = cells, rows + 1
    assert rows > 100


def test_prose_has_no_accidental_markup():
    """Outside code no underscore, bracket or angle is left to Markdown, but for our own links."""
    outside_code = re.sub(r"```.*?```|`[^`\n]*`", "", errata(), flags=re.DOTALL)
    ours = re.sub(r"\[[^\[\]]*\]\([^()\s]*\)|<a id=\".*?\"></a>|\$[^$\n]*\$", "", outside_code)
    assert not re.search(r"(?<!\\)[_\[\]<>~$]", ours)


def test_formulas_are_such_as_github_renders():
    for latex in re.findall(r"```math\n(.*?)\n```", errata(), re.DOTALL):
        assert latex.isascii() and "\n\n" not in latex
        assert not re.search(r"\\(operatorname|newcommand|def|require|label|tag)\b", latex)


def unknown(latex: str) -> set[str]:
    """Commands outside the list, and signs that TeX has no escape for."""
    macros = re.findall(r"\\([A-Za-z]+|.)", re.sub(r"\\(begin|end)\{gathered\}", "", latex))
    return set(macros) - set(LATEX.split()) - set(",;:!{}#%|& \\")


@each("id", STATEMENTS)
def test_every_command_of_a_formula_is_known(id: str):
    for name, form in STATEMENTS[id].forms.items():
        assert not unknown(form.latex), f"{id}, {name}"


def test_a_command_run_into_a_letter_is_seen():
    assert unknown(r"L_\sigmaB_c,\quadb") == {"sigmaB", "quadb"} and not unknown(r"\sigma B\,\|x\|")


@each("id", STATEMENTS)
def test_a_broken_formula_is_whole(id: str):
    for form in STATEMENTS[id].forms.values():
        parts = markdown.clauses(form.latex)
        assert re.sub(r",\\q?quad ?", ",", form.latex) == "".join(
            re.sub(r",\\q?quad ?", ",", part) for part in parts
        )
        for part in parts:
            assert part.count("{") == part.count("}")
            assert part.count(r"\left") == part.count(r"\right")
    long = r"a,\quad b" + "+b" * markdown.WIDE
    assert r"\begin{gathered}" in markdown.display(long)


@pytest.mark.slow
def test_it_is_the_same_every_time():
    text = errata()
    errata.cache_clear()
    assert errata() == text


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (Bound.of(0.123456, quantity="q", sense=Sense.SURELY), "0.1235"),
        (Bound.of(-2.0, quantity="q", sense=Sense.SURELY), "−2 (negative)"),
        (Bound.of(2.0, quantity="q", sense=Sense.SURELY, trivial=1.0), "2 (vacuous)"),
        (Bound(2000.0, "q", Sense.SURELY), "10^868.6"),
    ],
)
def test_a_bound_is_shown_with_what_it_is_worth(bound: Bound, text: str):
    assert erratum.shown(bound) == text


def test_inputs_read_back_as_themselves():
    values = [1, 0.1, 1 / 3, 1e-12, 2.0**60, 1e22, 12345678]
    read = [float(w.partition("=")[2]) for w in counterexamples.words({str(v): v for v in values})]
    assert read == [float(v) for v in values]


@pytest.mark.parametrize("value", [1 / 3, 2e-7, 1e8, 123456.0, 12345678.0, 5e300, 0.99996, -3.5e-9])
def test_a_number_is_right_to_four_digits(value: float):
    text = markdown.number(value).replace("−", "-").replace("·10", "e").replace("·", "")
    plain_digits = text.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    if re.fullmatch(r"-?10-?\d+", plain_digits) and "1" not in text[2:]:
        plain_digits = plain_digits.replace("10", "1e", 1)
    assert math.isclose(float(plain_digits), value, rel_tol=5e-4)
