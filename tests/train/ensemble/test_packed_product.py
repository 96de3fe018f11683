"""The product of packed bits with a table, block by block, against the unpacked product."""

from __future__ import annotations

import pytest

from dudley.core.backend import torch
from dudley.core.philox import key, keys_tensor
from dudley.train.ensemble import and_classifier, packed_product
from dudley.train.ensemble.and_classifier import AndEnsemble
from dudley.train.packed import pack


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("T", [31, 64, 100])
def test_the_product_and_its_gradient_are_those_of_the_whole_matrix(shared, T, monkeypatch):
    monkeypatch.setattr(packed_product, "at_a_time", lambda numbers, X: 1)  # many blocks
    generator = torch.Generator().manual_seed(0)
    E, N, F = 3, 7, 5
    bits = torch.randint(0, 2, (1 if shared else E, N, T), generator=generator)
    table = torch.randn(E, 2 * T, F, dtype=torch.float64, generator=generator, requires_grad=True)
    X = bits.double()
    whole = torch.cat([X, 1 - X], -1) @ table
    ours = packed_product.packed_product(pack(bits), table, T)
    assert ours.sub(whole).abs().max() < 1e-12
    weight = torch.randn(whole.shape, dtype=torch.float64, generator=generator)
    expected = torch.autograd.grad((whole * weight).sum(), table)[0]
    got = torch.autograd.grad((ours * weight).sum(), table)[0]
    assert got.sub(expected).abs().max() < 1e-12
    assert got.roll(1, 1).sub(expected).abs().max() > 0.1  # another order of rows turns it red


def test_an_ensemble_computes_the_same_with_and_without_blocks(monkeypatch):
    keys = keys_tensor([key("and", trial) for trial in range(3)])
    classifiers = AndEnsemble(T=70, d=8, H=2, dropout=(0.0, 0.0, 0.1))
    weights = {name: W.requires_grad_() for name, W in classifiers.start(keys).items()}
    words = pack(torch.randint(0, 2, (3, 9, 70), generator=torch.Generator().manual_seed(1)))

    def outcome():
        out = classifiers.forward(weights, words)
        return out, torch.autograd.grad(out.square().sum(), weights["weights.1.P"])[0]

    plain = outcome()
    monkeypatch.setattr(and_classifier, "LARGE", 0)
    for whole, other in zip(plain, outcome(), strict=True):
        assert torch.allclose(whole, other, rtol=1e-4, atol=1e-6)
