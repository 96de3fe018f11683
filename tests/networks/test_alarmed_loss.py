"""The loss with alarms stands where the proof puts it, and the plain one would not do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dudley as du
from alarm_cases import LN, NETWORKS, RMS, T, d, plain
from dudley.calculus.facts import Facts, Signal
from dudley.calculus.node import Node
from dudley.networks.alarms import alarmed, least_stds, with_norm_layers
from dudley.networks.pointwise import LayerNorm


def drawn(nest, rng):
    if isinstance(nest, dict):
        return {n: rng.standard_normal(p.shape) * 0.7 for n, p in nest.items()}
    return [drawn(part, rng) for part in nest]


def outcomes(network: Node, rng):
    """For many inputs and weights: ℓ(f), ℓ(f_s), the alarm by its definition, and `alarmed`."""
    rows = []
    for _ in range(60):
        params = drawn(network.parameters(d)[0], rng)
        X = rng.standard_normal((20, T, d)) * 10.0 ** rng.uniform(-4, 1, (20, T, 1))
        f, f_s = (net.apply(params, X)[:, -1, 0] for net in (plain(network), network))
        heard: list[np.ndarray] = []
        tell = lambda layer, heard=heard: Heard(layer, heard)  # noqa: E731
        with_norm_layers(network, tell).apply(params, X)
        A = np.max(heard, axis=0)
        loss = [(1 + np.tanh(2 * y)) / 2 for y in (f, f_s)]
        rows.append(np.stack([*loss, A, alarmed(network, params, X)]))
    return np.concatenate(rows, axis=1)


@dataclass(frozen=True)
class Heard(Node):
    """A norm layer that notes the alarm of each example, by its definition."""

    inner: LayerNorm
    heard: list
    lemma = LayerNorm.lemma

    def facts(self, signal: Signal) -> Facts:
        return self.inner.facts(signal)

    def parameters(self, width: int):
        return self.inner.parameters(width)

    def apply(self, params: Any, X: Any) -> Any:
        σ = X.std(-1) if self.inner.centered else np.sqrt((X * X).mean(-1))
        a, s = self.inner.least_std, 0.75 * self.inner.least_std
        self.heard.append(np.clip((a - σ) / (a - s), 0, 1).max(-1))
        return self.inner.apply(params, X)


@pytest.mark.parametrize("name", ["one layer", "two layers", "residual", "pre-norm", "post-norm"])
def test_the_loss_with_alarms_stands_where_the_proof_puts_it(name: str):
    loss, loss_s, A, alarm = outcomes(NETWORKS[name], np.random.default_rng(3))
    raised = np.maximum(loss_s, A)
    assert (loss <= raised + 1e-12).all()
    assert (raised <= np.where(alarm, 1.0, loss + 1e-12)).all()
    assert (loss > loss_s + 0.05).any()  # without the alarm the first is false,
    assert (raised > loss + 0.05).any()  # without the share the second
    assert 0.02 < alarm.mean() < 1


@pytest.mark.parametrize("layer", [LN, RMS])
def test_a_capped_layer_is_the_plain_one_above_its_cap(layer: LayerNorm):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 1, d)) * 10.0 ** rng.uniform(-2, 1, (400, 1, 1))
    params = drawn(layer.parameters(d)[0], rng)
    same = (layer.apply(params, X) == plain(layer).apply(params, X)).all((-2, -1))
    std = least_stds(layer, params, X)[:, 0]
    np.testing.assert_array_equal(same, std >= 0.75 * layer.least_std)
    assert 0.1 < same.mean() < 0.9


def test_the_plain_training_loss_would_not_do():
    """A class whose plain networks learn by heart what its capped ones cannot tell apart.

    An input is one of N short rows δe_i. With W = y vᵀ/√N, v of mean 0 and norm 1, LayerNorm makes
    δy_i v/√N into ±√N·v, so the sign of every input is free; capped layers give less than 2δ.
    """
    N, n, δ = 400, 200, 1e-6
    norm = du.LayerNorm(N, 1e-24, least_std=1.0)
    network = du.Dense(N, du.Spectral(1.0)) >> norm >> du.Readout(du.L2(1 / math.sqrt(N)))
    cap = du.capacity(network, du.Tokens(δ, 1, N), n=n, loss=du.Margin(1.0))
    bound = cap.gap(0.05)
    assert bound.quantity.endswith("with alarms") and bound.value < 0.1

    rng = np.random.default_rng(1)
    seen = rng.integers(0, N, n)
    label = rng.choice([-1.0, 1.0], N)
    right = np.isin(np.arange(N), seen)  # and wrong wherever it was not seen
    v = np.resize([1.0, -1.0], N)[:, None] / math.sqrt(N)
    W = (np.where(right, label, -label) / math.sqrt(N))[:, None] * v.T
    params, X = [{"W": W}, {}, {"w": v / math.sqrt(N)}], δ * np.eye(N)[:, None, :]
    margin = label * plain(network).apply(params, X)[:, 0, 0]
    loss = np.clip(1 - margin, 0, 1)
    risk, training = loss.mean(), loss[seen].mean()
    assert risk - training > 0.5 > bound.value
    with_alarms = np.where(alarmed(network, params, X), 1.0, loss)[seen].mean()
    assert risk - with_alarms <= bound.value
