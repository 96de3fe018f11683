"""Orders: no fixed seed stands for a random one, and a seed that is drawn is kept and declared."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import dudley as du
from certificates.arounds import fit_linear, halves, make_linear
from certificates.cuts import Cuts, line
from certificates.posteriors import copies, learned
from certificates.test_texts import DESCENT, SMALL, TEXTS
from dudley.certificates import order
from dudley.certificates.beside import hold_out_beside
from dudley.certificates.data import Dataset
from dudley.certificates.fit.around_code import WordTraining
from dudley.certificates.fit.posterior import PosteriorTraining, fit
from dudley.certificates.methods.hold_out.interval import upper
from dudley.certificates.methods.hold_out.method import HoldOut
from dudley.certificates.methods.pac_bayes.method import PacBayes
from dudley.certificates.methods.pick_to_learn.checkpoint import recorded_seed
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.order import declared_seed, permutation, seed_declared
from dudley.certificates.predictor import Predictor
from dudley.certificates.texts.base import model_of
from dudley.certificates.texts.forms import TextPass
from dudley.certificates.texts.learner import TextLearner
from dudley.certificates.texts.one_pass import SEED, certify_texts
from dudley.certificates.training import certify_training
from dudley.certificates.verify import verify
from dudley.core.errors import InputError

δ = 0.05


class ErrsOnOnes(Predictor):
    """Wrong by a wide margin where the first number is 1, and right where it is 0."""

    sha256 = "0" * 64

    def outputs(self, X):
        return np.where(X[:, :1] == 1, -2.0, 2.0)


def sorted_errors(n: int, k: int) -> Dataset:
    """n different rows, all of class 1; the k on which `ErrsOnOnes` errs come last, sorted."""
    places = np.arange(n)
    X = np.column_stack([places >= n - k, places // 256, places % 256]).astype(np.uint8)
    return Dataset(X, np.ones(n, np.int64))


def worst(bounds: np.ndarray) -> float:
    """How often a bound for each number of errors fails at most, over all probabilities p.

    The probability that the bound is below p grows with p between two of the bounds or falls, with
    the numbers of errors that fail fixed; just above a bound, one more of them does.
    """
    n = len(bounds) - 1
    levels = (float(b) * (1 + 1e-9) for b in bounds if b < 0.999)
    return max(float(stats.binom.pmf(np.flatnonzero(bounds < p), n, p).sum()) for p in levels)


@pytest.mark.parametrize("n", [100, 200])
def test_a_hold_out_of_other_losses_holds_where_erring_rows_are_sorted_together(n):
    """Exact: all tables of n losses 0 and 1, each in the canonical order of its rows."""
    hold_out = HoldOut()
    bounds = np.array([
        hold_out(ErrsOnOnes(), sorted_errors(n, k), delta=δ, loss="ramp", margin=1.0).value
        for k in range(n + 1)
    ])  # fmt: skip
    assert 0.2 * δ < worst(bounds) <= δ


@pytest.mark.parametrize(("seed", "fails"), [(0, 0.054), (1, 0.226)])
def test_bets_that_learn_fail_in_the_order_of_one_seed(seed, fails):
    """What the hold-out did before: a fixed permutation of sorted rows is no sample."""
    n = 200
    rows = permutation(f"order of a hold-out {seed}", n)
    bounds = [upper("betting", (rows >= n - k) * 1.0, -math.log(δ)) for k in range(n + 1)]
    assert worst(np.array(bounds)) == pytest.approx(fails, abs=5e-4) and fails > δ


# -- one rule ---------------------------------------------------------------------------------


def test_a_seed_is_given_recorded_or_drawn():
    assert len({declared_seed(None) for _ in range(4)}) > 1
    assert declared_seed(7, recorded=8) == 7 and declared_seed(None, recorded=8) == 8
    for odd in (-1, 1 << 32):
        with pytest.raises(InputError, match="seed"):
            declared_seed(odd)


def test_runs_without_a_seed_differ_and_one_with_it_is_the_same_again():
    first, second = (certify_training(Cuts(), None, line(60)) for _ in range(2))
    seed = first.certificate.declared.seed
    assert seed != second.certificate.declared.seed
    again = certify_training(Cuts(), None, line(60), seed=seed)
    assert again.certificate.to_json() == first.certificate.to_json()
    besides = [hold_out_beside(Cuts(), line(60)) for _ in range(2)]
    assert besides[0].seed != besides[1].seed
    same = hold_out_beside(Cuts(), line(60), seed=besides[0].seed)
    assert same.to_json() == besides[0].to_json()


def test_the_seed_is_drawn_before_the_data_are_looked_at(monkeypatch):
    looks = []
    monkeypatch.setattr(order.secrets, "randbelow", lambda n: looks.append("drawn") or 1)
    monkeypatch.setattr(Dataset, "permuted", lambda *_: looks.append("looked") or line(60))
    monkeypatch.setattr(
        Dataset, "counts", property(lambda _: looks.append("looked") or np.ones(60, int))
    )
    certify_training(Cuts(), None, line(60), initial=20)
    assert looks[0] == "drawn" and "looked" in looks and looks.count("drawn") == 1


# -- what is declared -------------------------------------------------------------------------


def by_picks(**declared):
    return certify_training(Cuts(off=0.05), None, line(60), seed=41, **declared).certificate


def by_a_pass(tmp_path):
    texts = [f"unit {i}" for i in range(200)]
    with du.Prequential(tmp_path, order=UnitOrder.of(texts, 41), start=100) as log:
        log.before(None, np.zeros(200))
        return log.certificate(seed=41)


def around():
    word = WordTraining(D=4, L=3, steps=5)
    return du.certify_around(
        make_linear, fit_linear, halves(200), seed=41, initial=50, training=word,
        dimensions=4, levels=3,
    ).certificate  # fmt: skip


def by_a_learned_prior():
    data = copies(400)
    Q = learned(data, 100)
    return PacBayes()(Q, data, prior=Q.prior.to_json(), pairs=100)


def retrained():
    result = certify_training(Cuts(off=0.05), None, line(60), seed=41, initial=20)
    return du.certify_retrained(result, line(60), line(50, seed=1).X).certificate


NEED = {
    "a share for picks": (lambda _: by_picks(initial=20), 41),
    "a share around a start": (lambda _: around(), 41),
    "a share for a prior": (lambda _: by_a_learned_prior(), 0),
    "all data beside picks of a share": (lambda _: retrained(), 41),
    "beside": (lambda _: hold_out_beside(Cuts(), line(60), seed=41).best.certificate, 41),
    "one pass": (by_a_pass, 41),
}  # fmt: skip


@pytest.mark.parametrize("case", NEED)
def test_what_needs_an_order_declares_its_seed(case, tmp_path):
    make, seed = NEED[case]
    assert seed_declared(seed) in make(tmp_path).declarations


def test_picks_from_the_start_need_no_random_seed():
    assert not any("seed" in line for line in by_picks().declarations)
    X = np.random.default_rng(0).integers(0, 40, (60, 1))
    equal = Dataset(X, (X[:, 0] >= 12).astype(np.int64))
    certificate = certify_training(Cuts(), None, equal, seed=41).certificate
    assert not any("seed" in line for line in certificate.declarations)


def test_a_held_out_share_of_features_declares_its_seed_and_is_verified():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.standard_normal((200, 4)) + 20 * np.eye(4)[y]
    (row,) = du.certify_features(du.Encoded(X, "coordinates"), y, ("hold-out",), seed=41).rows
    assert seed_declared(41) in row.certificate.declarations
    assert verify(row.certificate.to_json(), row.model, row.data).holds


def test_a_prior_is_learned_from_what_a_fresh_seed_draws():
    data, plan = copies(40), PosteriorTraining(steps=1, batch=16)
    like = learned(data, 10).mean
    drawn = [fit(like.tables, like.encoding_table, data, 10, plan).prior for _ in range(2)]
    assert drawn[0].to_json()["split"] != drawn[1].to_json()["split"]


# -- a run that goes on -----------------------------------------------------------------------


@pytest.fixture
def drawn_seeds(monkeypatch):
    """The entropy of these tests: 41, 42, …, so that nothing here is by chance."""
    numbers = itertools.count(41)
    monkeypatch.setattr(order.secrets, "randbelow", lambda n: next(numbers))


def test_picks_that_go_on_keep_the_seed_that_was_drawn(tmp_path, drawn_seeds):
    def kill(progress):
        raise KeyboardInterrupt

    rule = {"initial": 20, "rounds": 6}
    with pytest.raises(KeyboardInterrupt):
        certify_training(Cuts(off=0.01), None, line(80), folder=tmp_path, say=kill, **rule)
    seed = recorded_seed(tmp_path)
    assert seed == 41
    made = certify_training(Cuts(off=0.01), None, line(80), folder=tmp_path, **rule)
    assert made.certificate.declared.seed == seed
    whole = certify_training(Cuts(off=0.01), None, line(80), seed=seed, **rule)
    assert made.certificate.to_json() == whole.certificate.to_json()


def test_a_pass_over_texts_that_goes_on_keeps_the_seed_that_was_drawn(
    tmp_path, monkeypatch, drawn_seeds
):
    model, plain, steps = model_of("gru", SMALL["gru"]), TextLearner.update, []

    def failing(learner, step, share):
        steps.append(step)
        if len(steps) == 3:
            raise KeyboardInterrupt
        plain(learner, step, share)

    monkeypatch.setattr(TextLearner, "update", failing)
    with pytest.raises(KeyboardInterrupt):
        certify_texts(model, TEXTS, tmp_path / "broken", TextPass(), DESCENT)
    seed = int((tmp_path / "broken" / SEED).read_text())
    assert seed == 41
    made = certify_texts(model, TEXTS, tmp_path / "broken", TextPass(), DESCENT).certificates
    whole = certify_texts(model, TEXTS, tmp_path / "whole", TextPass(seed=seed), DESCENT)
    assert not (tmp_path / "whole" / SEED).exists()
    for form, certificate in made.items():
        assert certificate.declared.seed == seed
        assert certificate.value == whole.certificates[form].value
        assert seed_declared(seed) in certificate.declarations
    (tmp_path / "broken" / SEED).write_text("a seed\n")
    with pytest.raises(InputError, match=SEED):
        certify_texts(model, TEXTS, tmp_path / "broken", TextPass(), DESCENT)
