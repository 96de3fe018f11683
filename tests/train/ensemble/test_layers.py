"""L blocks side by side: the twin's numbers for every σ and normaliser, and the [CLS] row alone."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dudley.core.errors import InputError
from dudley.networks.activations import ACTIVATIONS
from dudley.train.ensemble import rows
from dudley.train.ensemble.layers import LayersEnsemble
from each import each
from ensemble_twins import CHECKS, Case, check_gradients, check_outputs, started, trials


def case(d=4, L=2, T=5, rate=0.1, **options) -> Case:
    return Case(
        build=lambda keys: LayersEnsemble(d, L, **options),
        inputs=lambda E, N, source: torch.randn(E, N, T, d, generator=source).double(),
        alone=lambda model, X: model(X)[:, 0],
        rate=rate,
    )


CASES = {
    "trauger": case(),
    "li": case(block="li", sigma="leaky-relu", rate=0.3),
    "edelman, deep": case(block="edelman", L=4, sigma="tanh"),
    "narrow values": case(d=5, k=2),
    "wide values": case(d=3, k=7, block="li", sigma="gelu"),
    "one block": case(L=1),
    "sigmoid attention": case(block="li", attention="sigmoid", sigma="swish"),
    "sparse attention": case(attention="sparsemax", sigma="softplus"),
    "one token": case(T=1),
}


@pytest.mark.slow
@each("check", CHECKS)
@each("name", CASES)
def test_as_the_twin(name, check):
    CHECKS[check](CASES[name])


# Each stands in a place of its own in a block: no pair computes what neither does alone.
VARIANTS = [(sigma, "softmax") for sigma in ACTIVATIONS]
VARIANTS += [("tanh", attention) for attention in ("softmax-papers", "sparsemax", "sigmoid")]


@each(("sigma", "attention"), VARIANTS)
def test_every_activation_and_normaliser(sigma, attention):
    variant = case(sigma=sigma, attention=attention, block="li", k=3)
    check_outputs(variant)
    check_gradients(variant)


def test_the_last_block_asks_with_one_row():
    """The last of L blocks costs about 1/T of an inner one."""
    E, N, T, d = 2, 6, 20, 8

    def operations(L):
        ensemble = LayersEnsemble(d, L)
        weights = ensemble.start(trials(E))
        with FlopCounterMode(display=False) as counted:
            ensemble.forward(weights, torch.rand(E, N, T, d))
        return counted.get_total_flops()

    products = lambda asking: asking * (2 * T * d + 3 * d * d)  # noqa: E731
    assert operations(1) == 2 * E * N * (products(1) + d)
    assert operations(3) == 2 * E * N * (products(1) + 2 * products(T) + d)


def test_hold_outs_are_read_in_parts(monkeypatch):
    ensemble, weights, X, _ = started(CASES["trauger"], N=9)
    whole = ensemble.forward(weights, X)
    monkeypatch.setattr(rows, "CACHE", 2 * 5 * 5 * 5)  # two examples at a time
    torch.testing.assert_close(ensemble.evaluate(weights, X), whole, rtol=1e-12, atol=1e-12)


def test_refusals():
    with pytest.raises(InputError, match="attention"):
        LayersEnsemble(4, 2, attention="linear")
    with pytest.raises(InputError, match="L"):
        LayersEnsemble(4, 0)
    ensemble, weights, X, _ = started(CASES["li"])
    with pytest.raises(InputError, match="first of size 5"):
        ensemble.forward(weights, X[:2])
