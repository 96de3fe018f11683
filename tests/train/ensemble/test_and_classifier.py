"""AND classifiers side by side: the twin's numbers with and without dropout, and the collapse."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attention_cases import CLASSIFIERS, classifiers
from dudley.core.errors import InputError
from dudley.train.ensemble import and_classifier, rows
from dudley.train.ensemble.and_classifier import AndEnsemble
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.bit_attention import choose
from dudley.train.ensemble.rows import Padded, Shared
from dudley.train.packed import pack, unpack
from each import each
from ensemble_twins import CHECKS, Case, E, gradients, started, trials


def case(T=37, d=8, H=2, **options) -> Case:
    return Case(
        build=lambda keys: AndEnsemble(T, d, H, **options),
        inputs=lambda E, N, source: pack(torch.randint(0, 2, (E, N, T), generator=source)),
        alone=lambda model, words: model.eval()(model.tokens(unpack(words, T, torch.int64)))[:, 0],
    )


CASES = {
    "small": case(),
    "odd sizes": case(T=33, d=9, H=3, classes=3, dropout=(0.0, 0.0, 0.0)),
    "the paper's": case(T=20, d=64, H=16),
    "one token": case(T=1, d=4, H=1),
}


@each("check", CHECKS)
@each("name", CASES)
def test_as_the_twin(name, check):
    CHECKS[check](CASES[name])


# Dropout: the twin itself, given the masks.


def twin_with_masks(monkeypatch, ensemble, weights, words, noise, e, M):
    """Member e as a module, and its logits (M, C) in training, dropout's masks being given.

    Of the rows that are not classified, attention weights and residual branches are not read.
    """
    T, d, H, (p, q, r) = ensemble.T, ensemble.d, ensemble.H, ensemble.dropout
    κ, μ = (one[e] for one in choose.factors(noise, M, T, d, H, (p, q)))
    asking = torch.ones(M, H, T + 1, T + 1, dtype=torch.float64)
    asking[:, :, -1] = μ
    branches = torch.ones(2, M, T + 1, d, dtype=torch.float64)
    for which, branch in enumerate(branches, 1):
        branch[:, -1] = choose.row_factors(noise, M, T + which, d, H, r)[e]
    draws = iter([(p, κ), (q, asking), *((r, branch) for branch in branches)])

    def dropout(x, rate):
        expected, mask = next(draws)
        assert rate == expected and x.shape == mask.shape
        return x * mask

    model = ensemble.member(weights, e).train()
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.functional, "dropout", dropout)
        logits = model(model.tokens(unpack(words[e, :M], T, torch.int64)))[:, 0]
    assert next(draws, None) is None
    return model, logits


def assert_as_the_twin_with_masks(monkeypatch, ensemble, weights, padded, noise, tolerance):
    """Logits and gradients, of the rows in use."""
    source = torch.Generator().manual_seed(8)
    leaves = {name: W.detach().requires_grad_() for name, W in weights.items()}
    logits = ensemble.forward(leaves, padded, noise)
    pull = torch.randn(logits.shape, generator=source, dtype=torch.float64)
    used = torch.arange(logits.shape[1]) < padded.counts[:, None]
    gradients = torch.autograd.grad(
        logits, list(leaves.values()), pull * used[..., None], materialize_grads=True
    )
    for e, m in enumerate(padded.counts.tolist()):
        model, expected = twin_with_masks(monkeypatch, ensemble, weights, padded.rows, noise, e, m)
        torch.testing.assert_close(logits[e, :m], expected, rtol=tolerance, atol=tolerance)
        expected.backward(pull[e, :m])
        for (name, W), pulled in zip(model.named_parameters(), gradients, strict=True):
            assert name in weights
            torch.testing.assert_close(pulled[e], W.grad, rtol=tolerance, atol=tolerance)


# 1/(1 − ½) is a float32, in which the factors of [CLS] and of branches are kept; others round.
RATES = [(rates, 1e-10) for rates in itertools.product((0.0, 0.5), repeat=3)]
RATES += [((0.1, 0.1, 0.1), 1e-6), ((0.3, 0.0, 0.2), 1e-6), ((0.0, 0.2, 0.3), 1e-6)]


@pytest.mark.parametrize(("rates", "tolerance"), RATES)
def test_dropout_is_the_twins_with_these_masks(monkeypatch, rates, tolerance):
    ensemble, weights, X, _ = started(case(T=12, dropout=rates))
    noise = Noise(trials(), torch.tensor(11))
    padded = Padded(X, torch.tensor([7, 3, 7, 1, 5], dtype=torch.int32))
    assert_as_the_twin_with_masks(monkeypatch, ensemble, weights, padded, noise, tolerance)


def test_rows_need_not_be_centred(monkeypatch):
    """Queries and values are orthogonal to the ones, as the kernels and `plain` take it."""
    ensemble, weights, X, _ = started(case(dropout=(0.5, 0.5, 0.5)))
    noise = Noise(trials(), torch.tensor(5))
    expected = ensemble.forward(weights, X, noise)
    monkeypatch.setattr(choose, "attend", choose._by_formula)
    outputs = ensemble.forward(weights, X, noise)
    torch.testing.assert_close(outputs, expected, rtol=1e-10, atol=1e-10)


def test_dropout_at_the_papers_size(monkeypatch):
    ensemble, weights, X, _ = started(case(T=40, d=64, H=16, dropout=(0.5, 0.5, 0.5)), N=3)
    noise = Noise(trials(), torch.tensor(999))
    assert_as_the_twin_with_masks(monkeypatch, ensemble, weights, Padded.full(X), noise, 1e-10)


@pytest.mark.parametrize("rates", [(0.2, 0.2, 0.2), (0.0, 0.0, 0.2)], ids=["attended", "collapsed"])
def test_masks_belong_to_a_trial_and_a_step(rates):
    """The same in any pack and for any way to give the batch; new ones at the next step."""
    ensemble, weights, X, _ = started(case(dropout=rates))
    keys, at = trials(), torch.tensor(4)
    X = X[:1].expand_as(X).contiguous()
    together = ensemble.forward(weights, X, Noise(keys, at))
    assert together.equal(ensemble.forward(weights, X, Noise(keys, at)))
    cells = Shared(X[:2], (torch.tensor([0, 3]), torch.tensor([1, 2, 4])))
    for batch in (X[0], Padded.full(X), cells):
        again = ensemble.forward(weights, batch, Noise(keys, at))
        torch.testing.assert_close(again, together, rtol=1e-10, atol=1e-10)
    for e in range(E):
        member = {name: W[e : e + 1] for name, W in weights.items()}
        alone = ensemble.forward(member, X[e : e + 1], Noise(keys[e : e + 1], at))
        torch.testing.assert_close(alone[0], together[e], rtol=1e-10, atol=1e-10)
    other = ensemble.forward(weights, X, Noise(keys, at + 1))
    assert (other - together).flatten(1).norm(dim=1).min() > 1e-2


def test_rows_past_the_count_move_nothing():
    """Whatever bits a padded row holds."""
    ensemble, weights, X, targets = started(CASES["small"])
    counts = torch.tensor([7, 3, 6, 1, 5], dtype=torch.int32)
    used = (torch.arange(7) < counts[:, None])[..., None]

    def pulls(words):
        leaves = {name: W.detach().requires_grad_() for name, W in weights.items()}
        noise = Noise(trials(), torch.tensor(2))
        logits = ensemble.forward(leaves, Padded(words, counts), noise)
        total = ((logits - targets).square() * used).sum()
        return torch.autograd.grad(total, list(leaves.values()), materialize_grads=True)

    other = torch.where(used, X, ~X & torch.tensor([-1, 31]).int())
    assert not other.equal(X)
    for pull, other_pull in zip(pulls(X), pulls(other), strict=True):
        assert pull.equal(other_pull)


# The collapse.


class Largest(TorchDispatchMode):
    """The number of entries of the largest tensor that is made."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, torch.Tensor) and not func.is_view:
                self.numel = max(self.numel, tensor.numel())
        return out


@pytest.mark.parametrize(
    ("rates", "collapses"), [((0.0, 0.0, 0.1), True), ((0.0, 0.1, 0.0), False)], ids=str
)
def test_with_residual_dropout_alone_nothing_per_token_is_made(monkeypatch, rates, collapses):
    """Not even one member's (M, T, d), in training, gradient included."""
    monkeypatch.setattr(choose, "compiled_for_processor", lambda: None)  # it makes rows unseen
    E, M, T, d, H = 2, 60, 50, 16, 4
    ensemble = AndEnsemble(T, d, H, dropout=rates)
    weights = {n: W.requires_grad_() for n, W in ensemble.start(trials(E)).items()}
    words = torch.zeros(E, M, 2, dtype=torch.int32)
    with Largest() as largest:
        logits = ensemble.forward(weights, words, Noise(trials(E), torch.tensor(0)))
        torch.autograd.grad(logits.sum(), list(weights.values()), materialize_grads=True)
    assert (largest.numel < M * T * d) == collapses


def scores(ensemble, weights, e: int) -> torch.Tensor:
    """Of tokens 0, tokens 1 and [CLS], (2T+1, H), for member e, by the definition."""
    member = {name.removeprefix("weights."): W[e] for name, W in weights.items()}
    zeros, ones = (member["0.W_E"][bit] + member["1.P"][:-1] for bit in (0, 1))
    Z = torch.cat([zeros, ones, member["0.W_E"][2:] + member["1.P"][-1:]])
    Z = (
        torch.nn.functional.layer_norm(Z, Z.shape[-1:]) * member["2.0.0.gain"].T
        + member["2.0.0.bias"]
    )
    q, k = Z[-1:] @ member["2.0.1.W_Q"] + member["2.0.1.b_Q"], ensemble.d // ensemble.H
    return ((Z @ member["2.0.1.W_K"]) * q).unflatten(1, (ensemble.H, k)).sum(-1) / math.sqrt(k)


def with_spread(reach: float, T: int):
    """Weights such that each member's scores reach so far, and bits that are all 0, 1, or but one.

    Also how far below the largest score of its head a row's own largest is, at most.
    """
    ensemble, weights, X, targets = started(case(T=T), N=40)
    bits, below = unpack(X, T, torch.int64), []
    bits[:, 0], bits[:, 1], bits[:, 2 : 2 + T], bits[:, -T:] = 0, 1, torch.eye(T), 1 - torch.eye(T)
    for e in range(E):
        s = scores(ensemble, weights, e)
        larger = reach / (s.amax(0) - s.amin(0)).max()
        weights["weights.2.0.1.W_K"][e] *= larger
        largest = (s[:T].amax(0), s[T : 2 * T].amax(0))  # of bits all 0, all 1
        largest = torch.stack([torch.maximum(x, s[-1]) for x in largest])
        below.append(larger * (s.amax(0) - largest).max())
    return ensemble, weights, pack(bits), targets, max(below)


@pytest.mark.parametrize(("T", "hidden"), [(1, 50), (11, 10)])
def test_extreme_scores(T, hidden):
    ensemble, weights, X, targets, below = with_spread(60.0, T)
    assert below > hidden, "the largest scores are not in every row"
    logits = ensemble.evaluate(weights, X)
    narrow = ensemble.evaluate({name: W.float() for name, W in weights.items()}, X)
    pulls = gradients(ensemble, weights, X, targets)
    for e in range(E):
        model = ensemble.member(weights, e)
        expected = case(T=T).alone(model, X[e])
        torch.testing.assert_close(logits[e], expected, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(narrow[e].double(), expected, rtol=1e-5, atol=1e-5)
        (0.5 * (expected - targets[e]).square().mean()).backward()
        for name, W in model.named_parameters():
            torch.testing.assert_close(pulls[name][e], W.grad, rtol=1e-9, atol=1e-9)


def test_scores_beyond_the_range_stay_finite():
    ensemble, weights, X, targets, _ = with_spread(500.0, 11)
    narrow = {name: W.float() for name, W in weights.items()}
    for some_weights in (weights, narrow):
        assert ensemble.evaluate(some_weights, X).isfinite().all()
        pulls = gradients(ensemble, some_weights, X, targets.to(some_weights["weights.1.P"].dtype))
        assert all(pull.isfinite().all() for pull in pulls.values())


def test_hold_outs_of_cells():
    ensemble, weights, X, _ = started(CASES["small"], N=9)
    cells = Shared(X[:3], (torch.tensor([1, 4]), torch.tensor([0]), torch.tensor([3, 2])))
    assert cells.cell.tolist() == [1, 0, 2, 2, 0]
    expected = ensemble.evaluate(weights, X[cells.cell])
    logits = ensemble.evaluate(weights, cells)
    torch.testing.assert_close(logits, expected, rtol=1e-12, atol=1e-12)
    same_cell = ensemble.evaluate(weights, Shared(X[:1], (torch.arange(E),)))
    torch.testing.assert_close(same_cell, ensemble.evaluate(weights, X[0]), rtol=1e-12, atol=1e-12)


def test_hold_outs_are_read_in_parts(monkeypatch):
    ensemble, weights, X, _ = started(CASES["small"], N=23)
    whole, sizes = ensemble.forward(weights, X), []
    monkeypatch.setattr(rows, "CACHE", 4 * 5 * 10 * 8)  # four examples at a time
    monkeypatch.setattr(
        "dudley.train.ensemble.and_classifier.unpack",
        lambda words, *rest: sizes.append(words.shape[1]) or unpack(words, *rest),
    )
    torch.testing.assert_close(ensemble.evaluate(weights, X), whole, rtol=1e-12, atol=1e-12)
    assert sizes == [4, 4, 4, 4, 4, 3]


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "tolerance"), [("ieee", 4e-6), ("fp16", 3e-3)])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_kernels_for_evaluation(kernels, name, precision, tolerance):
    ensemble, weights, rows = classifiers(**CLASSIFIERS[name])
    expected = ensemble.evaluate(weights, rows)
    error = (kernels["logits", name, precision] - expected).norm() / expected.norm()
    assert error < tolerance


@pytest.mark.slow
def test_the_table_of_the_kernel(kernels):
    """One number where exactness is asked for; else two, the second what the first leaves."""
    ensemble, weights, _ = classifiers()
    expected = ensemble._table(and_classifier._Parts(weights))[0][:, :-1]
    (exact,), (first, rest) = kernels["table", "ieee"], kernels["table", "fp16"]
    torch.testing.assert_close(exact, expected, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(first + rest, expected, rtol=2e-2, atol=1e-3)  # products in TF32
    assert (rest.abs() <= 2**-7 * first.abs()).all() and rest.norm() > 2**-11 * first.norm()


@pytest.mark.slow
def test_gelu_of_the_kernel(kernels):
    """Nearer than torch's in float32, which is within 3.8e-7 |x|."""
    x, outputs = kernels["gelu"]
    exact = torch.nn.functional.gelu(x.double())
    assert ((outputs - exact).abs() <= 2.3e-7 * x.abs() + 1e-12).all()


# What is trained, and how it starts.


def test_the_bias_of_keys_never_moves():
    """Softmax does not see it: no gradient in training, and none in the twin."""
    ensemble, weights, X, targets = started(CASES["small"])
    assert not gradients(ensemble, weights, X, targets)["weights.2.0.1.b_K"].any()
    moved = weights | {"weights.2.0.1.b_K": weights["weights.2.0.1.b_K"] + 3.0}
    for noise in (None, Noise(trials(), torch.tensor(1))):
        assert ensemble.forward(moved, X, noise).equal(ensemble.forward(weights, X, noise))
    model = ensemble.member(moved, 2)
    expected = CASES["small"].alone(model, X[2])
    logits = ensemble.evaluate(weights, X)[2]
    torch.testing.assert_close(logits, expected, rtol=1e-10, atol=1e-10)


def test_first_weights_have_the_law_of_the_twin():
    ensemble = AndEnsemble(T=20, d=16, H=4)
    drawn = ensemble.start(trials(40))
    assert drawn.keys() == dict(ensemble.twin().named_parameters()).keys()
    for name, W in drawn.items():
        kind = name.rsplit(".", 1)[-1]
        if kind == "gain" or kind.startswith("b"):
            assert W.equal(torch.full_like(W, kind == "gain"))
        else:
            z = W.double() / 0.02
            assert abs(z.mean()) < 5 / z.numel() ** 0.5
            assert abs(z.square().mean() - 1) < 5 * (2 / z.numel()) ** 0.5
    assert len({float(W[0, 0, 0]) for W in (drawn["weights.1.P"], drawn["weights.4.W"])}) == 2


def test_refusals(monkeypatch):
    for wrong in ((0.1, 0.1), (0.1, 0.1, 1.0), (-0.1, 0.1, 0.1), (0.1, 0.999999, 0.1)):
        with pytest.raises(InputError, match="dropout"):
            AndEnsemble(5, 8, 2, dropout=wrong)
    with pytest.raises(InputError, match="even"):
        AndEnsemble(5, 9, 3)
    with pytest.raises(InputError, match="divisor"):
        AndEnsemble(5, 8, 3)
    ensemble, weights, X, _ = started(CASES["small"])
    for noise in (None, Noise(trials(), torch.tensor(0))):
        with pytest.raises(InputError, match="first of size 5"):
            ensemble.forward(weights, X[:3], noise)
        with pytest.raises(InputError, match="words a row"):
            ensemble.forward(weights, X[..., :1], noise)
    for kernels in ("fused_table", "fused_logits"):
        monkeypatch.setattr(and_classifier, kernels, object())  # which is not asked for anything
    monkeypatch.setattr(and_classifier, "kernels_fit", lambda *_: True)
    for wrong, reason in ((X[:3], "first of size 5"), (X[..., :1], "words a row")):
        for inputs in (wrong, Padded.full(wrong), Shared(wrong, (torch.arange(len(wrong)),))):
            with pytest.raises(InputError, match=f"{reason}|cells of 5 members"):
                ensemble.evaluate(weights, inputs)
