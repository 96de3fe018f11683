"""Logging during training: only the certificate that was named before counts."""

import numpy as np
import pytest

from certificates.validity import NoisyCopies, leaks, reader, tight
from dudley.certificates.base import method_named
from dudley.certificates.callbacks import Log
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.core.errors import InputError, UnknownName

TABLES = {
    "schema": "dudley.net/1",
    "input": {"T": 5, "V": 9},
    "layer": [
        {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1, "sigma": "identity"}
    ],
}


@pytest.fixture
def data():
    X = np.random.default_rng(1).integers(0, 2, (400, 4)).astype(np.uint8)
    return Dataset(X, X[:, 2].astype(np.int64))


def rounded(W_v) -> Hypothesis:
    """The model of a torch loop: its float weights on a grid of quarters."""
    W = np.round(W_v.detach().numpy().astype(np.float64) * 4) / 4 + 0.0
    return Hypothesis(TABLES, {"name": "bits", "T": 4}, {"0.v": np.zeros((9, 1)), "0.W_v": W})


def test_a_plain_torch_loop(data):
    torch = pytest.importorskip("torch")
    log = Log("occam", data, hypothesis=rounded, counts="last")
    rows = torch.tensor(rounded(torch.zeros(9, 1)).encoding.rows(data.X), dtype=torch.float32)
    y = torch.tensor(2.0 * data.y - 1)
    W_v = torch.zeros(9, 1, requires_grad=True)
    optimiser = torch.optim.Adam([W_v], lr=0.1)
    for step in range(40):
        f = (rows.mean(1) @ W_v)[:, 0]
        loss = torch.nn.functional.softplus(-y * f).mean() + 0.01 * W_v.abs().sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 10 == 0:
            log.on_evaluate(step, W_v)
    last = log.on_end(40, W_v)
    assert [row["counts"] for row in log.rows] == [False] * 4 + [True]
    assert last["value"] == log.certificate.value == method_named("occam")(rounded(W_v), data).value
    assert last["facts.errors"] == 0 and last["nats.code"] > 0 and not last["vacuous"]


def test_the_step_named_before_counts_whatever_comes_later(data):
    log = Log("occam", data, counts=1)
    good, bad = reader(4, 2), reader(4, 0)
    log.on_evaluate(0, good)
    log.on_evaluate(1, bad)
    log.on_evaluate(2, good)
    log.on_end(3, good)
    assert [row["counts"] for row in log.rows] == [False, True, False, False]
    assert log.certificate.model["sha256"] == bad.sha256
    assert log.certificate.value > min(row["value"] for row in log.rows)


def test_a_second_one_never_counts(data):
    log = Log("occam", data, counts=1)
    log.on_evaluate(1, reader(4, 2))
    with pytest.raises(InputError, match="a second one"):
        log.on_evaluate(1, reader(4, 2))
    log.on_end(2, reader(4, 2))
    with pytest.raises(InputError, match="after the end"):
        log.on_end(2, reader(4, 2))


def test_no_certificate_before_its_time(data):
    log = Log("occam", data, counts=7)
    log.on_evaluate(0, reader(4, 2))
    with pytest.raises(InputError, match="not come to it"):
        _ = log.certificate


def test_a_refusal_is_logged_and_told(data):
    odd = reader(4, 2, size=1 / 3 + np.pi * 1e-9)
    weights = dict(odd.weights)
    weights["0.W_v"] = weights["0.W_v"] + np.linspace(0, np.pi, 9)[:, None]
    log = Log("occam", data)
    row = log.on_end(0, Hypothesis(odd.tables, odd.encoding_table, weights))
    assert "value" not in row and "weights" in row["refused"]
    with pytest.raises(InputError, match="short step"):
        _ = log.certificate


@pytest.mark.parametrize("counts", [-1, "best", 1.5, True, None])
def test_what_counts_is_a_step_or_the_last(data, counts):
    with pytest.raises(InputError, match="counts"):
        Log("occam", data, counts=counts)


def test_unknown_methods_and_declarations_are_refused_before_training(data):
    with pytest.raises(UnknownName):
        Log("occom", data)
    with pytest.raises(UnknownName):
        Log("occam", data, declared={"detla": 0.1})


def test_looks_at_a_hold_out_are_declared_paid_and_counted(data):
    with pytest.raises(InputError, match="looks"):
        Log("hold-out", data)
    log = Log("hold-out", data, declared={"looks": 2})
    model = reader(4, 2)
    log.on_evaluate(0, model)
    row = log.on_end(1, model)
    assert row["value"] > method_named("hold-out")(model, data).value
    more = Log("hold-out", data, declared={"looks": 1})
    more.on_evaluate(0, model)
    with pytest.raises(InputError, match="at most 1"):
        more.on_end(1, model)


def test_the_smallest_of_the_logged_numbers_is_not_a_certificate():
    """Trap 5: stopping where the number on a hold-out is least fails at more than 3δ."""
    δ, n, steps, repetitions = 0.1, 60, 12, 500
    risk = tight(6, n, δ)
    draw, generator = NoisyCopies((risk,) * steps, n), np.random.default_rng(5)
    holdout = method_named("hold-out")
    least = named = paid = 0
    for _ in range(repetitions):
        errors = draw.errors(draw(generator))
        values = [_upper(holdout, int(k), n, δ) for k in errors]
        least += min(values) < risk
        named += values[-1] < risk
        paid += min(_upper(holdout, int(k), n, δ / steps) for k in errors) < risk
    assert leaks(least, repetitions, δ)
    assert named <= 1.5 * δ * repetitions and paid <= 1.5 * δ * repetitions


_known: dict = {}


def _upper(holdout, k: int, n: int, δ: float) -> float:
    """The method's number for k errors of n, computed once for each k."""
    if (k, δ) not in _known:
        X = np.zeros((n, 2), np.uint8)
        X[:k, 1] = 1
        _known[k, δ] = holdout(reader(2, 1), Dataset(X, np.zeros(n, np.int64)), delta=δ).value
    return _known[k, δ]
