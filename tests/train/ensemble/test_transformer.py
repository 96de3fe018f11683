"""Pre-norm Transformers side by side: the twin's numbers, with the masks of dropout too."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dudley.core.errors import DudleyError, InputError
from dudley.train.ensemble import rows
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.bit_attention.anywhere import rows_factors
from dudley.train.ensemble.registry import ensemble_of
from dudley.train.ensemble.rows import Padded
from dudley.train.ensemble.transformer import TransformerEnsemble
from dudley.train.packed import pack, unpack
from each import each
from ensemble_twins import CHECKS, Case, E, gradients, loss, started, trials

F = torch.nn.functional


def one_hot(inputs: str, V: int, T: int, X: torch.Tensor) -> torch.Tensor:
    """What the twin takes for one member's inputs."""
    if inputs == "rows":
        return F.pad(X, (0, 0, 0, 1))
    codes = F.pad(unpack(X, T - 1, torch.int64), (0, 1), value=2) if inputs == "bits" else X
    return F.one_hot(codes, V).double()


def case(V=3, T=6, inputs="bits", **options) -> Case:
    def drawn(E, N, source):
        if inputs == "rows":
            return torch.randn(E, N, T - 1, V, generator=source).double()
        if inputs == "codes":
            return torch.randint(0, V, (E, N, T), generator=source)
        return pack(torch.randint(0, 2, (E, N, T - 1), generator=source))

    sizes = {"d": 8, "H": 2} | options
    return Case(
        build=lambda keys: TransformerEnsemble(V, T, inputs=inputs, **sizes),
        inputs=drawn,
        alone=lambda model, X: model.eval()(one_hot(inputs, V, T, X))[:, 0],
        rate=0.03,
    )


CASES = {
    "one block": case(),
    "two blocks, rms": case(L=2, norm="rms", H=4),
    "four blocks": case(L=4),
    "codes": case(V=5, inputs="codes", L=2, classes=3, d=9, H=3),
    "rows": case(V=7, inputs="rows", L=2, norm="rms", dropout=(0.2, 0.3)),
}


@each("check", CHECKS)
@each("name", CASES)
def test_as_the_twin(name, check):
    CHECKS[check](CASES[name])


@pytest.mark.parametrize("options", [{"L": 1}, {"L": 3, "norm": "rms"}], ids=["one", "three"])
def test_dropout_is_the_twins_with_these_masks(monkeypatch, options):
    """Logits and gradients of the twin whose dropout takes the ensemble's masks, in their order."""
    T, d, rates = 6, 8, (0.5, 0.25)
    ensemble, weights, X, targets = started(case(T=T, dropout=rates, **options))
    noise = Noise(trials(), torch.tensor(11))
    leaves = {name: W.detach().requires_grad_() for name, W in weights.items()}
    logits = ensemble.forward(leaves, Padded.full(X), noise)
    pulls = torch.autograd.grad(loss(logits, targets).sum(), list(leaves.values()))
    for e in range(E):
        sites = [
            (p, rows_factors(noise, X.shape[1], range(s * T, (s + 1) * T), d, 0, p)[e])
            for s, p in enumerate((rates[0], *(rates[1],) * (2 * ensemble.L)))
        ]
        draws = iter(sites)

        def dropout(x, rate, draws=draws):
            if rate == 0:
                return x  # of attention weights
            expected, mask = next(draws)
            assert rate == expected and x.shape == mask.shape
            return x * mask

        model = ensemble.member(weights, e).train()
        with monkeypatch.context() as patch:
            patch.setattr(F, "dropout", dropout)
            alone = model(one_hot("bits", 3, T, X[e]))[:, 0]
        assert next(draws, None) is None
        torch.testing.assert_close(logits[e], alone, rtol=1e-7, atol=1e-7)
        loss(alone, targets[e]).backward()
        for (name, W), pulled in zip(model.named_parameters(), pulls, strict=True):
            assert name in weights
            torch.testing.assert_close(pulled[e], W.grad, rtol=1e-6, atol=1e-6)
    without = ensemble.forward(weights, Padded.full(X), None)
    assert (without - logits).abs().max() > 1e-3


def test_masks_are_of_the_trial_alone():
    """A trial packed alone, or with fewer examples, has the same masks; steps differ."""
    noise = Noise(trials(), torch.tensor(3))
    whole = rows_factors(noise, 9, range(2, 7), 8, 0, 0.5)
    alone = rows_factors(Noise(trials()[2:3], torch.tensor(3)), 4, range(2, 7), 8, 0, 0.5)
    assert whole[2:3, :4].equal(alone)
    later = rows_factors(Noise(trials(), torch.tensor(4)), 9, range(2, 7), 8, 0, 0.5)
    assert not later.equal(whole) and 0.4 < float((whole > 0).double().mean()) < 0.6


def test_every_row_has_logits():
    """Read at the last row, they are those of the network that asks with it."""
    sizes = {"V": 5, "T": 6, "d": 8, "H": 2, "L": 2, "classes": 4}
    every, last = (TransformerEnsemble(**sizes, every=every) for every in (True, False))
    weights, codes = every.start(trials(2)), torch.randint(0, 5, (2, 7, 6))
    logits = every.evaluate(weights, codes)
    assert logits.shape == (2, 7, 6, 4)
    torch.testing.assert_close(logits[:, :, -1], last.evaluate(weights, codes))
    model = every.member(weights, 1).eval()
    torch.testing.assert_close(logits[1], model(F.one_hot(codes[1], 5).float()))


def test_the_last_block_asks_with_one_row():
    """Queries, W_c and the MLP of the last block cost 1/T of those of an inner one.

    What fused attention itself does is not counted on a processor.
    """
    N, T, d = 6, 20, 8

    def operations(L):
        ensemble = TransformerEnsemble(3, T, d=d, H=2, L=L, inputs="bits")
        weights = ensemble.start(trials(E))
        with FlopCounterMode(display=False) as counted:
            ensemble.forward(weights, torch.zeros(E, N, 1, dtype=torch.int32))
        return counted.get_total_flops()

    block = lambda asking: 2 * T * d * d + asking * (2 * d * d + 8 * d * d)  # noqa: E731
    ends = T * 3 * d + 2 * d
    assert operations(1) == 2 * E * N * (ends + block(1))
    assert operations(3) == 2 * E * N * (ends + 2 * block(T) + block(1))


def test_a_wrong_member_is_seen():
    ensemble, weights, X, targets = started(CASES["two blocks, rms"])
    swapped = {name: W.roll(1, 0) for name, W in weights.items()}
    right, wrong = (ensemble.forward(W, X) for W in (weights, swapped))
    assert (loss(right, targets) - loss(wrong, targets)).abs().min() > 1e-6
    assert gradients(ensemble, weights, X, targets)["weights.1.P"].abs().min() > 0


def test_hold_outs_are_read_in_parts(monkeypatch):
    ensemble, weights, X, _ = started(CASES["four blocks"], N=9)
    whole = ensemble.forward(weights, X)
    monkeypatch.setattr(rows, "CACHE", 2 * E * 6 * 76)  # two examples at a time
    torch.testing.assert_close(ensemble.evaluate(weights, X), whole, rtol=1e-12, atol=1e-12)


def test_by_name_and_refusals():
    config = {"name": "transformer", "V": 3, "inputs": "bits", "d": 8, "H": 2, "dropout": [0.1, 0]}
    built = ensemble_of(config, [{"T": 8}], trials(1))
    assert isinstance(built, TransformerEnsemble) and (built.T, built.dropout) == (9, (0.1, 0))
    image = {"name": "transformer", "V": 64, "T": 16, "inputs": "rows", "d": 8, "H": 2}
    assert ensemble_of(image, [{"name": "mnist01", "m": 5}], trials(1)).T == 17
    for wrong, words in (
        ({"V": 4}, "V of bits"),
        ({"inputs": "words"}, "inputs"),
        ({"norm": "batch"}, "norm layer"),
        ({"dropout": [0.1]}, "two numbers"),
        ({"dropout": [0.5, 1.0]}, "two numbers"),
        ({"d": 9, "H": 3}, "even number"),
        ({"H": 3}, "H"),
        ({"L": 0}, "L"),
        ({"first": "zeros"}, "zeros"),
    ):
        with pytest.raises(DudleyError, match=words):
            ensemble_of(config | wrong, [{"T": 8}], trials(1))
    ensemble, weights, X, _ = started(CASES["one block"])
    with pytest.raises(InputError, match="first of size 5"):
        ensemble.forward(weights, X[:2])
