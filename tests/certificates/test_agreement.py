"""The τ rule: which counts of another machine a verifier accepts, and that this is safe."""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dudley.certificates.data import Dataset
from dudley.certificates.learners.base import Learner
from dudley.certificates.methods.pick_to_learn.bound import PickWeights, risk_upper
from dudley.certificates.methods.pick_to_learn.capped import capped_upper
from dudley.certificates.methods.pick_to_learn.finite import pool_errors_upper
from dudley.certificates.predictor import Predictor
from dudley.certificates.training import certify_training
from dudley.certificates.verify import verify

TOLERANCE = 0.02


@dataclass(frozen=True)
class RulerModel(Predictor):
    """The margin of an example of class 1 is its number, as a machine that adds ``off`` has it."""

    off: float = 0.0

    @property
    def sha256(self) -> str:
        return "0" * 64

    def outputs(self, X):
        return X[:, :1] + self.off


@dataclass(frozen=True)
class RulerLearner(Learner):
    """Learns nothing: the final model is the start."""

    off: float = 0.0

    def table(self) -> dict[str, Any]:
        return {"name": "ruler", "seed": 0}

    def start(self) -> Predictor:
        return RulerModel(self.off)

    def train(self, X, y, step, previous):
        return previous


def ruler(n: int = 200, seed: int = 0) -> Dataset:
    """Numbers around the tolerance, all of class 1."""
    X = np.random.default_rng(seed).uniform(-0.05, 0.15, (n, 1))
    return Dataset(X, np.ones(n, np.int64))


def file_of(data: Dataset, off: float, **declared: Any) -> dict[str, Any]:
    """The certificate of a maker whose machine adds ``off``."""
    declared = {"tolerance": TOLERANCE, "rounds": 1, "among": 2} | declared
    return certify_training(RulerLearner(off), None, data, **declared, seed=0).certificate.to_json()


@pytest.mark.parametrize(
    "declared", [{}, {"pool": 500}, {"most": 3}, {"initial": 20}, {"event": "loss", "level": 0.7}]
)
@pytest.mark.parametrize("off", [-0.4, 0.4])
def test_a_machine_within_half_the_tolerance_agrees_and_says_where_it_counts_otherwise(
    declared, off
):
    data = ruler()
    file = file_of(data, off * TOLERANCE, **declared)
    verification = verify(file, RulerModel(), data)
    assert verification.holds and verification.remarks, verification.differences
    assert verification.remarks[0].startswith("failures: this machine's arithmetic gives")
    assert not verify(file, RulerModel(off * TOLERANCE), data).remarks


@pytest.mark.parametrize("declared", [{}, {"pool": 500}, {"most": 3}])
@pytest.mark.parametrize("off", [-1.5, 1.5])
def test_a_machine_further_off_does_not(declared, off):
    data = ruler()
    file = file_of(data, off * TOLERANCE, **declared)
    fields = [str(d) for d in verify(file, RulerModel(), data).differences]
    assert any(line.startswith("facts.failures") for line in fields), fields


def maker_who_claims(failures: int, data: Dataset, **declared: Any) -> dict[str, Any]:
    """A file with so many failures left, every number in it computed from them."""
    numbers = np.sort(data.X[:, 0])
    between = (numbers[failures] + numbers[failures + 1]) / 2  # one failing example is picked
    τ = declared.get("tolerance", TOLERANCE)
    file = file_of(data, τ - between, **declared)
    assert file["facts"]["failures"] == failures
    return file


@pytest.mark.parametrize("tolerance", [TOLERANCE, 0.0])
def test_claims_are_accepted_up_to_the_limits_and_not_one_beyond(tolerance):
    data = ruler()
    numbers = data.X[:, 0]  # the pick is below both limits, and is not counted
    fewest = int(np.count_nonzero(numbers <= tolerance / 2)) - 1
    most = int(np.count_nonzero(numbers <= 1.5 * tolerance)) - 1
    at = maker_who_claims(fewest, data, tolerance=tolerance)["choices"]
    for claim, accepted in ((fewest - 1, False), (fewest, True), (most, True), (most + 1, False)):
        file = maker_who_claims(claim, data, tolerance=tolerance)
        assert file["choices"] == at, "one and the same pick, so only the claim differs"
        file["facts"]["errors"] = int((data.X <= 0).sum()) - 1  # whose limits are others
        verification = verify(file, RulerModel(), data)
        assert verification.holds is accepted, (claim, verification.differences)


def test_an_accepted_claim_must_be_the_one_that_the_value_is_computed_from():
    data = ruler()
    high, low = file_of(data, -0.4 * TOLERANCE), file_of(data, 0.4 * TOLERANCE)
    assert low["value"] < high["value"]
    forged = high | {"value": low["value"]}
    assert [d.field for d in verify(forged, RulerModel(), data).differences] == ["value"]
    for name in ("k", "error_of_the_rest", "picks"):
        forged = high | {"facts": high["facts"] | {name: low["facts"][name] - 0.5}}
        assert not verify(forged, RulerModel(), data).holds, name
    odd = high | {"facts": high["facts"] | {"failures": True}}
    assert not verify(odd, RulerModel(), data).holds


def test_plain_errors_may_differ_by_the_same_rule_around_zero():
    data = ruler()
    file = file_of(data, 0.0)
    near = int((np.abs(data.X) <= TOLERANCE / 2).sum())
    for change, accepted in ((-near - 5, False), (-1, True), (1, True), (near + 5, False)):
        facts = file["facts"] | {"errors": file["facts"]["errors"] + change}
        verification = verify(file | {"facts": facts}, RulerModel(), data)
        assert verification.holds is accepted, change
        assert verification.value == file["value"]


def test_every_bound_grows_with_the_count():
    """What lets a claim above own(τ/2) stand for it."""
    c, N, M = math.log(20), 60, 150
    for weights in (PickWeights(), PickWeights(expected=9)):
        risks = [risk_upper(k, N, c, weights) for k in range(N + 1)]
        undrawn = [pool_errors_upper(k, N, M, c, weights) for k in range(N + 1)]
        assert risks == sorted(risks) and undrawn == sorted(undrawn)
    capped = [capped_upper(4, e, N, 6, c) for e in range(N - 4)]
    assert capped == sorted(capped)


# -- properties (i) and (ii) of the proof, by brute force --------------------------------------


def trained_at(X: np.ndarray) -> float:
    """A model: a threshold that the picks decide."""
    return 0.5 + 0.2 * math.sin(40 * float(X.sum())) if len(X) else 0.5


def margin(x: float, model: float, machine: str) -> float:
    """|x − model| less a number that a machine's arithmetic moves by up to 0.15."""
    bits = hashlib.sha256(f"{machine} {x:.9f} {model:.9f}".encode()).digest()[0]
    return abs(x - model) - 0.2 + 0.15 * (bits / 127.5 - 1)


def kappa(S: frozenset[float], rounds: int, batch: int) -> frozenset[float]:
    """Picks by the maker's arithmetic, and the unpicked in E by the verifier's."""
    picks: list[float] = []
    for _ in range(rounds):
        model = trained_at(np.array(picks))
        candidates = [x for x in S if x not in picks and margin(x, model, "maker") <= 0.1]
        if not candidates:
            break
        picks += sorted(candidates, key=lambda x: -((x * 7919) % 1))[:batch]
    model = trained_at(np.array(picks))
    return frozenset(picks) | {x for x in S if margin(x, model, "verifier") <= 0.05}


def subsets(S: frozenset[float]):
    return (frozenset(W) for n in range(len(S) + 1) for W in itertools.combinations(S, n))


@pytest.mark.parametrize("rounds", [1, 2, 9])
@pytest.mark.parametrize("seed", range(4))
def test_picks_of_one_machine_and_the_event_of_another_satisfy_the_proof(rounds, seed):
    S = frozenset(np.random.default_rng(seed).random(7).round(6).tolist())
    Z = kappa(S, rounds, 2)
    assert all(kappa(Z | W, rounds, 2) == Z for W in subsets(S - Z))
    for Z in filter(lambda part: kappa(part, rounds, 2) == part, subsets(S)):
        harmless = frozenset(w for w in S - Z if kappa(Z | {w}, rounds, 2) == Z)
        for W in subsets(S - Z):
            assert (kappa(Z | W, rounds, 2) == Z) is W.issubset(harmless)
