"""What would make a certificate of outcomes say more than is proved: refused, or paid for."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import dudley as du
from certificates.validity import allowed, tight
from dudley.calculus.inversion import binomial_lower, binomial_upper
from dudley.certificates import verify
from dudley.certificates.certify_outcomes import outcomes
from dudley.certificates.methods.outcomes.method import OutcomesMethod
from dudley.certificates.outcomes.abstention import gate_of
from dudley.certificates.outcomes.mean import mean_upper
from dudley.certificates.outcomes.question import LossQuestion
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.core.errors import DudleyError, InputError
from dudley.show.as_text import text
from dudley.show.pages import certificate as pages
from each import each

δ = 0.1
RIGHT = np.ones(300, bool)


def put(folder: Path, content: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


# -- one confidence for all that is stated ----------------------------------------------------


def test_the_number_and_the_verdict_hold_together():
    """Just below the level both can be wrong: the number where few err, "larger" where many do."""
    n, runs = 300, 2000
    level = tight(5, n, δ)
    risk = level * (1 - 1e-9)
    for two_sided in (False, True):
        wrong: dict[int, bool] = {}

        def fails(errors: int, both: bool, seen: dict[int, bool]) -> bool:
            if errors not in seen:
                correct = np.arange(n) >= errors
                made = outcomes(correct=correct, below=level_of(level), two_sided=both, delta=δ)
                claim = made.facts.below["verdict"] == "larger"
                seen[errors] = made.value < risk or claim
            return seen[errors]

        draws = np.random.default_rng(1).binomial(n, risk, runs)
        failed = sum(fails(int(k), two_sided, wrong) for k in draws)
        assert allowed(failed, runs, δ), (two_sided, failed)


def level_of(x: float) -> float:
    """The least level of ten digits at or above."""
    from dudley.certificates.digits import up

    return up(x)


def test_losses_of_0_and_1_have_a_bound_that_holds_exactly():
    """The probability of a bound below the mean, summed over all tables, at the worst mean."""
    c = -math.log(δ)
    for n in (2, 3, 6, 10, 50, 100, 200):
        k = np.arange(n + 1)
        bounds = np.array([mean_upper(np.repeat([0.0, 1.0], [n - j, j]), c, False) for j in k])
        for p in bounds[bounds < 1] * (1 + 1e-9):
            assert stats.binom.pmf(k, n, p)[bounds < p].sum() <= δ, (n, p)


def test_so_many_more_losses_would_do():
    losses, level = np.tile(np.repeat([0.0, 1.0], [19, 1]), 50), 0.068
    below = outcomes(loss=losses, below=level).facts.below
    assert below["verdict"] == "too few"
    enough = len(losses) + below["more"]
    more = np.tile(losses, -(-enough // 1000))
    assert below["more"] > 0 and outcomes(loss=more[: 20 * -(-enough // 20)]).value <= level
    assert outcomes(loss=more[: 20 * int(0.9 * enough / 20)]).value > level


# -- what was declared is what the file says --------------------------------------------------


@each(
    ("declared", "words"),
    [
        ({"thresholds": list(range(5000)), "chains": 1}, "thresholds of outcomes: expected a list"),
        ({"among": 1.5}, "among of outcomes: expected a whole number"),
        ({"two_sided": "no"}, "two_sided of outcomes: expected true or false"),
        ({"seed": True}, "seed of outcomes: expected a whole number"),
        ({"unit": np.arange(300), "unit_way": "first"}, "seed: expected a whole number below 2^32"),
        ({"weight": np.ones(300)}, "no weights"),
    ],
)
def test_a_declaration_that_no_file_could_hold_is_refused(declared, words):
    score = np.full(300, 2 / 3)
    with pytest.raises(DudleyError) as refusal:
        outcomes(correct=RIGHT, score=score, **{"answered_below": 0.1} | declared)
    assert words in str(refusal.value)


def test_what_is_said_of_a_threshold_is_about_the_number_in_the_file():
    """Scores of two thirds are below that number, and above a third of ten digits."""
    score = np.repeat([1 / 3, 2 / 3], 150)
    for t in (1 / 3, 2 / 3):
        wrong = np.arange(300) < 5
        certificate = outcomes(
            correct=~wrong, score=score, answered_below=0.2, thresholds=[t], chains=1
        )
        (point,) = json.loads(certificate.text())["facts"]["abstention"]["curve"]
        assert point["answered"] == (score >= point["threshold"]).sum()
    with pytest.raises(InputError, match="numbers that differ"):
        outcomes(correct=RIGHT, score=score, thresholds=[1 / 3, 1 / 3 + 1e-15], chains=1)


def test_levels_and_thresholds_are_shown_as_they_were_declared():
    certificate = outcomes(
        correct=RIGHT, score=np.full(300, 0.666666666), answered_below=0.1000000049, chains=1,
        thresholds=[0.6666666651], below=0.1234565049, groups={"g": [0] * 300},
        slices_below=0.1000000049, old=~RIGHT, margin=0.1000000049, two_sided=True,
    )  # fmt: skip
    shown = " ".join(text(pages.document([certificate.to_json()])).split())
    for words in (
        "score is at least 0.6666666651", "answered at most 0.1000000049",
        "proved: below 0.1234565049", "proved below 0.1000000049: 1 of 1",
        "not worse by more than 0.1000000049",
    ):  # fmt: skip
        assert words in shown, (words, shown)


def test_many_candidates_are_verified(tmp_path):
    names = [f"prompt {j}" for j in range(400)]
    rows = [",".join("1" * 400)] * 50
    path = put(tmp_path, "\n".join([",".join(names), *rows]))
    certificate = outcomes(path, candidates=names)
    assert certificate.value == pytest.approx(binomial_upper(0, 50, math.log(400 / 0.05)), rel=1e-9)
    again = verify.verify(json.loads(certificate.text()), None, OutcomesMethod().read_data(path))
    assert again.holds, again.differences


# -- what a column says ------------------------------------------------------------------------


@each(
    ("y", "other"),
    [("1", "1.0"), ("1", "1.0000000000000000"), ("cat", "cat "), ("cat", "Cat"), ("1", "true")],
)
def test_labels_of_other_models_are_written_as_the_labels_are(y, other, tmp_path):
    """Else an old model that is right would count as wrong, and a new one as better."""
    table = put(tmp_path, "y,prediction,old\n" + f"{y},{y},{other}\n" * 50)
    with pytest.raises(InputError, match="each written in one way"):
        outcomes(table, old="old", margin=0.0)
    with pytest.raises(InputError, match="each written in one way"):
        outcomes(table, prediction="old", two_sided=True)
    with pytest.raises(InputError, match="each written in one way"):
        outcomes(table, candidates=["prediction", "old"])


def test_labels_that_differ_in_their_case_alone_may_be_two():
    y, prediction = ["a", "A"] * 50, ["a", "a"] * 50
    assert outcomes(y=y, prediction=prediction).facts.errors == 50


def test_kinds_of_a_label_do_not_depend_on_the_first_row(tmp_path):
    rows = ['{"y": 1, "prediction": 1}\n', '{"y": true, "prediction": 1}\n']
    errors = {
        outcomes(put(tmp_path, "".join(order) * 20, "rows.jsonl")).facts.errors
        for order in (rows, rows[::-1])
    }
    assert errors == {20}


def test_a_key_that_comes_twice_is_refused(tmp_path):
    table = put(tmp_path, '{"correct": 0, "correct": 1}\n', "rows.jsonl")
    with pytest.raises(InputError, match="every key once"):
        outcomes(table)


def test_one_name_is_one_column():
    with pytest.raises(InputError, match="two columns of the name correct"):
        outcomes(correct=~RIGHT, groups={"correct": RIGHT})
    assert outcomes(y=[0, 1], prediction=[0, 1], groups={"y": [0, 1]}).facts.slices is not None


def test_units_that_are_asked_for_and_not_there_are_refused(tmp_path):
    with pytest.raises(InputError, match="units"):
        outcomes(OutcomeTable(correct=RIGHT), units=True)
    spaced = "".join(f"{i // 2}{' ' * (i % 2)},1\n" for i in range(40))
    assert outcomes(put(tmp_path, "unit,correct\n" + spaced), unit="unit").facts.n == 20


def test_losses_of_others_are_errors_where_those_of_the_model_are():
    """A half would count as neither right nor wrong, and the models as equal there."""
    with pytest.raises(InputError, match="old: expected losses 0 or 1"):
        OutcomeTable(correct=RIGHT, others={"old": np.full(300, 0.5)})


@each("name", ["Weight", "WEIGHTS", "sample_weight"])
def test_weights_are_refused_however_they_are_written(name, tmp_path):
    with pytest.raises(InputError, match="no weights"):
        outcomes(put(tmp_path, f"correct,{name}\n" + "1,2\n" * 30))


# -- against others ---------------------------------------------------------------------------


def test_a_gate_passes_all_that_chains_with_shares_of_their_own_pass():
    """p-values by Hoeffding and Bentkus, with the exact tail where losses are 0 or 1 (MAPIE)."""
    rng, grid, r = np.random.default_rng(0), tuple(np.arange(20) / 20), 0.1
    more = 0
    for chains in (1, 3, 4, 20):
        for _ in range(40):
            score = rng.random(300)
            losses = (rng.random(300) < 0.15 * (1.1 - score)) * 1.0
            question = LossQuestion(losses, True, -math.log(δ))
            gate = gate_of(question, question.c, score, grid, r, chains)
            n = np.array([(score >= point.threshold).sum() for point in gate.curve])
            k = np.array([losses[score >= point.threshold].sum() for point in gate.curve])
            small = stats.binom.cdf(k, n, r) < δ / chains * (1 - 1e-9)
            alone = np.zeros(20, bool)
            for j in range(chains):
                first = j * 20 // chains
                alone[first : first + np.argmin(np.append(small[first:], False))] = True
            passed = np.array([point.passed for point in gate.curve])
            assert (passed | ~alone).all(), (chains, passed, alone)
            more += int((passed & ~alone).sum())
    assert more > 50


# -- what is shown -----------------------------------------------------------------------------


def test_answers_are_shown_beside_a_number_that_says_nothing():
    y = np.arange(400) % 40 == 0
    certificate = outcomes(y=y, prediction=np.zeros(400, int) == 1, groups={"site": y})
    assert certificate.vacuous
    assert "site = true" in text(pages.ranking([certificate.to_json()], {}, ""))


def test_a_lower_end_is_rounded_down_and_the_chosen_candidate_is_named():
    candidates = {"good": np.arange(300) >= 40, "bad": np.arange(300) >= 80}
    certificate = outcomes(candidates=candidates, two_sided=True)
    for shown in (
        text(pages.document([certificate.to_json()])),
        text(pages.ranking([certificate.to_json()], {}, "")),
    ):
        ends = [float(x) for x in re.findall(r"^ +at[ _]least +([\d.]+)$", shown, re.M)]
        assert len(ends) == 1 and 0 < ends[0] <= certificate.facts.at_least
        assert "of 2 candidates the one with the least mean loss: good" in shown


def test_units_are_what_is_counted_and_a_card_has_the_answers():
    certificate = outcomes(correct=RIGHT, unit=np.arange(300) // 3, groups={"site": [0] * 300})
    item = certificate.to_json()
    for shown in (text(pages.document([item])), text(pages.ranking([item], {}, ""))):
        assert "100 units of 300 rows" in shown
    card = du.model_card(certificate, "model")
    assert "100 units of 300 rows" in card and "site = 0" in card and "with the data comp" in card


# -- exact tails at the edges ------------------------------------------------------------------


def tail(k: int, n: int, p: Fraction) -> Fraction:
    return sum((math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1)), Fraction(0))


def test_ends_are_outside_the_exact_ones_and_hardly_so():
    for c in (1e-3, 0.05, math.log(20), 50.0, 600.0):
        least = Fraction(math.exp(-c))
        for k, n in ((0, 1), (0, 2), (1, 2), (0, 50), (1, 50), (25, 50), (49, 50), (3, 60)):
            upper = binomial_upper(k, n, c)
            assert upper == 1 or tail(k, n, Fraction(upper)) < least * (1 + Fraction(1, 10**12))
            inner = Fraction(upper) - (1 - Fraction(upper)) / 10**9 - Fraction(1, 10**12)
            if upper < 1 and inner > Fraction(k, n):
                assert tail(k, n, inner) > least * (1 - Fraction(1, 10**9)), (k, n, c)
            lower = binomial_lower(n - k, n, c)
            assert lower <= 1 - upper and lower >= 1 - upper - 2.0**-52
        assert binomial_upper(7, 7, c) == 1 and binomial_lower(0, 7, c) == 0


def test_epochs_of_the_same_samples_are_no_more_draws():
    """Counted as rows, ten epochs of a hundred samples fail in about three of ten cases at .05."""
    correct, ids = np.repeat(np.arange(100) % 10 > 0, 10), np.repeat(np.arange(100), 10)
    with pytest.raises(InputError, match=r"rows, by their ids.*100 of them different.*--unit"):
        du.outcomes(correct=correct, id=ids)
    assert du.outcomes(correct=correct, unit=ids).facts.n == 100
    drawn = np.random.default_rng(0).integers(0, 500, 1000)
    assert du.outcomes(correct=correct, id=drawn).facts.repeated_ids == 1000 - len(np.unique(drawn))
