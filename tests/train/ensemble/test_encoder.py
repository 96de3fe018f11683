"""Shallow encoders side by side: the twin's numbers, folded scores, a layer that is not kept."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dudley.core.errors import InputError
from dudley.train.ensemble import rows
from dudley.train.ensemble.encoder import EncoderEnsemble, WideLayer
from each import each
from ensemble_twins import CHECKS, Case, gradients, started, trials


def case(d, d_m, T=3) -> Case:
    return Case(
        build=lambda keys: EncoderEnsemble(d, d_m),
        inputs=lambda E, N, source: torch.randn(E, N, T, d, generator=source).double(),
        alone=lambda model, X: model(X)[:, 0],
    )


CASES = {
    "wide": case(4, 11),
    "square": case(5, 5),
    "narrow": case(6, 2),
    "one token": case(3, 4, 1),
}


@each("check", CHECKS)
@each("name", CASES)
def test_as_the_twin(name, check):
    CHECKS[check](CASES[name])


@pytest.mark.parametrize("few", [1, 2, 5, 21, 100])
def test_the_layer_is_made_in_parts(monkeypatch, few):
    """Any number of rows at a time, with a part left over or not, gives the same."""
    ensemble, weights, X, targets = started(CASES["wide"])  # 7 examples of 3 rows
    outputs, pulls = ensemble.forward(weights, X), gradients(ensemble, weights, X, targets)
    monkeypatch.setattr(rows, "CACHE", few * 5 * 11)
    torch.testing.assert_close(ensemble.forward(weights, X), outputs, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(ensemble.evaluate(weights, X), outputs, rtol=1e-12, atol=1e-12)
    again = gradients(ensemble, weights, X, targets)
    torch.testing.assert_close(again, pulls, rtol=1e-12, atol=1e-12)


def test_the_gradient_of_the_layer_is_that_of_the_formula():
    source = torch.Generator().manual_seed(1)
    shapes = ((2, 3, 4, 5), (2, 5, 6), (2, 6, 1))
    inputs = [torch.randn(s, generator=source).double().requires_grad_() for s in shapes]
    assert torch.autograd.gradcheck(WideLayer.apply, inputs)
    outputs = WideLayer.apply(*inputs)
    Z, W_v, w = inputs
    expected = (torch.relu(Z @ W_v[:, None]) @ w[:, None]).mean(2)
    torch.testing.assert_close(outputs, expected, rtol=1e-13, atol=1e-13)


def test_a_step_is_three_products_and_keeps_a_byte_an_entry():
    E, N, T, d, d_m = 2, 40, 4, 8, 256
    ensemble = EncoderEnsemble(d, d_m)
    weights = {n: W.requires_grad_() for n, W in ensemble.start(trials(E)).items()}
    X, seen = torch.rand(E, N, T, d), []

    def keep(tensor):
        seen.append(tensor)
        return tensor

    with (
        FlopCounterMode(display=False) as counted,
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
    ):
        outputs = ensemble.forward(weights, X)
        torch.autograd.grad(outputs.sum(), list(weights.values()))
    wide = 2 * E * N * T * d * d_m
    folded = 3 * 2 * E * (d * d * d_m + N * T * d * d + 2 * N * T * T * d)
    assert 3 * wide <= counted.get_total_flops() <= 3 * wide + 2 * E * N * T * d_m + folded
    sizes = {tensor.numel(): tensor.dtype for tensor in seen}
    assert sizes[E * N * T * d_m] == torch.bool
    assert max(sizes) == E * N * T * d_m


def test_nothing_is_kept_for_an_evaluation():
    ensemble, weights, X, _ = started(CASES["wide"])
    assert not ensemble.evaluate(weights, X).requires_grad


def test_refusals():
    with pytest.raises(InputError, match="d_m"):
        EncoderEnsemble(4, 0)
    ensemble, weights, X, _ = started(CASES["wide"])
    with pytest.raises(InputError, match="first of size 5"):
        ensemble.forward(weights, X[:2])
