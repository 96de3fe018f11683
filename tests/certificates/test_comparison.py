"""Which certificate wins and why one says nothing: sentences made of the numbers of the files."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.auto import Ranking, best_of
from dudley.certificates.certify import certify
from dudley.certificates.comparison.cost import cost_of
from dudley.certificates.comparison.vacuity import blamed, why_vacuous
from dudley.certificates.comparison.winner import Contender, contenders_of, winner
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import load
from dudley.networks.files import EXAMPLES
from dudley.show.as_text import text
from dudley.show.pages import certificate as pages

SHIPPED = EXAMPLES / "sparse-and"


@pytest.fixture(scope="module")
def model():
    return load(SHIPPED / "model.safetensors")


def draw(model, n: int, seed: int = 3, noise: float = 0.0) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 16), dtype=np.uint8)
    y = (model.outputs(X)[:, 0] > 0) ^ (rng.random(n) < noise)
    return Dataset(X, y.astype(np.int64))


def test_costs_add_up_to_what_the_file_paid(model):
    ranking = best_of(
        model, draw(model, 2000), draw(model, 500, 4), ["hold-out", "norm-cover", "occam"]
    )
    for certificate in ranking.certificates:
        item, cost = certificate.to_json(), cost_of(certificate.to_json())
        model_nats = item["facts"].get("log_cover", 0.0)
        paid = -math.log(item["delta"]) + item["nats"] + model_nats
        assert math.isclose(cost.total, paid, rel_tol=1e-9)
        assert cost.number(cost.n) >= 0.999 * certificate.value  # Chernoff's bound of the tail
    said = winner(contenders_of([c.to_json() for c in ranking.certificates]))
    assert "wins" in said and "fresh examples cost 4.1 nats, with no error" in said


def screen(ranking: Ranking) -> str:
    """What a terminal shows of all numbers, on one line."""
    items = [certificate.to_json() for certificate in ranking.all]
    return " ".join(text(pages.ranking(items, ranking.refused, "")).split())


def test_a_hold_out_stands_beside_a_method_that_was_named_and_costs_it_nothing(model):
    train, fresh = draw(model, 2000), draw(model, 500, 4)
    alone, both = (certify(model, train, x, method="occam") for x in (None, fresh))
    assert alone.hold_out is None and both.hold_out is not None
    assert both.best.value == alone.best.value and both.best.declared.among == 1
    alone_at_delta = binomial_upper(0, 500, -math.log(0.05))
    assert math.isclose(both.hold_out.value, alone_at_delta, rel_tol=1e-12)
    assert both.all == (*both.certificates, both.hold_out)
    page = screen(both)
    assert "has chosen among several" in page and "none of them has paid" in page
    paid = certify(model, train, fresh, method="occam,hold-out")
    assert "wins" in screen(paid) and "has chosen among" not in screen(paid)
    shared = certify(model, train, train, method="occam")  # a hold-out that training has seen
    assert shared.hold_out is None and "training did not see" in shared.refused["hold-out"]


@pytest.mark.parametrize(
    ("n", "noise", "culprit", "says"),
    [
        (40, 0.0, "the code", "nats on 40 examples; "),
        (400, 0.45, "errors", "is not below guessing, at any n"),
    ],
)
def test_a_vacuous_number_names_its_reason_in_three_lines(model, n, noise, culprit, says):
    item = best_of(model, draw(model, n, noise=noise), None, ["occam"]).best.to_json()
    assert item["vacuous"]
    lines = why_vacuous(item)
    assert len(lines) == 3 and all(len(line) <= 80 and "\n" not in line for line in lines)
    assert says in lines[1] and blamed(item).startswith(culprit) and "pick-to-learn" in lines[2]


def test_the_number_of_examples_that_would_do_would_do(model):
    item = best_of(model, draw(model, 40), None, ["occam"]).best.to_json()
    needed = int(why_vacuous(item)[1].rpartition("; ")[2].split()[0].replace(",", ""))
    cost, guess = cost_of(item), item["baseline"]["error_at_least"]
    assert cost.number(needed) < guess <= cost.number(int(0.85 * needed))


def test_too_few_fresh_examples_are_to_blame_for_a_vacuous_hold_out(model):
    item = best_of(model, None, draw(model, 12), ["hold-out"]).best.to_json()
    assert item["vacuous"]
    lines = why_vacuous(item)
    assert lines[2].startswith("instead: more fresh examples")


def test_the_sentence_compares_the_hold_out_with_the_best_of_the_others():
    hold_out, code = Contender("hold-out", 0.02, "A"), Contender("occam", 0.01, "B")
    cover = Contender("norm-cover", 0.5, "C", vacuous=True)
    assert winner([hold_out, code, cover]) == "occam wins, 0.01 against 0.02 of hold-out: B, and A"
    assert winner([hold_out, cover]).startswith("hold-out wins, 0.02 against 0.5 of norm-cover")
    assert winner([code, cover]) == winner([hold_out]) == ""
    nothing = Contender("hold-out", 0.4, "A", vacuous=True)
    assert winner([nothing, cover]).startswith("neither hold-out (0.4) nor norm-cover says")
    assert "give the same, 0.02" in winner([hold_out, Contender("occam", 0.02, "B")])
