"""Gaps: what is converted, how, and that the order and the numbers are the conversion's own."""

from __future__ import annotations

import json
import math

import pytest

from dudley.calculus import chain
from dudley.calculus.deviate import deviation
from dudley.core.bound import Bound, Sense
from dudley.core.entropy import PowerLaw
from dudley.core.errors import InputError, UnknownName
from dudley.core.situation import Situation
from dudley.networks.described import ID, capacity_of
from dudley.theorems import registry
from dudley.theorems.chaining import chained
from dudley.theorems.comparison import compare
from dudley.theorems.conversion import Conversion, by_octaves, conversion_of
from dudley.theorems.gaps import at_loss, gaps
from each import each

STATEMENTS = dict(registry.load().items())
HERE = {
    "n": 1e6, "T": 16, "d": 8, "k": 8, "L": 1, "H": 1, "X.row2inf": 1.0, "W_QK.l11": 2.0,
    "W_v.l11": 1.0, "W_c.l11": 1.0, "w.l1": 1.0, "sigma.lipschitz": 1.0, "kappa": 1.0,
    "target.bound": 1.0, "delta": 0.1, "margin": 0.5,
}  # fmt: skip
DRIFT = float(deviation(1e6, 0.1))


@pytest.fixture(scope="module")
def ranked():
    return gaps(HERE)


def number(result, id: str, form: str) -> float:
    (bound,) = result.row(id).curves[form]
    assert isinstance(bound, Bound), bound
    return bound.value


def test_every_row_is_a_gap_at_this_confidence_best_first(ranked):
    least = [row.least for row in ranked.rows]
    assert least == sorted(least) and len(least) > 15
    for row in ranked.rows:
        for form in row.curves:
            for bound in row.bounds(form):
                if bound is not None:
                    assert bound.quantity == "risk − training loss" and bound.delta == 0.1
                    assert bound.trivial == 1.0 and bound.vacuous == (bound.value >= 1.0)


def test_a_rademacher_complexity_is_contracted_and_doubled(ranked):
    plain = compare(HERE).row("trauger2024/corollary-4.1.1").curves["best"][0]
    assert isinstance(plain, Bound)
    gap = number(ranked, "trauger2024/corollary-4.1.1", "best")
    assert gap == pytest.approx(2 * 2.0 * plain.value + DRIFT, rel=1e-12)  # the ramp is 1/γ-L.


def test_a_cover_is_chained_for_the_losses(ranked):
    """log N = C/ε² as printed: nearly the calculus' own best chain, and below Dudley's integral."""
    s = STATEMENTS["trauger2024/lemma-3.6"]
    (bound,) = compare(HERE | {"epsilon": 1e-3}).row(s.id).curves["printed"]
    assert isinstance(bound, Bound)
    law = PowerLaw(bound.value * 1e-6 * 2.0**2, 0.5, is_proper=False)  # the ramp is 2-Lipschitz
    finest, paper = (2 * chained(law, 0.5, 1e6, rule) for rule in ("best", "dudley"))
    assert finest * 0.99 <= number(ranked, s.id, "printed") - DRIFT <= min(1.15 * finest, paper)


def test_the_ladder_of_octaves_is_nearly_the_best_chain():
    for C in (1e-2, 1.0, 1e4):
        law = PowerLaw(C, 1.0, is_proper=False)
        ladder = math.exp(by_octaves(lambda ε, law=law: float(law.log_log(math.log(ε))), 1.0, 1e6))
        best = float(chain.complexity(law, 0.0, math.log(1e6) * chain.np.ones(1))[0])
        assert best <= ladder * (1 + 1e-9) and ladder <= 1.15 * best, C


def test_a_chain_past_the_floats_keeps_its_logarithm():
    assert by_octaves(lambda ε: 5000.0, 0.5, 1e6) == pytest.approx(
        math.log(0.5) + (math.log(2 / 1e6) + 5000) / 2
    )
    deep = gaps(HERE | {"L": 96, "W_QK.l11": 1e9, "W_v.l11": 100.0})
    logs = [b.log_value for row in deep.rows for b in row.bounds("derived") if b is not None]
    assert max(logs) > 710


def test_the_calculus_own_gap_is_among_them(ranked):
    values = {name: HERE[name] for name in HERE if name != "delta"}
    assert number(ranked, ID, "derived") == capacity_of(values).gap(0.1).value
    assert ranked.row(ID).subject == "one head"
    assert gaps(HERE | {"L": 3}).row(ID).subject == "L layers"
    bare = gaps({"n": 1e6, "X.row2inf": 1.0, "w.l2": 1.0})
    assert "network: expected T, d, X.row2inf" in bare.unconverted[ID]


def test_a_gap_stands_as_it_is_at_this_loss():
    here = {"n": 1e6, "class.rademacher": 0.01, "margin": 0.5, "delta": 0.1}
    s = STATEMENTS["mwigo2026/equation-3.2"]
    expected = s.evaluate_on({**{k: here[k] for k in ("n", "class.rademacher", "delta")},
                         "loss.lipschitz": 2.0, "loss.range": 1.0})  # fmt: skip
    assert number(gaps(here), s.id, "derived") == expected.value


@each("id", STATEMENTS)
def test_every_statement_is_converted_or_it_is_said_why_not(id: str):
    s = STATEMENTS[id]
    conversion = conversion_of(s)
    if isinstance(conversion, str):
        assert s.measure in ("excess risk", "other quantities") or id == "trauger2024/appendix-A"
        return
    assert s.measure != "excess risk"
    values = {"n": 1000.0, "delta": 0.05} | dict(s.example)
    (row,) = gaps(values, papers=(s.paper,), among=[id]).rows
    for form, (bound,) in row.curves.items():
        if isinstance(bound, Bound):
            constant = s.form(form).sense is Sense.CONSTANT
            assert (bound.sense is Sense.CONSTANT) == constant, form
            if s.measure in ("covering number", "Rademacher complexity"):
                assert conversion.assumption in str(bound)


def test_what_is_not_converted_is_listed_with_the_reason(ranked):
    assert "does not bound" in ranked.unconverted["li2026/theorem-5.3"]
    assert not set(ranked.unconverted) & {row.id for row in ranked.rows}
    assert all(isinstance(conversion_of(STATEMENTS[id]), Conversion) for id in ranked.missing)


def test_a_swept_gap_is_the_single_one(ranked):
    papers = ("li2026", "mwigo2026")
    swept = gaps(HERE, "n=1e4:1e6:log3", papers)
    assert len(swept.rows) > 4
    for row in swept.rows:
        for form, curve in row.curves.items():
            (alone,) = ranked.row(row.id).curves[form]
            end = curve[-1]
            assert getattr(end, "log_value", end) == getattr(alone, "log_value", alone), row.id
    still = gaps(HERE, "T=2:512:log3", papers, ("derived",))
    assert still.row("li2026/equation-14").still("derived", "T") == "does not depend on T"
    assert not still.row("mwigo2026/lemma-6").still("derived", "T")


def test_the_loss_is_the_ramp_or_as_given_or_said_to_be_taken():
    assert gaps({"n": 10, "margin": 2}).loss.startswith("the ramp at margin 2")
    assert "taken as 1" in gaps({"n": 10}).loss
    wide = gaps({"n": 10, "loss.lipschitz": 3, "loss.range": 4})
    assert wide.loss == "a 3-Lipschitz loss in [0, 4]" and wide.task.range == 4
    with pytest.raises(InputError, match=r"loss\.range: expected a number > 0"):
        at_loss(Situation({"n": 10, "loss.range": 0}))
    with pytest.raises(InputError, match="n, the number of examples"):
        gaps({"d": 10})
    with pytest.raises(UnknownName, match="form"):
        gaps(HERE, forms=("nice",))
    with pytest.raises(UnknownName, match="bound that was converted"):
        gaps({"n": 10}).row("li2026/theorem-5.3")


def test_json_is_strict_and_builds_the_page_again(ranked):
    from dudley.show.pages import gaps as page

    item = json.loads(json.dumps(ranked.to_json(), allow_nan=False))
    assert [row["id"] for row in item["rows"]] == [row.id for row in ranked.rows]
    assert page.from_json([item]) == page.document(ranked)
