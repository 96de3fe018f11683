"""Statements from outside the package are listed, evaluated, compared, audited, and removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dudley as du
import outside_statements as outside
from dudley.audit import run as runs
from dudley.audit.base import all_attacks, reach
from dudley.audit.judge import Outcome
from dudley.cli import main
from dudley.core.errors import DudleyError, InputError
from dudley.core.statement import Statement
from dudley.show.generated import errata
from dudley.theorems import registry
from dudley.theorems.order import in_reading_order
from each import each

TRUE, FALSE, UNKNOWN = "mine2027/lemma-1", "mine2027/lemma-2", "mine2027/remark-5"
WORDS = ["d=8", "k=8", "W.l11=1", "X.row2inf=1", "epsilon=0.5"]


@pytest.fixture
def file(tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text(outside.SOURCE, encoding="utf-8")
    yield path
    if outside.KEY in registry.PAPERS:
        registry.remove(outside.KEY)


@pytest.fixture
def mine(file: Path) -> Path:
    registry.load_file(file)
    return file


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(map(str, words)))
    return left.value.code, capsys.readouterr()


def outcomes(report) -> dict[tuple[str, str], Outcome]:
    return {(row.statement, row.form): row.outcome for row in report.table}


def test_they_are_listed_last_and_removed_again(mine):
    ids = [s.id for s in in_reading_order()]
    assert ids[-5:] == [TRUE, FALSE, "mine2027/theorem-3", "mine2027/theorem-4", UNKNOWN]
    assert registry.PAPERS["mine2027"].year == 2027
    registry.remove("mine2027")
    assert not any(id.startswith("mine2027") for id in registry.load())
    assert mine.resolve() not in registry.FILES
    with pytest.raises(DudleyError, match="mine2027"):
        registry.expect_paper("mine2027")


def test_the_errata_are_those_of_the_papers_that_are_shipped(mine, monkeypatch):
    for name in ("chapter", "index"):
        monkeypatch.setattr(errata, name, lambda statements, paper: f"of {paper}")
    text = errata.errata.__wrapped__()
    assert "of li2026" in text and "mine2027" not in text


def test_the_commands_take_a_file(capsys, file):
    option = ("--statements", file)
    code, out = run(capsys, "theorems", "--paper", "mine2027", *option)
    assert code == 0 and "5 statements" in out.out
    code, out = run(capsys, "theorems", "show", TRUE, *option)
    assert code == 0 and "Maurey" in out.out
    code, out = run(capsys, "evaluate", FALSE, *WORDS, *option, "--json")
    assert code == 0 and json.loads(out.out)["items"][0]["value"] == pytest.approx(0.2)
    code, out = run(capsys, "compare", *WORDS, "--paper", "mine2027", *option)
    assert code == 0 and TRUE in out.out and FALSE in out.out


def test_they_are_compared_with_the_others(mine):
    comparison = du.compare({"d": 8, "k": 8, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.5})
    (ids,) = [ids for rows in comparison.groups.values() if TRUE in (ids := [r.id for r in rows])]
    assert "trauger2024/lemma-3.6" in ids


def test_an_audit_refutes_the_false_and_lets_the_true_stand(mine):
    judged = outcomes(runs.run([TRUE, FALSE, "mine2027/theorem-3", "mine2027/theorem-4"], jobs=1))
    for id in (TRUE, "mine2027/theorem-3"):
        assert judged[id, "printed"] is judged[id, "derived"] is Outcome.STANDS
    for id in (FALSE, "mine2027/theorem-4"):
        assert judged[id, "printed"] is Outcome.REFUTED
        assert judged[id, "derived"] is Outcome.BROKEN


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_command_audits_a_file_in_every_process(capsys, file, jobs):
    code, out = run(capsys, "audit", TRUE, FALSE, "--statements", file, "--jobs", jobs)
    assert code == 1 and "linear maps by" in out.out
    assert "4 forms: 1 broken, 1 refuted, 2 stand." in out.out


def test_a_true_statement_alone_is_fine(capsys, file):
    code, out = run(capsys, "audit", TRUE, "--statements", file, "--jobs", "1")
    assert code == 0 and "2 forms: 2 stand." in out.out


def test_a_quantity_that_no_attack_knows_is_undecided(capsys, file):
    code, out = run(capsys, "audit", UNKNOWN, "--statements", file, "--jobs", "1")
    assert code == 3 and "no attack knows this quantity (number of heads that agree)" in out.out
    assert "stand" not in out.out
    code, out = run(capsys, "audit", UNKNOWN, "--statements", file, "--jobs", "1", "--json")
    assert code == 3 and json.loads(out.out)["items"] == [] and "no attack knows" in out.err


def test_attacks_with_an_aim_leave_what_others_list(mine):
    aimed = {n: reach(a) for n, a in all_attacks().items() if a.aim is not None}
    assert aimed["linear maps by their norms"] == (TRUE, FALSE)
    assert aimed["heads by their norms"] == ("mine2027/theorem-3", "mine2027/theorem-4")


@each(
    "name, quantity, fits",
    [
        ("trauger2024/lemma-3.6", "linear maps by their norms", True),
        ("trauger2024/lemma-3.5", "linear maps by their norms", True),
        ("edelman2021/lemma-A.10", "linear maps by their norms", True),
        ("li2026/assumption-5.7", "linear maps by their norms", True),
        ("li2026/lemma-B.6", "linear maps by their norms", False),  # a fixed subspace
        ("trauger2024/appendix-A", "linear maps by their norms", False),
        ("edelman2021/definition-A.1", "functionals by their norms", True),
        ("li2026/definition-3.1", "functionals by their norms", False),  # an offset
        ("trauger2024/corollary-4.1.1", "heads by their norms", True),
        ("trauger2024/theorem-5.1", "heads by their norms", False),  # a cross-entropy
        ("li2026/equation-14", "covers of heads by their norms", True),
        ("edelman2021/corollary-4.4", "covers of heads by their norms", True),
        ("edelman2021/theorem-4.2", "covers of heads by their norms", False),
    ],
)
def test_an_aim_knows_the_published_statements_by_quantity_and_inputs(name, quantity, fits):
    aim = all_attacks()[quantity].aim
    assert aim is not None and aim.fits(registry.load()[name]) is fits


def test_a_journal_holds_nothing_of_statements_that_may_change(mine, tmp_path):
    journal = tmp_path / "audit.jsonl"
    runs.run([TRUE], jobs=1, journal=journal)
    assert not journal.exists() or "by their norms" not in journal.read_text(encoding="utf-8")


def test_a_statement_that_only_this_process_knows_is_audited_here(mine):
    s = registry.load()[TRUE]
    fields = {**vars(s), "id": "mine2027/lemma-9"}
    registry.register(Statement(**{k: v for k, v in fields.items() if k in s.__match_args__}))
    assert registry.is_local("mine2027/lemma-9")
    assert outcomes(runs.run(["mine2027/lemma-9"], jobs=2))


@pytest.mark.parametrize(
    "body, expected",
    [
        ("1/0", "ZeroDivisionError"),
        ("raise SystemExit(0)", "SystemExit"),
        (outside.SOURCE + "\n1/0\n", "ZeroDivisionError"),
        (outside.SOURCE.replace('register_paper("mine2027"', 'str("other"'), "register_paper"),
    ],
)
def test_a_file_that_fails_leaves_nothing(capsys, tmp_path, body, expected):
    path = tmp_path / "bad.py"
    path.write_text(body, encoding="utf-8")
    before = list(registry.load())
    code, out = run(capsys, "theorems", "--statements", path)
    assert code == 2 and len(out.err.strip().splitlines()) == 1
    assert list(registry.load()) == before and "mine2027" not in registry.PAPERS


def test_a_file_that_is_no_python_is_not_executed(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(outside.SOURCE, encoding="utf-8")
    with pytest.raises(InputError, match=r"\.py"):
        registry.load_file(path)


class Entry:
    def __init__(self, name, load):
        self.name, self.load = name, load


def test_installed_packages_register_by_entry_point(monkeypatch, file):
    def broken():
        exec(compile(outside.SOURCE.replace("mine2027", "torn2027"), "torn", "exec"), {})
        raise ImportError("half of it is missing")

    def good():
        exec(compile(outside.SOURCE, "mine", "exec"), {})

    declared = [Entry("torn", broken), Entry("mine", good)]
    monkeypatch.setattr("dudley.core.outside.entry_points", lambda group: declared)
    monkeypatch.setattr("dudley.core.outside._groups", set())
    with pytest.warns(RuntimeWarning, match="torn.*left out"):
        assert TRUE in registry.load()
    assert "torn2027" not in registry.PAPERS and not registry.is_local(TRUE)


def test_the_papers_of_the_package_stay():
    with pytest.raises(InputError, match="does not ship"):
        registry.remove("li2026")
    with pytest.raises(InputError, match="key"):
        registry.register_paper("two words", "", "", 2027)
    with pytest.raises(InputError, match="no other paper has, got li2026"):
        registry.register_paper("li2026", "", "", 2026)


def test_the_explorer_has_them(mine):
    pytest.importorskip("fastapi", reason="the explorer needs the extra web")
    from dudley.web import bounds, statements
    from dudley.web.attend import Visitor

    assert "mine2027" in bounds.settings()["sources"]
    assert TRUE in {one["id"] for one in statements.list_statements()}
    view = bounds.View(("mine2027",), quantity="covering number of linear maps")
    entries = bounds.point(WORDS, view, Visitor())["entries"]
    assert {entry["name"].split()[0] for entry in entries} == {TRUE, FALSE}
    assert "Maurey" in statements.page(TRUE)["html"]
