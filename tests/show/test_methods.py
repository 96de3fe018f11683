"""Methods side by side as a figure, a page and a table."""

from __future__ import annotations

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
