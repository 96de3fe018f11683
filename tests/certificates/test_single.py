"""Outputs that depend on the batch of an example, or on chance: no method certifies them."""

from __future__ import annotations

import numpy as np
import pytest

from certificates.arounds import fit_linear, halves
from dudley.certificates.around.posterior import AroundPosterior
from dudley.certificates.around.start import ModuleStart
from dudley.certificates.base import method_named
from dudley.certificates.encoded import encode
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.methods.pac_bayes_around.declared import PacBayesAroundDeclared
from dudley.certificates.methods.pac_bayes_around.method import PacBayesAround
from dudley.certificates.methods.retrained.declared import RetrainedDeclared
from dudley.certificates.methods.retrained.method import Retrained
from dudley.certificates.methods.retrained.pair import RetrainedData, RetrainedPair
from dudley.certificates.predictor import Predictor
from dudley.certificates.single import expect_single
from dudley.certificates.training import certify_training
from dudley.core.errors import InputError

torch = pytest.importorskip("torch")

DATA = halves(300)


class Centred(torch.nn.Module):
    """Reads each example relative to the mean of its batch."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, X):
        return self.linear(X - X.mean(0))


class AlwaysDropping(Centred):
    """Drops entries in evaluation mode, too."""

    def forward(self, X):
        return self.linear(torch.nn.functional.dropout(X, 0.5))


class ByRank(Predictor):
    """Says 1 of the upper half of a batch: as an estimator may, that scales what it is given."""

    @property
    def sha256(self) -> str:
        return "0" * 64

    def outputs(self, X):
        above = X[:, 0] > np.median(X[:, 0])
        return np.stack([~above, above], axis=1).astype(float)


class Confident(Predictor):
    """Large outputs with the rounding of another order of addition, by the size of the batch."""

    @property
    def sha256(self) -> str:
        return "1" * 64

    def outputs(self, X):
        f = 1e4 * X[:, :1].astype(float)
        return np.hstack([-f, f]) * (1 + 1e-5 * len(X))


@pytest.mark.parametrize("make_model", [Centred, AlwaysDropping])
def test_a_forward_pass_that_reads_its_batch_or_draws_is_not_certified(make_model):
    with pytest.raises(InputError, match="outputs of the model: expected those of each example by"):
        certify_training(make_model, fit_linear, DATA, batches=4, rounds=2)


def test_no_method_certifies_it():
    torch.manual_seed(0)
    for model in (ModulePredictor(Centred().eval()), ByRank()):
        with pytest.raises(InputError, match="by itself"):
            method_named("hold-out")(model, DATA)


def test_neither_of_two_models_nor_a_drawn_one_may_read_its_batch():
    torch.manual_seed(0)
    centred, plain = (ModulePredictor(m.eval()) for m in (Centred(), torch.nn.Linear(2, 2)))
    data = RetrainedData(DATA, halves(50, seed=1).X)
    for pair in (RetrainedPair(centred, plain), RetrainedPair(plain, centred)):
        with pytest.raises(InputError, match="by itself"):
            Retrained().expect_independent(pair, data, RetrainedDeclared())
    start = ModuleStart(centred)
    names = start.names("*")
    Q = AroundPosterior(start, "*", start.arrays(names), dict.fromkeys(names, 0.1))
    with pytest.raises(InputError, match="by itself"):
        PacBayesAround().made(Q, DATA, PacBayesAroundDeclared(start=start.sha256))


def test_an_encoder_may_not_read_its_batch_either():
    torch.manual_seed(0)
    with pytest.raises(InputError, match="features of the encoder: expected those of each example"):
        encode(Centred().eval(), DATA.X)
    rows = torch.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True).eval()
    codes = np.random.default_rng(0).standard_normal((20, 3, 4), dtype=np.float32)
    assert encode(rows, codes).features.shape == (20, 4)


def test_rounding_and_undefined_outputs_are_no_reason_to_refuse():
    expect_single(Confident().outputs, DATA.X)

    class Undefined(Predictor):
        @property
        def sha256(self) -> str:
            return "2" * 64

        def outputs(self, X):
            return np.full((len(X), 2), np.nan)

    expect_single(Undefined().outputs, DATA.X)
    expect_single(ByRank().outputs, DATA.X[:1])
    expect_single(ModulePredictor(torch.nn.Linear(2, 2).eval()).outputs, DATA.X)


def test_copies_of_one_example_hide_nothing():
    X = np.zeros((200, 2), np.float32)
    X[::10] = np.arange(20)[:, None]
    with pytest.raises(InputError, match="by itself"):
        expect_single(ByRank().outputs, X)
