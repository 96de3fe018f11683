"""Heads on frozen features: what is declared, what is paid, and what is refused."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import dudley as du
from certificates.validity import allowed
from dudley.certificates.features import METHODS_OF_FEATURES
from dudley.certificates.verify import verify
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing

FAST = ("hold-out", "pick-to-learn", "selection")
VECTORS = [np.eye(4)[[1, 0, 2]], np.eye(4)[:3], np.eye(4)[[2, 1, 0]]]


def clusters(n: int, distance: float = 20.0, seed: int = 0):
    """Features around three directions of R^4, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return du.Encoded(rng.standard_normal((n, 4)) + distance * np.eye(4)[y], "coordinates"), y


@pytest.fixture(scope="module")
def ranked():
    rule = {"pick-to-learn": {"batches": (8,), "rounds": (2,)}}
    return du.certify_features(*clusters(300), FAST, prototypes=VECTORS, declared=rule, seed=0)


def test_every_method_is_paid_for_declares_the_encoder_and_is_verified(ranked):
    assert {row.method for row in ranked.rows} == set(FAST) and not ranked.refused
    for row in ranked.rows:
        certificate = row.certificate
        (paid,) = (price.nats for price in certificate.prices if price.name == "method")
        assert paid >= math.log(3)
        assert "coordinates" in certificate.declared.population
        assert "has not seen the sample" in certificate.declared.population
        assert "classes, a number fixed before" in certificate.declared.population
        assert certificate.data["classes"] == 3 and not certificate.vacuous
        about = row.model if row.method != "selection" else du.CandidateList((
            du.CandidateFactor("candidate", ("prototypes 0", "prototypes 1", "prototypes 2")),
        ))  # fmt: skip
        assert verify(certificate.to_json(), about, row.data).holds


def test_the_best_prototypes_are_selected_and_the_hold_out_sees_its_share_alone(ranked):
    rows = {row.method: row for row in ranked.rows}
    assert (rows["selection"].model == VECTORS[1]).all()
    assert rows["hold-out"].data.n == 75 and rows["pick-to-learn"].data.n == 300
    values = [row.certificate.value for row in ranked.rows]
    assert ranked.best.certificate.value == min(values) and "selection" in str(ranked)


def test_a_printed_number_is_not_below_its_certificate(ranked):
    shown = [float(line.split()[1]) for line in str(ranked).splitlines()]
    assert len(shown) == len(ranked.rows) == 3
    for number, row in zip(shown, ranked.rows, strict=True):
        assert row.certificate.value <= number <= 1.001 * row.certificate.value


@pytest.mark.slow
def test_all_methods_certify_three_classes():
    encoded, y = clusters(900)
    result = du.certify_features(encoded, y, seed=0)
    assert {row.method for row in result.rows} == set(METHODS_OF_FEATURES)
    for row in result.rows:
        assert row.certificate.value < 0.2 and not row.certificate.vacuous
        assert verify(row.certificate.to_json(), row.model, row.data).holds
        assert "radius" not in {price.name for price in row.certificate.prices}
    assert result.rows[-1].method == "pac-bayes"


@pytest.mark.slow
def test_labels_that_are_coins_are_never_below_their_risk():
    """Every head errs on two thirds of three fair classes: δ bounds how often one says less."""
    failed = 0
    for seed in range(25):
        encoded, _ = clusters(60, seed=seed)
        y = np.random.default_rng(100 + seed).integers(0, 3, 60)
        names = ("hold-out", "selection")
        result = du.certify_features(encoded, y, names, delta=0.2, prototypes=VECTORS, seed=0)
        failed += result.best.certificate.value < 2 / 3
        assert all(row.certificate.vacuous for row in result.rows) or failed
    assert allowed(failed, 25, 0.2)


def test_rows_are_scaled_one_by_one():
    features = np.array([[3.0, 4.0], [0.0, 0.0], [1e300, 1e300]])
    made = du.Encoded(features, "any").features
    assert np.allclose(made, [[0.6, 0.8], [0, 0], [math.sqrt(0.5)] * 2])
    alone = du.Encoded(features[2:], "any").features
    assert (alone == made[2:]).all()


class Tokens(torch.nn.Module):
    """A Hugging Face encoder's shape of an answer."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(5, 3)

    def forward(self, ids, attention_mask=None):
        assert attention_mask is not None
        return SimpleNamespace(last_hidden_state=self.table(ids))


def test_tokens_are_averaged_over_the_mask():
    torch.manual_seed(0)
    module, X = Tokens().eval(), np.array([[1, 2, 0], [3, 0, 0]])
    made = du.encode(module, X, "table", pad=0, batch=1)
    table = module.table.weight.detach().double().numpy()
    expected = np.stack([(table[1] + table[2]) / 2, table[3]])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(made.features, expected, atol=1e-6)
    assert made.encoder.startswith("table (sha256 ")
    longer = du.encode(module, np.pad(X, ((0, 0), (0, 4))), "table", pad=0)
    assert np.allclose(longer.features, made.features, atol=1e-6)


GOOD, LABELS = du.Encoded(np.eye(4), "any"), np.array([0, 1, 2, 0])
REFUSED = {
    "no name": (lambda: du.Encoded(np.eye(2), ""), "name of the frozen encoder"),
    "whole numbers": (lambda: du.Encoded(np.eye(2, dtype=int), "any"), "floats"),
    "not finite": (lambda: du.Encoded(np.array([[np.nan]]), "any"), "finite"),
    "training mode": (
        lambda: du.encode(torch.nn.Linear(2, 2), np.ones((1, 2), np.float32)),
        "evaluation mode",
    ),
    "no encoder": (lambda: du.encode("nowhere", np.ones((1, 2))), "no folder"),
    "unknown method": (lambda: du.certify_features(GOOD, LABELS, ("magic",), seed=0), "methods"),
    "no prototypes": (
        lambda: du.certify_features(GOOD, LABELS, ("selection",), seed=0),
        "class vectors",
    ),
    "prototypes for none": (
        lambda: du.certify_features(GOOD, LABELS, ("hold-out",), prototypes=[np.eye(4)], seed=0),
        "class vectors",
    ),
    "narrow prototypes": (
        lambda: du.certify_features(GOOD, LABELS, ("selection",), prototypes=[np.eye(3)], seed=0),
        "shape \\(3, 4\\)",
    ),
    "share": (lambda: du.certify_features(GOOD, LABELS, ("hold-out",), share=1.0, seed=0), "share"),
    "declared for none": (
        lambda: du.certify_features(GOOD, LABELS, ("hold-out",), declared={"occam": {}}, seed=0),
        "what is declared for hold-out",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused(case):
    call, words = REFUSED[case]
    with pytest.raises(InputError, match=words):
        call()


def test_a_folder_needs_transformers(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(ExtraMissing, match="pip install transformers"):
        du.encode(tmp_path, np.ones((1, 2)))
