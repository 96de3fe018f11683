"""Methods side by side as a figure, a page and a table."""

from __future__ import annotations

import math

from dudley.certificates.inversion import binomial_upper
from dudley.certificates.side_by_side import MethodRow, MethodsRecord, TaskFacts
from dudley.show.figures import methods as figure
from dudley.show.generated import methods

TASK = TaskFacts("coin", "Coins", "a guess", "fair coins", 0.5, "1,000 coins")


def record(*rows: tuple[str, int, int, float]) -> MethodsRecord:
    made = [MethodRow("coin", m, n, seed, v, v / 2, {"picks": 3}) for m, n, seed, v in rows]
    return MethodsRecord(0.05, (TASK,), tuple(made))


def test_the_page_has_a_line_for_each_method_and_names_the_winner():
    many = record(("pick-to-learn", 100, 0, 0.1), ("pick-to-learn", 100, 1, 0.3),
                  ("hold-out", 100, 0, 0.2))  # fmt: skip
    page = methods.page(many)
    assert "| pick-to-learn, from the start alone | 0.1 (0.1 to 0.3, 2 seeds) | 3 picks |" in page
    assert "where a hold-out was run: pick-to-learn, from the start alone at n = 100." in page
    assert "**0.1**" in methods.compact(many)


def test_a_certificate_is_never_rounded_below_itself():
    """Three digits of .00010235 are .000103: .000102 would claim more than is proved."""
    tight = record(("pick-to-learn", 100, 0, 0.00010235), ("pick-to-learn", 100, 1, 0.2001),
                   ("hold-out", 100, 0, 0.30001))  # fmt: skip
    assert "| 0.000103 (0.000103 to 0.201, 2 seeds) |" in methods.page(tight)
    assert "| **0.000103** | – | 0.301 |" in methods.compact(tight)


def test_a_hold_out_that_pays_nothing_for_its_recipe_is_shown_at_the_price_of_the_others():
    plain = MethodRow("coin", "hold-out", 100, 0, 0.1, 0.0, {"errors": 3, "examples held out": 90})
    paid = MethodRow("coin", "pick-to-learn", 100, 0, 0.2, 0.0, {"picks": 3}, 20, 0.05001, 0.3)
    page = methods.page(MethodsRecord(0.05, (TASK,), (plain, paid)))
    assert f"the hold-out is {binomial_upper(3, 90, math.log(60 / 0.05)):.3f}"[:-1] in page
    assert "errs on at most 0.0501, of those that were not drawn on at most 0.3," in page
    alone = MethodsRecord(0.05, (TASK,), (plain,))
    assert "At the price" not in methods.page(alone) and "were not drawn" not in methods.page(alone)


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


def test_the_figure_is_the_same_for_the_same_numbers(tmp_path):
    rows = record(("pick-to-learn", 100, 0, 0.1), ("pick-to-learn", 1000, 0, 0.01),
                  ("hold-out", 100, 0, 0.2))  # fmt: skip
    files = [tmp_path / name for name in ("a.svg", "b.svg")]
    for file in files:
        figure.draw(rows, [file])
    assert files[0].read_bytes() == files[1].read_bytes()
    assert b"<svg" in files[0].read_bytes()
