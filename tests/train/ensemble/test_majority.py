"""Majority classifiers side by side: the twin's numbers, the collapse's range and cost."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dudley.core.errors import InputError
from dudley.models import MajorityClassifier
from dudley.train.ensemble import rows
from dudley.train.ensemble.collapse import collapse_attention
from dudley.train.ensemble.majority import MajorityEnsemble
from dudley.train.ensemble.rows import Shared
from dudley.train.packed import pack, unpack
from each import each
from ensemble_twins import CHECKS, Case, started, trials
from majority_cases import far_apart, majorities, trained_on


def bits(E, N, source, T):
    return pack(torch.randint(0, 2, (E, N, T), generator=source))


def case(T=37, **sizes) -> Case:
    return Case(
        build=lambda keys: MajorityEnsemble(keys, T, **sizes),
        inputs=lambda E, N, source: bits(E, N, source, T),
        alone=lambda model, words: model(model.tokens(unpack(words, T, torch.int64)))[:, 0],
        rate=0.02,
    )


CASES = {
    "small": case(d=8, H=2, k=8, width=8),
    "odd sizes": case(T=33, d=7, H=3, k=5, width=4, classes=3),
    "the paper's": case(T=20),
    "one token": case(T=1, d=4, H=1, k=4, width=4),
}


@each("check", CHECKS)
@each("name", CASES)
def test_as_the_twin(name, check):
    CHECKS[check](CASES[name])


def softmax_by_token(words, a, p, V, Π):
    """Attention over bits, token by token: the definition."""
    codes = torch.cat([unpack(words, p.shape[-1] - 1, torch.int64), torch.full_like(words, 2)], -1)
    E, H = a.shape[:2]
    out = torch.zeros(E, words.shape[1], V.shape[-1], dtype=torch.float64)
    for e in range(E):
        for h in range(H):
            A = torch.softmax(a[e, h][codes[e]] + p[e, h], -1)  # (B, T+1)
            out[e] += torch.einsum("bt,btd->bd", A, V[e, h][codes[e]] + Π[e, h])
    return out


# a of tokens 0 and 1, and half the range of p: all scores within ±80, many at either end.
EXTREMES = [(0.0, 0.0, 80.0), (40.0, -40.0, 40.0), (-80.0, 80.0, 0.0), (79.0, -79.0, 1.0)]


def extreme_scores(a0, a1, reach):
    source = torch.Generator().manual_seed(5)
    E, H, T, D = 2, 2, 11, 3
    a = torch.tensor([a0, a1, 0.0]).repeat(E, H, 1).double()
    p = reach * (2 * torch.randint(0, 2, (E, H, T + 1), generator=source).double() - 1)
    p[:, :, :2] = torch.tensor([reach, -reach])
    V = torch.randn(E, H, 3, D, generator=source).double()
    Π = torch.randn(E, H, T + 1, D, generator=source).double()
    examples = torch.randint(0, 2, (E, 40, T), generator=source)
    examples[:, 0], examples[:, 1] = 0, 1
    examples[:, 2], examples[:, 2, 0] = 0, 1
    examples[:, 3], examples[:, 3, 0] = 1, 0
    return pack(examples), a, p, V, Π


@each("extreme", EXTREMES)
@each("cls", [-80.0, 0.0, 80.0])
@each(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 3e-5)])
def test_scores_of_eighty(extreme, cls, dtype, tolerance):
    """Rows whose own largest score is far below the largest of all, in values and gradients."""
    words, a, p, V, Π = extreme_scores(*extreme)
    a[..., 2], p[..., -1] = cls, 0.0
    exact = [x.requires_grad_() for x in (a, p, V, Π)]
    expected = softmax_by_token(words, *exact)
    leaves = [x.detach().to(dtype).requires_grad_() for x in exact]
    attended = collapse_attention(*leaves).attend(words)
    torch.testing.assert_close(attended.double(), expected, rtol=tolerance, atol=tolerance)
    pulls = torch.autograd.grad(attended.sin().sum(), leaves)
    for pull, true in zip(pulls, torch.autograd.grad(expected.sin().sum(), exact), strict=True):
        torch.testing.assert_close(pull.double(), true, rtol=0, atol=40 * tolerance)


def test_equal_scores_of_both_bits_have_the_right_gradient():
    """Which bit counts as high changes at a tie; the function does not."""
    words, a, p, V, Π = extreme_scores(0.3, 0.3, 1.0)
    exact = [x.requires_grad_() for x in (a, p, V, Π)]
    pulls = torch.autograd.grad(collapse_attention(*exact).attend(words).sin().sum(), exact)
    true = torch.autograd.grad(softmax_by_token(words, *exact).sin().sum(), exact)
    torch.testing.assert_close(pulls, true, rtol=1e-10, atol=1e-10)


def test_hold_outs_are_read_in_parts(monkeypatch):
    ensemble, weights, X, _ = started(CASES["small"], N=23)
    whole = ensemble.forward(weights, X)
    each = 5 * (2 * ensemble.T + ensemble.H * ensemble.d)
    monkeypatch.setattr(rows, "CACHE", 4 * each)  # four examples at a time
    sizes = []
    attend = type(ensemble._attention(weights)).attend
    monkeypatch.setattr(
        "dudley.train.ensemble.collapse.Collapsed.attend",
        lambda self, words: sizes.append(words.shape[1]) or attend(self, words),
    )
    torch.testing.assert_close(ensemble.evaluate(weights, X), whole, rtol=1e-12, atol=1e-12)
    assert sizes == [4, 4, 4, 4, 4, 3]


@pytest.mark.parametrize(("precision", "tolerance"), [("ieee", 1e-6), ("fp16", 2e-3)])
def test_the_kernel_for_evaluation(kernels, precision, tolerance):
    ensemble, weights, examples = majorities()
    expected = ensemble.evaluate(weights, examples)
    error = (kernels["majority", precision] - expected).norm() / expected.norm()
    assert error < tolerance


@pytest.mark.parametrize(("precision", "tolerance"), [("ieee", 1e-5), ("fp16", 5e-3)])
def test_the_kernel_on_rows_whose_scores_lie_far_apart(kernels, precision, tolerance):
    """Also a row that has no high bit, whose weight would be e^90."""
    words, attention, (bias, W, b) = far_apart()
    expected = torch.relu(collapse_attention(*attention).attend(words) + bias) @ W + b
    logits = kernels["majority far", precision]
    assert (logits - expected).norm(dim=-1).max() < tolerance * expected.norm(dim=-1).min()


def test_a_table_past_float16_shows(kernels):
    """No finite number is told that is not about right."""
    words, attention, (bias, W, b) = far_apart(1e6)
    expected = torch.relu(collapse_attention(*attention).attend(words) + bias) @ W + b
    assert (kernels["majority too large", "ieee"] - expected).norm() < 1e-4 * expected.norm()
    narrow = kernels["majority too large", "fp16"]
    assert not narrow.isfinite().all()
    sound = narrow.isfinite().all(-1)
    torch.testing.assert_close(narrow[sound], expected[sound], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("precision", "tolerance"), [("ieee", 1e-5), ("fp16", 2e-3)])
def test_the_kernels_for_training(kernels, precision, tolerance):
    networks, weights, examples = majorities()
    expected = trained_on(networks, weights, examples.rows[examples.cell])
    for sums, true in zip(kernels["majority sums", precision], expected, strict=True):
        assert (sums - true).norm() < tolerance * true.norm()


def test_an_example_costs_one_column_a_head_and_width():
    """4T·H(d+1) operations an example but for rows of width d: the fold is made once."""
    T, d, H, E = 200, 64, 2, 2
    ensemble = MajorityEnsemble(trials(E), T)
    weights = ensemble.start(trials(E))

    def operations(run) -> int:
        with FlopCounterMode(display=False) as counted, torch.no_grad():
            run()
        return counted.get_total_flops()

    def of(N):
        words = torch.zeros(E, N, 7, dtype=torch.int32)
        return operations(lambda: ensemble.forward(weights, words))

    each = (of(200) - of(100)) / (100 * E)
    assert 4 * T * H * (d + 1) <= each <= 4 * T * H * (d + 1) + 2 * d * (4 * H + 2)
    twin = ensemble.member(weights, 0)
    ordinary = operations(lambda: twin(twin.tokens(torch.zeros(10, T)))) / 10
    assert ordinary > 100 * each


def test_members_of_several_lengths():
    lengths = (7, 20, 13)
    ensemble = MajorityEnsemble(trials(3), 20, d=8, k=8, lengths=lengths)
    weights = {n: 10 * W.double() for n, W in ensemble.start(trials(3)).items()}
    source = torch.Generator().manual_seed(0)
    bits = [torch.randint(2, (6, T), generator=source) for T in lengths]
    words = torch.stack([pack(torch.nn.functional.pad(b, (0, 20 - b.shape[1]))) for b in bits])
    logits = ensemble.evaluate(weights, words)
    for e, member_bits in enumerate(bits):
        model = ensemble.member(weights, e)
        assert lengths[e] == model.T
        torch.testing.assert_close(
            logits[e], model(model.tokens(member_bits))[:, 0], rtol=1e-10, atol=1e-12
        )
    noise = words | ~((1 << torch.tensor(lengths)) - 1).int()[:, None, None]  # past their ends
    torch.testing.assert_close(ensemble.evaluate(weights, noise), logits, rtol=1e-12, atol=1e-12)
    for wrong in ((7, 20), (7, 21, 3), (0, 20, 13)):
        with pytest.raises(InputError, match="lengths"):
            MajorityEnsemble(trials(3), 20, lengths=wrong)


def test_token_vectors_are_the_trials_own():
    keys = trials(6)
    ensemble = MajorityEnsemble(keys, T=9)
    table = ensemble.table.double()
    assert table.shape == (6, 3, 64)
    torch.testing.assert_close(table.abs().sum(-1), torch.ones(6, 3).double(), rtol=0, atol=1e-5)
    products = table @ table.mT
    assert (products - products.diagonal(dim1=-2, dim2=-1).diag_embed()).abs().max() < 1e-8
    assert len({tuple(row.tolist()) for row in table.flatten(0, 1)}) == 18
    again = MajorityEnsemble(keys[[4, 2]], T=31).table
    assert again.equal(ensemble.table[[4, 2]])
    model = ensemble.member(ensemble.start(keys), 4)
    assert isinstance(model, MajorityClassifier)
    assert model.table.equal(ensemble.table[4])
    assert model.positions.equal(MajorityClassifier(9).positions)


def test_first_weights_have_the_law_of_the_twin():
    keys = trials(30)
    ensemble = MajorityEnsemble(keys, T=5)
    drawn = ensemble.start(keys)
    limit = (6 / (64 * 2 + 64 * 64)) ** 0.5  # Keras' fans of a kernel (64, 2, 64)
    W = drawn["weights.0.W_Q"]
    assert W.abs().max() <= limit and W.abs().max() > 0.999 * limit
    assert abs(float(W.square().mean()) / (limit**2 / 3) - 1) < 0.01
    assert not drawn["weights.0.b_Q"].any()


def test_refusals():
    with pytest.raises(InputError, match="keys"):
        MajorityEnsemble(torch.zeros(3), T=5)
    with pytest.raises(InputError, match="at least 3"):
        MajorityEnsemble(trials(), T=5, d=2)
    ensemble, weights, X, _ = started(CASES["small"])
    with pytest.raises(InputError, match="first of size 5"):
        ensemble.forward(weights, X[:3])
    with pytest.raises(InputError, match="cells of 5 members"):
        ensemble.forward(weights, Shared(X, (torch.arange(3),)))
    with pytest.raises(InputError, match="words a row"):
        ensemble.forward(weights, X[..., :1])
