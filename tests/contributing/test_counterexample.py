"""A counterexample that a file adds refutes what is printed, and is told beside the statement."""

from __future__ import annotations

import pytest

from dudley.audit.base import all_attacks
from dudley.cli import main
from dudley.theorems import registry
from dudley.theorems.witness.base import WITNESSES

ID = "added2027/lemma-2"
SOURCE = '''
import math
from dataclasses import dataclass

from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.registry import register, register_paper
from dudley.theorems.witness.base import WITNESSES, Witness, log_volume_ratio
from dudley.theorems.witness.premises import Premise

register_paper("added2027", "Balls of my own", "N. N.", 2027)
register(
    Statement(
        id="added2027/lemma-2",
        kind="lemma",
        says="A cover of a ball that does not grow with the dimension.",
        quantity="log covering number of the ball of R^d",
        inputs=tuple(map(Input, ("d", "w.l2", "epsilon"))),
        printed=Form(r"B^2/\\varepsilon^2", lambda d, w_l2, epsilon: (w_l2 / epsilon) ** 2),
        derived=Form(
            r"d\\log(1+2B/\\varepsilon)",
            lambda d, w_l2, epsilon: d * math.log(1 + 2 * w_l2 / epsilon),
        ),
        verdict=Verdict.false(Repair.WEAKER),
        erratum="The printed cover does not grow with d; a ball of R^d needs d log(B/ε) nats.",
        example={"d": 8, "w.l2": 1.0, "epsilon": 0.5},
    )
)


@WITNESSES.register("many-dimensions")
@dataclass(frozen=True)
class ManyDimensions(Witness):
    """At half the radius: log N ≥ d log 2 by volume, and 4 is printed."""

    refutes = ("added2027/lemma-2",)
    story = "A ball of R^d needs d log 2 nats at half its radius, not 4."

    def inputs(self, statement):
        return {"d": 100, "w.l2": 1.0, "epsilon": 0.5}

    def hypotheses(self, statement):
        return (Premise("0 < ε", lambda: self.inputs(statement)["epsilon"] > 0),)

    def lower_bound(self):
        return log_volume_ratio(100, 2.0)
'''


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "added.py"
    path.write_text(SOURCE, encoding="utf-8")
    yield str(path)
    WITNESSES.remove("many-dimensions")
    registry.remove("added2027")


def run(capsys, *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return int(left.value.code or 0), capsys.readouterr().out


def test_the_audit_refutes_what_is_printed(file, capsys):
    code, out = run(capsys, "audit", ID, "--statements", file, "--jobs", "1")
    assert code == 0 and "1 refuted, 1 stands." in out
    assert "witness many-dimensions" in all_attacks()


def test_it_is_told_beside_the_statement(file, capsys):
    code, out = run(capsys, "theorems", "show", ID, "--statements", file)
    assert code == 0 and "counterexample many-dimensions: A ball of R^d needs" in out


def test_it_is_gone_afterwards():
    assert "witness many-dimensions" not in all_attacks()
