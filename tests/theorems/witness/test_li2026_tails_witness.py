"""li2026, section 6: its counterexamples, their assumptions and excess risks, by enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dudley.networks.robust import LogTruncation
from dudley.theorems import registry
from dudley.theorems.li2026.tails import PolynomialTail, SubGaussianTail
from dudley.theorems.witness.counterexamples.noisy_tails import NoisyHeavyTailed, NoisySubGaussian
from dudley.theorems.witness.counterexamples.unseen_heads import QueryHeads
from dudley.theorems.witness.counterexamples.unseen_tails import (
    UnseenHeavyTailed,
    UnseenSubGaussian,
)

STATEMENTS = registry.load()


def test_the_inputs_of_the_witnesses_satisfy_the_assumptions():
    X = QueryHeads(6).tokens()
    assert np.allclose(np.linalg.norm(X, axis=(1, 2)), math.sqrt(3))
    left = np.einsum("nij,nkj->ik", X, X) / len(X)
    right = np.einsum("nij,nik->jk", X, X) / len(X)
    assert np.linalg.norm(left, 2) == pytest.approx(2.0)  # ν(X)
    assert np.linalg.norm(right, 2) <= 2
    tail = SubGaussianTail(3, QueryHeads(6).d, 2.0)
    assert tail.log_printed(math.sqrt(3)) >= 0
    inputs = UnseenHeavyTailed().inputs("li2026/theorem-6.9")
    assert (
        PolynomialTail(inputs["tail.C"], inputs["tail.beta"]).probability(math.sqrt(3) - 1e-9) == 1
    )


@pytest.mark.parametrize(
    "witness", [UnseenSubGaussian, UnseenHeavyTailed, NoisySubGaussian, NoisyHeavyTailed]
)
def test_a_family_prints_what_the_statement_prints(witness):
    for id in witness.refutes:
        family = witness().family(id)
        for n, printed in zip(family.sizes, family.printed, strict=True):
            inputs = witness(int(n)).inputs(id)
            if "tail.beta" in inputs:
                inputs["resolution"] = 1 / n
            assert STATEMENTS[id].evaluate_on(inputs, "printed").value == pytest.approx(printed)
        assert family.exponent > 0.4


def test_a_constant_that_carries_the_dimensions_does_not_save_the_heavy_tails():
    """C_β with C(Td)^{1+β/2} of appendix C.2 and B_QK, and M for B_X: still refuted."""
    for n in (10**12, 10**14):
        it = UnseenHeavyTailed(n)
        for id in ("li2026/theorem-6.9", "li2026/theorem-6.10"):
            inputs = it.inputs(id) | {"X.op": it.inputs(id)["truncation"]}
            β, M = inputs["tail.beta"], inputs["truncation"]
            bias = inputs["tail.C"] * (3.0 * inputs["d"]) ** (1 + β / 2) * M ** (2 - β)
            assert bias * inputs["W_QK.op"] < 1 / n
            assert STATEMENTS[id].evaluate_on(inputs, "printed").value < it.lower_bound()


@pytest.mark.parametrize("n", [1, 5, 11])
def test_the_excess_risk_of_a_coin_with_a_robust_loss(n):
    """All outcomes of n labels, constants on a grid: the minimiser and its excess risk."""
    it, ψ, c = NoisyHeavyTailed(n), LogTruncation(2.0), np.linspace(-1, 1, 401)
    p, against, total = 0.5 + it.h, (ψ(1 - c), ψ(1 + c)), 0.0
    risk = p * against[0] + (1 - p) * against[1]
    assert risk.argmin() == len(c) - 1  # f* = 1
    for plus in range(n + 1):
        train = plus * against[0] + (n - plus) * against[1]
        total += binom.pmf(plus, n, p) * (risk[train.argmin()] - risk.min())
    assert total == pytest.approx(it.lower_bound())


@pytest.mark.parametrize("n", [3, 6])
def test_the_excess_risk_of_unseen_heads_with_a_robust_loss(n):
    """Samples of n out of n inputs, and all 2^n heads: the worst minimiser of each sample."""
    heads = QueryHeads(n)
    signs = np.array(np.meshgrid(*[[-1, 1]] * n)).reshape(n, -1).T
    losses = LogTruncation(2.0)(np.abs(heads.a - heads.a * signs))  # robust loss of each head
    total, count = 0.0, 0
    rng = np.random.default_rng(0)
    samples = rng.integers(n, size=(20_000, n))
    for sample in samples:
        train = losses[:, sample].sum(axis=1)
        total += losses[train <= train.min() + 1e-12].mean(axis=1).max()
        count += 1
    truth = UnseenHeavyTailed(n).lower_bound()
    assert total / count == pytest.approx(truth, abs=5 / math.sqrt(count))
