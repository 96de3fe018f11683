"""Selection: the price of a choice, its files, and what is refused."""

import itertools
import json
import math

import numpy as np
import pytest

import dudley as du
from certificates.language_toys import random_weights
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.corpus import Alphabet
from dudley.certificates.methods.language.gpt import Gpt
from dudley.certificates.methods.selection.candidates import (
    CandidateFactor,
    CandidateList,
    plain_list,
    read_list,
)
from dudley.certificates.methods.selection.method import Selection
from dudley.certificates.methods.selection.outcomes import Outcomes, read_outcomes
from dudley.certificates.methods.selection.prior import (
    CodedTextModel,
    TextModel,
    expect_kraft,
    text_prior,
    weights_prior,
)
from dudley.certificates.possible import expect_possible
from dudley.certificates.predictor import Predictor
from dudley.certificates.verify import parts, verify
from dudley.core.errors import InputError

GRID = tuple(f"{t:g}" for t in np.linspace(-1, 2, 13))
LISTED = CandidateList((CandidateFactor("template", ("a", "b", "c")), CandidateFactor("cut", GRID)))


@pytest.fixture(scope="module")
def scored() -> Outcomes:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 250)
    return Outcomes(y, scores=y[:, None] + rng.standard_normal((250, 3)) * [0.4, 1, 2])


def every_prediction(outcomes: Outcomes) -> np.ndarray:
    """(n, candidates), by the definition of a threshold."""
    cuts = np.array([float(cut) for cut in GRID])
    assert outcomes.scores is not None
    whole = outcomes.scores[:, :, None] > cuts
    return whole.reshape(outcomes.n, -1).astype(np.int64)


def test_the_number_is_clopper_and_pearsons_at_the_candidates_share():
    y = np.arange(200) % 3
    result = du.certify_selection(["x", "y"], np.stack([0 * y, y], axis=1), y, delta=0.1)
    assert result.index == 1 and result.certificate.facts.errors == 0
    assert result.certificate.value == pytest.approx(1 - (0.1 / 2) ** (1 / 200), rel=1e-12)
    assert result.certificate.data["classes"] == 3


@pytest.mark.parametrize("priced", [False, True])
def test_the_chosen_one_has_the_smallest_bound_of_all(scored, priced):
    prices = weights_prior([2.0**-i for i in range(13)]) if priced else None
    listed = CandidateList((LISTED.factors[0], CandidateFactor("cut", GRID, prices)))
    result = du.certify_selection(listed, scored.scores, scored.y)
    errors = (every_prediction(scored) != scored.y[:, None]).sum(0)
    bounds = [
        binomial_upper(int(k), scored.n, math.log(20) + listed.nats(i))
        for i, k in enumerate(errors)
    ]
    assert result.certificate.value == pytest.approx(min(bounds), rel=1e-9)
    assert result.index == int(np.argmin(bounds))


def test_errors_at_thresholds_are_those_of_the_predictions(scored):
    whole = every_prediction(scored)
    assert (scored.errors(LISTED) == (whole != scored.y[:, None]).sum(0)).all()
    for i in (0, 7, 38):
        assert (scored.column(LISTED, i) == whole[:, i]).all()
    tie = Outcomes(np.array([1, 0]), scores=np.array([[0.5], [0.5]]))
    at_tie = CandidateList((CandidateFactor("cut", ("0.5",)),))
    assert tie.column(at_tie, 0).tolist() == [0, 0] and tie.errors(at_tie).tolist() == [1]


def test_a_product_costs_the_sum_and_names_every_factor():
    assert LISTED.count == 39 and LISTED.entry(14) == ("b", GRID[1])
    assert LISTED.nats(14) == pytest.approx(math.log(39)) and LISTED.nats(14) >= math.log(39)
    assert math.fsum(math.exp(-LISTED.nats(i)) for i in range(39)) <= 1


@pytest.mark.parametrize("weights", [[1], [1, 1, 1], [0.1] * 10, [3, 1e-30], list(range(1, 400))])
def test_weights_always_fit_into_one(weights):
    nats = weights_prior(weights)
    expect_kraft("prior", nats)
    total = sum(weights)
    exact = [-math.log(w / total) for w in weights]
    assert nats == pytest.approx(exact, abs=1e-10)


def test_prices_that_are_too_low_are_refused():
    with pytest.raises(InputError, match="sum to at most 1"):
        CandidateFactor("prompt", ("a", "b"), (0.5, 0.5))
    almost = math.nextafter(math.log(2), 0)  # a last digit too cheap
    with pytest.raises(InputError, match="sum to at most 1"):
        CandidateFactor("prompt", ("a", "b"), (almost, almost))


# -- a language model as the prior ------------------


GPT = Gpt(V=4, T=5, d=4, heads=2, window=2, width=8)
ALPHABET = Alphabet("ab")


@pytest.fixture(scope="module")
def spoken() -> CodedTextModel:
    weights = {k: np.rint(4 * W) / 4 + 0.0 for k, W in random_weights(GPT).items()}
    return CodedTextModel(Coded.of(GPT, weights), ALPHABET)


def test_all_texts_of_a_language_model_fit_into_one(spoken):
    texts = ["".join(t) for k in range(5) for t in itertools.product("ab", repeat=k)]
    nats = text_prior(spoken, texts)
    expect_kraft("prompts", nats)
    assert 0.01 < sum(math.exp(-x) for x in nats) < 1
    assert len({round(x, 6) for x in nats}) > 5


def test_the_price_of_a_text_is_that_of_its_symbols_and_its_end(spoken):
    z = GPT.logits(spoken.model.weights, np.array([[1, 2, 0, 0, 0]]))[:, :3, 0]
    logs = z - np.log(np.exp(z).sum(0))
    expected = logs[1, 0] + logs[2, 1] + logs[0, 2]
    assert spoken.log_probability("ab") == pytest.approx(expected, rel=1e-9)


def test_texts_that_would_share_a_probability_are_refused(spoken):
    for text in ("c", "A", "abab" + "a"):
        with pytest.raises(InputError, match="fewer than 5 signs"):
            spoken.log_probability(text)


def test_any_object_with_log_probabilities_may_price_prompts():
    class Coin(TextModel):
        @property
        def sha256(self):
            return "c" * 64

        def log_probability(self, text):
            return (len(text) + 1) * math.log(1 / 3)

    prompts = ("a", "b", "ab")
    listed = plain_list(prompts, text_prior(Coin(), prompts), f"language model {Coin().sha256}")
    y = np.arange(90) % 2
    wrong = np.arange(90) < 2
    result = du.certify_selection(listed, np.stack([y ^ wrong, 1 - y, y], axis=1), y)
    assert result.entry == ("ab",) and result.certificate.facts.price_bits == pytest.approx(
        3 * math.log2(3)
    )
    assert any("c" * 64 in line for line in result.certificate.declarations)


# -- files and verification ------------------


def test_a_folder_is_verified_from_the_chosen_predictions_alone(scored, tmp_path):
    result = du.certify_selection(LISTED, scored.scores, scored.y, delta=0.1)
    result.save(tmp_path)
    file = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    expect_possible(file)
    model, data = parts(file, tmp_path / "candidates.json", tmp_path / "outcomes.npz")
    assert data.prediction is not None and data.scores is None
    assert verify(file, model, data).holds and verify(file, LISTED, scored).holds
    whole = Outcomes(scored.y, predictions=every_prediction(scored))
    assert verify(file, LISTED, whole).holds


def test_the_order_of_the_examples_does_not_matter(scored):
    backwards = Outcomes(scored.y[::-1].copy(), scores=scored.scores[::-1].copy())
    declared = {"candidates": LISTED.sha256}
    records = [Selection()(LISTED, o, **declared).to_json() for o in (scored, backwards)]
    assert records[0] == records[1]


def test_what_was_changed_afterwards_is_seen(scored):
    result = du.certify_selection(LISTED, scored.scores, scored.y)
    file, i = result.certificate.to_json(), result.index
    assert not verify(file | {"value": file["value"] * 0.99}, LISTED, scored).holds
    shorter = CandidateList((LISTED.factors[0],))
    alone = scored.of_chosen(LISTED, i)
    assert not verify(file, shorter, alone).holds
    cheap = file | {"declared": file["declared"] | {"candidates": shorter.sha256}}
    assert not verify(cheap, shorter, alone).holds
    assert not verify(file | {"choices": {"candidate": i + 1}}, LISTED, scored).holds
    assert not verify(file | {"choices": {"candidate": 10**9}}, LISTED, scored).holds
    assert alone.prediction is not None
    better = Outcomes(scored.y, prediction=scored.y)
    assert not verify(file, LISTED, better).holds


def test_the_list_must_be_the_declared_one(scored):
    with pytest.raises(InputError, match="declare the hash of the list"):
        Selection()(LISTED, scored)
    with pytest.raises(InputError, match="declare the hash of the list"):
        Selection()(LISTED, scored, candidates=plain_list(["a"]).sha256)


def test_one_prediction_cannot_be_chosen_from(scored):
    alone = scored.of_chosen(LISTED, 3)
    with pytest.raises(InputError, match="predictions of every candidate"):
        Selection()(LISTED, alone, candidates=LISTED.sha256)


# -- predictors and refusals ------------------


def test_predictors_and_functions_are_run_and_ties_are_errors():
    class Logits(Predictor):
        @property
        def sha256(self):
            return "0" * 64

        def outputs(self, X):
            return np.stack([X[:, 0], 0.0 * X[:, 0], -X[:, 0]], axis=1).astype(float)

    X = np.stack([np.arange(60) % 2, np.arange(60)], axis=1)
    y = np.zeros(60, np.int64)
    result = du.certify_selection(["logits", "last"], [Logits(), lambda X: 0 * X[:, 1]], y, X=X)
    assert result.outcomes.errors(result.candidates).tolist() == [30, 0]
    assert result.entry == ("last",)


def test_copies_of_examples_are_refused_where_they_are_shown():
    X, y = np.repeat(np.arange(60.0).reshape(30, 2), 3, axis=0).astype(np.int64), np.zeros(90, int)
    with pytest.raises(InputError, match="independent"):
        du.certify_selection(["zero"], [lambda X: 0 * X[:, 0]], y, X=X)
    floats = np.arange(60.0).reshape(30, 2)
    floats[1] = floats[0]
    zero, y = [lambda X: np.zeros(len(X), int)], np.zeros(30, int)
    with pytest.raises(InputError, match="1 that equal an earlier one"):
        du.certify_selection(["zero"], zero, y, X=floats)
    assert du.certify_selection(["zero"], zero, y, X=floats, repeats=True).index == 0


Y = np.array([0, 1, 1])
BAD = {
    "names twice": (lambda: plain_list(["a", "a"]), "differ"),
    "no names": (lambda: plain_list([]), "at least one"),
    "a price for none": (lambda: CandidateFactor("f", ("a", "b"), (1.0,)), "one an entry"),
    "a price of nothing": (lambda: CandidateFactor("f", ("a",), (math.nan,)), "nats"),
    "a threshold that is a word": (
        lambda: Outcomes(Y, scores=np.zeros((3, 1))).errors(plain_list(["high"])),
        "numbers",
    ),
    "too many": (
        lambda: CandidateList(
            tuple(CandidateFactor(str(i), tuple(map(str, range(300)))) for i in range(3))
        ),
        "at most",
    ),
    "two forms": (
        lambda: Outcomes(Y, prediction=Y, predictions=Y[:, None]),
        "prediction and predictions",
    ),
    "no form": (lambda: Outcomes(Y), "none of them"),
    "not a number": (lambda: Outcomes(Y, scores=np.full((3, 1), np.nan)), "finite"),
    "scores of three classes": (lambda: Outcomes(Y + 1, scores=np.zeros((3, 1))), "0 and 1"),
    "columns": (
        lambda: Outcomes(Y, predictions=np.zeros((3, 2), int)).errors(plain_list(["a"])),
        "1 columns",
    ),
    "units": (lambda: Outcomes(Y, prediction=Y, group=np.array([0, 0, 1])), "independent units"),
    "labels": (lambda: Outcomes(Y - 1, prediction=Y), "class labels"),
    "floats for classes": (lambda: Outcomes(Y, prediction=Y * 1.0), "integers"),
    "a weight of zero": (lambda: weights_prior([1, 0]), "numbers > 0"),
    "functions without examples": (
        lambda: du.certify_selection(["a"], [lambda X: X], Y),
        "the examples",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_what_was_expected(case):
    call, words = BAD[case]
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize(
    "table",
    [{}, {"schema": "dudley.candidates/1", "factors": []}, [1], {"factors": 1}],
    ids=repr,
)
def test_a_file_that_is_no_list_is_refused(table, tmp_path):
    (tmp_path / "list.json").write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(InputError):
        read_list(tmp_path / "list.json")


@pytest.mark.parametrize(
    "part",
    [1, {"entries": 3}, {"entries": ["a"]}, {"name": "f", "entries": [1]},
     {"name": "f", "entries": [["a"]]}, {"name": 3, "entries": ["a"]},
     {"name": "f", "entries": ["a"], "prices": "x"},
     {"name": "f", "entries": ["a"], "prices": [[]]},
     {"name": "f", "entries": ["a"], "prices": [-1.0]}, {"name": "f", "entries": ["a"], "odd": 1}],
    ids=repr,
)  # fmt: skip
def test_a_factor_of_another_shape_is_refused(part):
    with pytest.raises(InputError):
        CandidateList.from_json({"schema": "dudley.candidates/1", "factors": [part]})


def test_a_file_without_labels_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", predictions=np.zeros((3, 1), int))
    with pytest.raises(InputError, match="an array y"):
        read_outcomes(tmp_path / "x.npz")
