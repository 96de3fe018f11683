"""Methods side by side as a figure, a page and a table."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import pytest

from dudley.calculus.inversion import binomial_upper
from dudley.certificates import side_by_side
from dudley.certificates.side_by_side import SCHEMA, MethodRow, MethodsRecord, TaskFacts
from dudley.show.figures import methods as figure
from dudley.show.generated import methods

TASK = TaskFacts("coin", "Coins", "a guess", "fair coins", 0.5, "1,000 coins")


def record(*rows: tuple[str, int, int, float]) -> MethodsRecord:
    made = [MethodRow("coin", m, n, seed, v, v / 2, {"picks": 3}) for m, n, seed, v in rows]
    return MethodsRecord(0.05, (TASK,), tuple(made))


def test_the_page_has_a_line_for_each_method_and_names_the_winner():
    """Of two draws the larger number counts: a method does not win by its better draw."""
    many = record(("pick-to-learn", 100, 0, 0.1), ("pick-to-learn", 100, 1, 0.15),
                  ("hold-out", 100, 0, 0.2))  # fmt: skip
    page = methods.page(many)
    assert "| pick-to-learn, from the start alone | 0.15 (0.1 to 0.15, 2 seeds) | 3 picks |" in page
    assert "where a hold-out was run: pick-to-learn, from the start alone at n = 100." in page
    assert "**0.15**" in methods.compact(many)
    worse = record(*((row.method, row.n, row.seed, row.value) for row in many.rows),
                   ("pick-to-learn", 100, 2, 0.3), ("pick-to-learn", 100, 3, 0.3))  # fmt: skip
    assert "**0.2**" in methods.compact(worse)


def test_a_certificate_is_never_rounded_below_itself():
    """Three digits of .00010235 are .000103: .000102 would claim more than is proved."""
    tight = record(("pick-to-learn", 100, 0, 0.00000101), ("pick-to-learn", 100, 1, 0.00010235),
                   ("hold-out", 100, 0, 0.30001))  # fmt: skip
    assert "| 0.000103 (1.01e-6 to 0.000103, 2 seeds) |" in methods.page(tight)
    assert "| **0.000103** | – | 0.301 |" in methods.compact(tight)


def test_a_hold_out_pays_for_its_recipe_where_the_rows_beside_it_do(tmp_path):
    row = {"task": "coin", "n": 100, "seed": 0, "test_error": 0.0}
    plain = row | {"method": "hold-out", "value": 0.1,
                   "counts": {"errors": 3, "examples held out": 90}}  # fmt: skip
    paid = row | {"method": "pick-to-learn", "value": 0.2, "counts": {"picks": 3},
                  "declared": {"among": 20}, "pool_value": 0.05001,
                  "undrawn_value": 0.3}  # fmt: skip
    task = asdict(TASK)

    def read(*rows: dict) -> MethodsRecord:
        file, passes = tmp_path / "methods.json", tmp_path / "one-pass.json"
        file.write_text(
            json.dumps({"schema": SCHEMA, "delta": 0.05, "tasks": [task], "rows": rows})
        )
        reads = {"task": "coin", "learner": "gru", "n": 100, "seed": 1, "value": 0.07, "errors": 2,
               "counted": 90}  # fmt: skip
        passes.write_text(json.dumps({"rows": [reads, reads | {"learner": "linear"}]}))
        return side_by_side.read(file, passes)

    both, alone = read(plain, paid), read(plain)
    assert both.of("coin", "hold-out")[0].value == pytest.approx(
        binomial_upper(3, 90, math.log(60 / 0.05)), rel=1e-9
    )
    assert alone.of("coin", "hold-out")[0].value == 0.1
    assert [row.value for row in alone.of("coin", "one pass")] == [0.07]
    (paying,) = both.of("coin", "one pass")
    assert paying.value == side_by_side.pass_that_pays(paying, 20, 0.05)
    page = methods.page(both)
    assert "errs on at most 0.0501, of those that were not drawn on at most 0.3," in page
    assert " | 2 errors before updates, 90 examples counted | – |" in page
    assert alone.winner("coin", 100) == "one pass" and both.winner("coin", 100) == "hold-out"


def test_without_a_hold_out_nobody_wins():
    alone = record(("pick-to-learn", 100, 0, 0.1))
    assert "No hold-out has been run" in methods.page(alone)
    assert "**" not in methods.compact(alone)


def test_a_code_of_a_model_that_stayed_wins_nothing():
    rows = record(("hold-out", 100, 0, 0.2)).rows
    nats = "nats of divergence"
    for counts, mark in (({"bits": 2}, 1), ({"bits": 3}, 0), ({nats: 1e-9}, 1), ({nats: 1}, 0)):
        code = MethodRow("coin", "occam", 100, 0, 0.1, 0.1, counts)
        many = MethodsRecord(0.05, (TASK,), (*rows, code))
        assert ("**0.2**" in methods.compact(many)) == mark, counts
        assert ("0.1 ‡" in methods.compact(many)) == mark == ("0.1 ‡" in methods.page(many))
        least = " without ‡" * mark  # .1 is less, and stands on the page
        assert f"The least number{least}, where a hold-out was run" in methods.page(many)


def test_a_handful_of_picks_after_a_share_wins_nothing():
    rows = record(("hold-out", 100, 0, 0.2)).rows
    for picks, mark in ((8, 1), (9, 0)):
        shared = MethodRow("coin", side_by_side.SHARED, 100, 0, 0.1, 0.1, {"picks": picks})
        many = MethodsRecord(0.05, (TASK,), (*rows, shared))
        assert ("**0.2**" in methods.compact(many)) == mark == ("0.1 ‡" in methods.page(many))
    alone = MethodRow("coin", "pick-to-learn", 100, 0, 0.1, 0.1, {"picks": 2})
    assert not alone.still


def test_the_figure_is_the_same_for_the_same_numbers(tmp_path):
    rows = record(("pick-to-learn", 100, 0, 0.1), ("pick-to-learn", 1000, 0, 0.01),
                  ("hold-out", 100, 0, 0.2))  # fmt: skip
    files = [tmp_path / name for name in ("a.svg", "b.svg")]
    for file in files:
        figure.draw(rows, [file])
    assert files[0].read_bytes() == files[1].read_bytes()
    assert b"<svg" in files[0].read_bytes()
