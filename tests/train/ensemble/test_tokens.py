"""Token networks side by side owe their twin all that other ensembles do, for every block."""

from __future__ import annotations

import pytest
import torch

from dudley.core.errors import InputError
from dudley.models.token_network import TokenNetwork
from dudley.train.ensemble import rows
from dudley.train.ensemble.registry import ensemble_of
from dudley.train.ensemble.tokens import TokensEnsemble
from dudley.train.packed import pack, unpack
from each import each
from ensemble_twins import CHECKS, Case, check_gradients, check_outputs, loss, started, trials


def case(V=4, T=5, **options) -> Case:
    return Case(
        build=lambda keys: TokensEnsemble(V, T, k=3, **options),
        inputs=lambda E, N, source: torch.randint(0, V, (E, N, T), generator=source),
        alone=lambda model, codes: model(model.tokens(codes))[:, 0],
        rate=0.3,
    )


def of_bits(T=5) -> Case:
    def alone(model: TokenNetwork, words):
        codes = torch.nn.functional.pad(unpack(words, T, torch.int64), (0, 1), value=2)
        return model(model.tokens(codes))[:, 0]

    return Case(
        build=lambda keys: TokensEnsemble(3, T + 1, k=3, bits=True),
        inputs=lambda E, N, source: pack(torch.randint(0, 2, (E, N, T), generator=source)),
        alone=alone,
        rate=0.3,
    )


CASES = {
    "head": case(),
    "two blocks": case(block="trauger", L=2, sigma="tanh"),
    "li": case(block="li", sigma="gelu", classes=3),
    "apart": case(block="apart"),
    "linear": case(block="apart", attention="linear"),
    "bits": of_bits(),
}


@each("check", CHECKS)
@each("name", CASES)
def test_as_the_twin(name, check):
    CHECKS[check](CASES[name])


# Each stands in a place of its own in a block: no pair computes what neither does alone.
VARIANTS = [(sigma, "softmax") for sigma in ("relu", "gelu", "tanh", "identity")]
VARIANTS += [("tanh", attention) for attention in ("sigmoid", "sparsemax", "linear")]


@each(("sigma", "attention"), VARIANTS)
def test_every_activation_and_normaliser(sigma, attention):
    variant = case(block="apart", sigma=sigma, attention=attention)
    check_outputs(variant)
    check_gradients(variant)


def test_the_last_block_asks_with_one_row_and_gives_the_same():
    """Logits of every row, read at the last, are those of the network that asks with it."""
    for block in ("head", "trauger", "li", "apart"):
        last = TokenNetwork(4, 5, L=2, k=3, block=block)
        every = TokenNetwork(4, 5, L=2, k=3, block=block, every=True)
        every.load_state_dict(last.state_dict())
        X = last.tokens(torch.randint(0, 4, (7, 5)))
        assert every(X).shape == (7, 5, 2)
        torch.testing.assert_close(every(X)[:, -1:], last.forward(X))


def test_every_row_has_logits():
    ensemble = TokensEnsemble(4, 5, k=3, classes=6, every=True)
    weights = ensemble.start(trials(2))
    codes = torch.randint(0, 4, (2, 7, 5))
    model = ensemble.member(weights, 1)
    assert isinstance(model, TokenNetwork)
    torch.testing.assert_close(ensemble.evaluate(weights, codes)[1], model(model.tokens(codes[1])))


def test_a_wrong_member_is_seen():
    """The checks can fail: weights of a neighbour give other numbers."""
    ensemble, weights, codes, targets = started(CASES["head"])
    swapped = {name: W.roll(1, 0) for name, W in weights.items()}
    right, wrong = (ensemble.forward(W, codes) for W in (weights, swapped))
    assert (loss(right, targets) - loss(wrong, targets)).abs().min() > 1e-6


def test_hold_outs_are_read_in_parts(monkeypatch):
    ensemble, weights, codes, _ = started(CASES["head"], N=9)
    whole = ensemble.forward(weights, codes)
    monkeypatch.setattr(rows, "CACHE", 2 * 5 * 5 * 14)  # two examples at a time
    torch.testing.assert_close(ensemble.evaluate(weights, codes), whole, rtol=1e-12, atol=1e-12)


def test_rows_lie_on_the_unit_sphere():
    model = TokenNetwork(4, 9).double()
    X = model.tokens(torch.randint(0, 4, (20, 9)))
    assert float(X.norm(dim=-1).max()) <= model.inputs.row2inf * (1 + 1e-15)
    assert float(X.abs().sum(-1).max()) <= (model.inputs.row1inf or 0.0)


def test_by_name_and_refusals():
    built = ensemble_of({"name": "token-network", "V": 3, "bits": True}, [{"T": 8}], trials(1))
    assert isinstance(built, TokensEnsemble) and built.T == 9
    with pytest.raises(InputError, match="T of trials"):
        ensemble_of({"name": "token-network", "V": 3}, [{"T": 8}, {"T": 9}], trials(2))
    with pytest.raises(InputError, match="V of bits"):
        TokensEnsemble(4, 8, bits=True)
    with pytest.raises(InputError, match="attention"):
        TokensEnsemble(4, 8, attention="linear")
    with pytest.raises(InputError, match="codes"):
        TokenNetwork(4, 5).tokens(torch.zeros(2, 4))
