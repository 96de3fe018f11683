"""A statement with its attack, in one file: audited, recorded, and broken where it is too small."""

from __future__ import annotations

import json

import pytest

from dudley.audit.base import ATTACKS
from dudley.audit.judge import Judgement
from dudley.cli import main
from dudley.theorems import registry

ID, ATTACK = "added2027/lemma-1", "volume of a ball"
SOURCE = '''
import math

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Verdict
from dudley.theorems.registry import register, register_paper
from dudley.theorems.witness.lower import LowerBound

register_paper("added2027", "Balls of my own", "N. N.", 2027)


def cover(d, w_l2, epsilon):
    return SHARE * d * math.log(1 + 2 * w_l2 / epsilon)


FORM = Form(r"d\\log(1+2B/\\varepsilon)", cover)
register(
    Statement(
        id="added2027/lemma-1",
        kind="lemma",
        says="The ball of radius B in R^d has a cover by volume.",
        quantity="log covering number of the ball of R^d",
        inputs=tuple(map(Input, ("d", "w.l2", "epsilon"))),
        printed=FORM,
        derived=FORM,
        verdict=Verdict.true(),
        erratum="",
        example={"d": 8, "w.l2": 1.0, "epsilon": 0.5},
    )
)


@ATTACKS.register("volume of a ball")
class VolumeOfABall(Attack):
    """N balls of radius ε have a volume of at least that of the ball of radius B."""

    targets = ("added2027/lemma-1",)

    def run(self, rng):
        for d, epsilon in ((1, 0.5), (8, 1e-6)):
            lower = LowerBound(d * math.log(1 / epsilon) * (1 - 1e-12), "volume")
            yield AttackFinding(self.targets[0], {"d": d, "w.l2": 1.0, "epsilon": epsilon}, lower)
'''


@pytest.fixture
def audit(tmp_path):
    """Run ``dudley audit`` on the file, with the claim multiplied by a share."""

    def run(share: float) -> int:
        path = tmp_path / "added.py"
        path.write_text(SOURCE.replace("SHARE", str(share)), encoding="utf-8")
        words = ["audit", ID, "--statements", path, "--record", tmp_path / "record.json"]
        with pytest.raises(SystemExit) as left:
            main([*map(str, words), "--jobs", "1"])
        return int(left.value.code or 0)

    yield run
    ATTACKS.remove(ATTACK)
    registry.remove("added2027")


def test_a_true_statement_stands_and_its_record_says_how_tight_it_is(audit, tmp_path, capsys):
    assert audit(1.0) == 0
    assert "2 forms: 2 stand." in capsys.readouterr().out
    record = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    rows = [Judgement.from_json(item) for item in record["items"]]
    assert [(row.statement, row.form, row.attack) for row in rows] == [(ID, "derived", ATTACK)]
    assert 0.9 < (rows[0].ratio or 0) < 1


def test_a_tenth_less_is_broken(audit, capsys):
    assert audit(0.9) == 1
    assert "1 broken, 1 refuted" in capsys.readouterr().out
