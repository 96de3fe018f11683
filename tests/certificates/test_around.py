"""Certificates around a start: the number, the file, the start, and what is refused."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import dudley as du
from certificates.arounds import fit_linear, halves, linear_start, make_linear
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.around.coded import CodedAround
from dudley.certificates.around.draws import failing_shares
from dudley.certificates.around.flat import FlatAround
from dudley.certificates.around.posterior import AroundPosterior, load
from dudley.certificates.around.start import ModuleStart
from dudley.certificates.around.words import SparsePart, WordSpace
from dudley.certificates.data import Dataset
from dudley.certificates.fit.around_code import MOVERS, WordTraining
from dudley.certificates.fit.around_posterior import AroundPosteriorTraining
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.methods.occam_around.method import OccamAround, space_of
from dudley.certificates.methods.pac_bayes.divergence import gaussian, isotropic, squared_distance
from dudley.certificates.methods.pac_bayes_around.method import PacBayesAround
from dudley.certificates.methods.pick_to_learn.declared import PickDeclared
from dudley.certificates.methods.pick_to_learn.sample import PickSample
from dudley.certificates.pool import hypergeometric_upper
from dudley.certificates.shares import split_share
from dudley.certificates.verify import verify
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.watch import Watch

DATA = halves(600)
SMALL = WordTraining(D=4, L=3, steps=60)
QUICK = AroundPosteriorTraining(exponents=(0, 6), steps=20, draws=2, counted=200)


@pytest.fixture(scope="module")
def coded():
    return du.certify_around(
        make_linear, fit_linear, DATA, initial=100, tolerance=0.5, training=SMALL,
        dimensions=(4, 8), levels=3, seed=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def drawn():
    return du.certify_around(
        make_linear, fit_linear, DATA, method="pac-bayes", initial=100, training=QUICK,
        fine_tune=True, draws=200, examples=16, forms=("kl", "catoni"), relative="share", seed=0,
    )  # fmt: skip


def test_the_number_is_the_tail_on_the_rest_at_the_bits(coded):
    c = coded.certificate
    share, rest = split_share(DATA, 100, 0)
    assert share is not None and (share.n, rest.n) == (100, 500) == (100, c.facts.counted)
    margins = coded.model.decoded.margins(rest)
    assert c.facts.failures == int((margins <= 0.5).sum()) >= c.facts.errors
    nats = math.log(1 / 0.05) + coded.model.word.length * math.log(2)
    assert c.value == pytest.approx(binomial_upper(c.facts.failures, 500, nats), rel=1e-9)
    assert c.facts.bits == coded.model.word.length == c.to_json()["choices"]["code"]["bits"]


def test_the_share_is_that_of_pick_to_learn():
    """One rule for all shares: the same examples at the same seed."""
    share, _ = split_share(DATA, 100, 7)
    sample = PickSample.of(DATA, PickDeclared(seed=7, initial=100))
    assert share is not None and sample.share is not None
    assert share.sha256 == sample.share.sha256


def test_the_certificate_is_verified_from_start_and_data_alone(coded):
    file = coded.certificate.to_json()
    assert du.verify_around(file, coded.start, DATA).holds
    assert du.verify_around(file, coded.start.predictor, DATA).holds
    other = linear_start([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    assert not du.verify_around(file, other, DATA).holds
    assert not du.verify_around(file, coded.start, halves(600, seed=1)).holds


def test_scales_that_a_file_holds_are_declared_to_come_from_the_share(drawn, coded):
    """They enter the divergence, and no verifier can tell on what they were measured."""
    assert any("measured on the share alone" in line for line in drawn.certificate.declarations)
    assert not any("measured" in line for line in coded.certificate.declarations)


def forged(file: dict, path: str, value: object) -> dict:
    """The file with one field changed."""
    table = changed = copy.deepcopy(file)
    *folders, last = path.split(".")
    for folder in folders:
        table = table[int(folder) if folder.isdigit() else folder]
    assert table[last] != value
    table[last] = value
    return changed


FORGERIES = {
    "value": 0.001, "facts.bits": 1, "facts.failures": 90, "facts.counted": 600,
    "declared.initial": 0, "declared.seed": 1, "declared.tolerance": 0.0, "declared.among": 3,
    "declared.delta": 0.1,  "facts.initial": 0, "prices.0.nats": 0.5,
    "model.start": "0" * 64, "facts.start_sha256": "0" * 64,
}  # fmt: skip


def test_a_file_with_another_number_is_refused(coded):
    """Bits that are not counted, a share that is, a tolerance of nothing: each is seen."""
    file = coded.certificate.to_json()
    for path, value in FORGERIES.items():
        assert not du.verify_around(forged(file, path, value), coded.start, DATA).holds, path


def test_a_tolerance_counts_what_lies_near_a_tie():
    start = linear_start([[-1.0, 0.0], [1.0, 0.0]])
    model = CodedAround(WordSpace(start), WordSpace(start).write("start"))
    none, wide = (
        OccamAround()(model, DATA, start=start.sha256, tolerance=τ).facts for τ in (0.0, 0.2)
    )
    assert none.failures == 0 < wide.failures
    assert wide.failures == int((2 * np.abs(DATA.X[:, 0]) <= 0.2).sum()) and wide.errors == 0


def test_among_and_parts_are_paid_for():
    start = linear_start([[-1.0, 0.0], [1.0, 0.0]])
    model = CodedAround(WordSpace(start), WordSpace(start).write("start"))
    alone = OccamAround()(model, DATA, start=start.sha256)
    several = OccamAround()(model, DATA, start=start.sha256, among=3)
    assert several.bill.nats == pytest.approx(alone.bill.nats + math.log(3))
    part = (SparsePart("plain", 0.5, np.array([[0, 1], [0, 0]])),)
    lengths = [
        WordSpace(start, parts).write("sparse", "*", part).length
        for parts in (("*",), ("*", "w*"), ("*", "w*", "we*", "wei*"))
    ]
    assert lengths[0] + 1 <= lengths[1] + 1 <= lengths[2] and lengths[2] >= lengths[0] + 1


def test_a_pool_is_counted_in_whole_items():
    """Failures of the share are counted; of the items that were not drawn, at most so many fail."""
    start = linear_start([[-1.0, 0.3], [1.0, -0.3]])
    model = CodedAround(WordSpace(start), WordSpace(start).write("start"))
    c = OccamAround()(model, DATA, initial=100, pool=2000)
    share, rest = split_share(DATA, 100, 0)
    assert share is not None and c.facts.share_failures == int((model.margins(share) <= 0).sum())
    nats = -math.log(0.05) + 2 * math.log(2) + 1e-12
    most = hypergeometric_upper(c.facts.failures, rest.n, 1900, nats)
    assert c.value == pytest.approx((most + c.facts.share_failures) / 2000, rel=1e-12)
    assert "2000 items of the pool" in c.quantity and not c.vacuous
    whole = OccamAround()(model, DATA, initial=100, pool=600)
    failing = int((model.margins(DATA) <= 0).sum())
    assert whole.value == pytest.approx(failing / 600)
    with pytest.raises(InputError, match="at least the 600"):
        OccamAround()(model, DATA, initial=100, pool=599)


def test_a_start_in_the_file_of_a_named_training_is_read(tmp_path):
    """What `dudley verify` does: the word in the certificate, the start in its file."""
    from dudley.certificates.trainings import files
    from dudley.certificates.trainings.encoder import TokenEncoder

    training = TokenEncoder(classes=2, length=6, layers=1, d=8, heads=2, hidden=8)
    X = np.random.default_rng(0).integers(0, 2, (400, 6))
    torch.manual_seed(0)
    predictor = ModulePredictor(training.make_model().eval())
    result = du.certify_around(
        ModuleStart(predictor), data=(X, X[:, 0]), training=WordTraining(D=4, L=3, steps=10),
        dimensions=4, levels=3, seed=0,
    )  # fmt: skip
    files.save(tmp_path / "start.safetensors", predictor, training)
    model = OccamAround().read_model(tmp_path / "start.safetensors")
    assert verify(result.certificate.to_json(), model, Dataset(X, X[:, 0])).holds
    posterior = du.certify_around(
        ModuleStart(predictor), data=(X, X[:, 0]), method="pac-bayes", draws=5, examples=4,
        training=AroundPosteriorTraining(exponents=(0,), steps=2, draws=1), seed=0,
    )  # fmt: skip
    posterior.model.save(tmp_path / "posterior.safetensors")
    model = PacBayesAround().read_model(tmp_path / "posterior.safetensors")
    assert verify(posterior.certificate.to_json(), model, Dataset(X, X[:, 0])).holds


def test_a_start_that_was_not_declared_is_refused():
    start = linear_start([[-1.0, 0.0], [1.0, 0.0]])
    model = CodedAround(WordSpace(start), WordSpace(start).write("start"))
    with pytest.raises(InputError, match="declared is nothing"):
        OccamAround()(model, DATA)
    with pytest.raises(InputError, match="that a share trained"):
        OccamAround()(model, DATA, initial=100, start=start.sha256)
    with pytest.raises(InputError, match="fewer than the 600"):
        OccamAround()(model, DATA, initial=600)


def test_a_word_of_another_model_is_refused():
    start = linear_start([[-1.0, 0.0], [1.0, 0.0]])
    space = space_of(start, OccamAround().read_declared({"start": start.sha256}))
    part = (SparsePart("plain", 0.5, np.array([[0, 1], [0, 0]])),)
    model, other = (
        CodedAround(space, w) for w in (space.write("start"), space.write("sparse", "*", part))
    )
    choices = OccamAround().read_choices({"code": other.word.to_json()})
    with pytest.raises(InputError, match="decodes to the model"):
        OccamAround().made(
            model, DATA, OccamAround().read_declared({"start": start.sha256}), choices
        )


@pytest.mark.parametrize("kind", sorted(MOVERS))
def test_what_training_sees_is_what_the_word_decodes_to(kind):
    """The quantised point that the loss is computed at, and the model of its word, agree."""
    start = linear_start([[0.5, -0.25], [0.25, 1.0]], [0.5, -0.5])
    space = WordSpace(start, ("*",), 0, (4,), (3,))
    flat = FlatAround(start, start.names("*"), DATA.X, DATA.y)
    mover = MOVERS[kind](flat, space, WordTraining(kind=kind, D=4, L=3))
    with torch.no_grad():
        for z in mover.z:
            z += torch.linspace(-1, 2, z.numel()).reshape(z.shape)
    mover.quantise()
    arrays = flat.arrays(mover.moved())
    decoded = space.decode(space.write(kind, "*", mover.description()))
    moved = [
        name for name in decoded if not np.array_equal(decoded[name], start.arrays((name,))[name])
    ]
    assert moved
    for name, θ in decoded.items():
        assert np.allclose(arrays[name], θ, rtol=1e-6, atol=1e-7), name


@pytest.mark.parametrize("kind", sorted(MOVERS))
def test_words_of_every_kind_learn(kind):
    """A start that says nothing is turned into one that is right, by a few bits."""
    start = linear_start([[0.1, -0.1], [-0.1, 0.2]], [0.1, -0.1])
    result = du.certify_around(
        start, data=halves(3000), training=WordTraining(kind=kind, D=16, L=3, steps=120),
        dimensions=(16,), levels=(3,), seed=0,
    )  # fmt: skip
    facts = result.certificate.facts
    assert facts.code == kind and facts.bits < 60
    assert facts.failures < 0.12 * 3000 < facts.start_failures
    assert result.certificate.value < 0.15


def test_the_watch_leaves_words_out_whole():
    start = linear_start([[-1.0, 0.0], [1.0, 0.0]])
    ticks = iter(range(1000))
    watch = Watch(3.0, clock=lambda: float(next(ticks)))
    result = du.certify_around(
        start, data=DATA, training=(SMALL, SMALL), dimensions=(4,), levels=3, watch=watch, seed=0
    )
    assert result.certificate.facts.code == "start" and watch.left_out


# -- posteriors ---------------------------------------------------------------------------------


def test_the_divergence_of_one_scale_a_tensor_is_that_of_all_coordinates():
    rng = np.random.default_rng(0)
    for p in (1, 7, 300):
        w, w0 = rng.standard_normal((2, p))
        σ, s = np.exp(rng.standard_normal(2))
        whole = gaussian(w, np.full(p, σ), w0, np.full(p, s))
        short = isotropic(p, squared_distance(w, w0), float(σ), float(s))
        assert short == pytest.approx(whole, rel=1e-12)
        exact = sum((a - b) ** 2 for a, b in zip(w, w0, strict=True))
        assert squared_distance(w, w0) >= exact


def test_a_posterior_is_certified_and_verified(drawn, tmp_path):
    c, Q = drawn.certificate, drawn.model
    assert c.facts.counted == 500 and 0 < c.value < 0.3
    assert c.value >= c.facts.mean_failure_at_most >= c.facts.mean_failure
    Q.save(tmp_path / "posterior.safetensors")
    again = load(tmp_path / "posterior.safetensors", drawn.start)
    assert again.sha256 == Q.sha256
    file = c.to_json()
    assert du.verify_around(file, drawn.start, DATA, again).holds
    for path, value in {
        "value": 0.01, "declared.initial": 0, "declared.share": 0.5, "declared.draws": 300,
        "declared.scale": 1.0, "facts.divergence": 0.0, "facts.mean_failure_at_most": 0.0,
        "declared.relative": "size", "declared.grid": "none", "declared.tolerance": 0.5,
    }.items():  # fmt: skip
        assert not du.verify_around(forged(file, path, value), drawn.start, DATA, again).holds, path
    other = linear_start([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    with pytest.raises(InputError, match="one around the start"):
        load(tmp_path / "posterior.safetensors", other)
    with pytest.raises(InputError, match="the posterior of this certificate"):
        du.verify_around(file, drawn.start, DATA)


def test_draws_are_a_function_of_posterior_and_data(drawn):
    Q = drawn.model
    _, rest = split_share(DATA, 100, 0)
    first = failing_shares(Q, rest, 50, 16, 0.0)
    again = failing_shares(Q, Dataset(rest.X[::-1].copy(), rest.y[::-1].copy()), 50, 16, 0.0)
    assert np.array_equal(first, again)
    wide = AroundPosterior(Q.start, Q.part, Q.mean, {n: 2 * σ for n, σ in Q.sigma.items()}, "one")
    assert not np.array_equal(first, failing_shares(wide, rest, 50, 16, 0.0))
    assert ((16 * first) % 1 == 0).all()
    every = failing_shares(Q, rest, 50, 500, 0.0)
    assert ((500 * every).round(9) % 1 == 0).all()
    assert abs(first.mean() - every.mean()) < 5 * math.sqrt(0.25 / 800)


def test_the_mean_of_draws_is_the_known_one():
    """One weight on a line: P[sign(w) is wrong] = Φ(−θ/σ)."""
    start = linear_start([[1.0]])
    Q = AroundPosterior(start, "*", {"weight": np.array([[0.5]])}, {"weight": 0.5}, "one")
    data = Dataset(np.linspace(0.5, 1, 40)[:, None], np.ones(40, np.int64))
    shares = failing_shares(Q, Dataset(data.X.astype(np.float32), data.y), 400, 4, 0.0)
    truth = 0.5 * math.erfc(1 / math.sqrt(2))
    assert abs(shares.mean() - truth) < 5 * math.sqrt(truth / 400)


def test_scales_that_the_counted_examples_decided_are_refused():
    with pytest.raises(InputError, match="scales that no example decided"):
        PacBayesAround().read_declared({"relative": "share"})
    start = linear_start([[1.0]])
    θ = {"weight": np.array([[1.0]])}
    with pytest.raises(InputError, match="numbers for the kind share"):
        AroundPosterior(start, "*", θ, {"weight": 0.1}, "share")
    with pytest.raises(InputError, match="σ of weight"):
        AroundPosterior(start, "*", θ, {"weight": 0.0})
    with pytest.raises(InputError, match="those declared, size"):
        Q = AroundPosterior(start, "*", θ, {"weight": 0.1}, "one")
        PacBayesAround()(Q, halves(60, 1), start=start.sha256)


def test_a_hold_out_of_the_same_examples_stands_beside(coded, drawn):
    for result, words in ((coded, "the word costs"), (drawn, "the divergence costs")):
        beside = result.beside(DATA)
        assert [split.trained for split in beside.splits] == [540, 480, 360]
        c = math.log(3 / 0.05)
        for split in beside.splits:
            facts = split.certificate.facts
            assert split.value == pytest.approx(binomial_upper(facts.errors, facts.n, c))
        assert words in beside.against(result.certificate)
    alone = du.certify_around(
        coded.start, data=DATA, training=SMALL, dimensions=4, levels=3, seed=0
    )
    with pytest.raises(InputError, match="a training to run on a part"):
        alone.beside(DATA)


def test_bad_arguments_get_a_sentence():
    for message, arguments in {
        "occam or pac-bayes": {"method": "codes"},
        "a function that trains on the share": {"initial": 100, "fit": None},
        "one of the declared parts": {"training": WordTraining(part="bias")},
        "D and L": {"training": WordTraining(D=7)},
        "WordTraining": {"training": AroundPosteriorTraining()},
        "a factory of a torch module": {"make_model": 3},
    }.items():
        known = {"make_model": make_linear, "fit": fit_linear, "data": DATA} | arguments
        with pytest.raises(InputError, match=message):
            du.certify_around(**known)


def test_other_models_are_refused_by_name():
    start = linear_start([[-1.0, 0.0], [1.0, 0.0]])
    for unit in (OccamAround(), PacBayesAround()):
        with pytest.raises(InputError, match="certify_around makes one"):
            unit(start.predictor, DATA, start=start.sha256)
